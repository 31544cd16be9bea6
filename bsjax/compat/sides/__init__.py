"""Conversions of scores, metrics and models between bsjax and plugins."""
