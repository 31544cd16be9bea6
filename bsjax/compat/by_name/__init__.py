"""Modules for plugins that look up benchmarks and metrics by identifier."""
