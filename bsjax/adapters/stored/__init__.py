"""Stored activations as activations models."""
