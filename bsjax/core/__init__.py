"""Foundations used by all layers: registries, files, locks, identity, memory, missing extras, messages, version."""
