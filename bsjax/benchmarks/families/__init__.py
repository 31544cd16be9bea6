"""Families of benchmarks with code of their own, one folder each."""
