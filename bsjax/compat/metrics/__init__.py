"""Components for metrics of plugins: cross-validation, regressions, alignment, coordinates."""
