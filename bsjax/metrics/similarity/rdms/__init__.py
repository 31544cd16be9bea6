"""Representational dissimilarity matrices: dissimilarities, comparisons of matrices, similarities of responses."""
