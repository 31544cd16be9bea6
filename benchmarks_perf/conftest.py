"""What pytest does not import: scripts that run in the environments of others, beside their own modules."""

collect_ignore_glob = ["workers/*_calls.py"]
