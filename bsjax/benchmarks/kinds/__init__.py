"""Kinds of benchmarks that several families share."""
