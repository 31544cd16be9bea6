"""Activations models as defined in plugins: functions of preprocessed images, and wrappers of networks."""
