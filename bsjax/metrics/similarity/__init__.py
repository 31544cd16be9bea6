"""Representational similarity: centred kernel alignment and dissimilarity matrices."""
