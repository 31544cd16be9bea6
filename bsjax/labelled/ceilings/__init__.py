"""Noise ceilings from labelled recordings."""
