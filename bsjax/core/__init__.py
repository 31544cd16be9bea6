"""Common ground of all layers: registries, files, locks, identity, memory, missing extras, messages, version."""
