"""The choice of the layer of a model that stands for a region."""
