"""What every layer uses and none owns: registries, files, locks, digests, memory, missing extras, messages, version."""
