"""The kinds of benchmarks that several families share."""
