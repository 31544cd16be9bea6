"""How many dimensions code for shape, and how many for texture: Islam et al. (2021)."""
