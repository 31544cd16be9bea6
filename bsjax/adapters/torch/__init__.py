"""Adapter of torch modules."""
