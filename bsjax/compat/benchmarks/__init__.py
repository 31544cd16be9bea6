"""Benchmarks as defined in plugins."""
