"""Adapters of JAX functions, flax modules and Keras models."""
