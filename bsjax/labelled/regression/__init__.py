"""Regression metrics on labelled assemblies."""
