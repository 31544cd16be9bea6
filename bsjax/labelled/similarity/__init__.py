"""Representational similarity of labelled assemblies, and of several subjects."""
