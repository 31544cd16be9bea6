"""Ceilings from labelled recordings."""
