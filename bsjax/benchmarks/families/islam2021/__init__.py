"""Numbers of dimensions that code for shape and for texture: Islam et al. (2021)."""
