"""Benchmarks with code of their own: one folder for each family."""
