"""Linear algebra of the metrics: eigenvectors, factors and roots of Gram matrices, with their derivatives."""
