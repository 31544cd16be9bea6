"""Shape metrics: distances of representations after the best rotation or permutation of their units."""
