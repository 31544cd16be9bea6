"""The version of bsjax, and that of its numbers."""

__version__ = "0.1.0"

NUMERICS = 1
"""Raised by one with every change by which scores of the same model, data and version of a benchmark change."""
