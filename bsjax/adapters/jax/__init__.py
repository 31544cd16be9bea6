"""JAX functions, flax modules and Keras models as activations models."""
