"""Topography: how tuning is laid out over the cortical surface."""
