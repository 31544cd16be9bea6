"""Adapter of stored activations."""
