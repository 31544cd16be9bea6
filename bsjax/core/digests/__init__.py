"""Digests of arrays and files by content."""
