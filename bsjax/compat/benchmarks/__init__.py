"""Benchmarks as plugins make them."""
