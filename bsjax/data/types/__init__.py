"""Assemblies and stimulus sets, and operations on them in memory."""
