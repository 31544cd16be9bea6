"""Assemblies and stimulus sets, and what is done with them in memory."""
