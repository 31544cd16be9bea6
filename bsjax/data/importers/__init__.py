"""Imports of openly published data from public repositories."""
