"""Activations models as plugins make them: functions of preprocessed images, and wrappers of networks."""
