"""Choice of the layer of a model that represents a region."""
