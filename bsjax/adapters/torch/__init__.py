"""torch modules as activations models."""
