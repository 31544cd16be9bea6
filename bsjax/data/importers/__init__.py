"""Imports of open data from public repositories."""
