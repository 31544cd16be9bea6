"""Representational similarity of labelled assemblies, also between and among several subjects."""
