"""What plugins import that finds benchmarks and metrics by their identifiers."""
