"""Compiled programs, their cache on disk, fallbacks and platforms."""
