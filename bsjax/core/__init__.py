"""Common ground of all layers: registries, files, locks, digests, memory, missing extras, messages, version."""
