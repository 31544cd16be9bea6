"""Bootstrap draws and permutations of stimuli, neuroids and subjects."""
