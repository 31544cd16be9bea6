"""Digests of arrays, files and plain values by content."""
