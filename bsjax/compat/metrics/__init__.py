"""What metrics of plugins are made with: cross-validation, regressions, alignment, coordinates."""
