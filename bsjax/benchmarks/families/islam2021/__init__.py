"""Numbers of dimensions that encode shape and texture: Islam et al. (2021)."""
