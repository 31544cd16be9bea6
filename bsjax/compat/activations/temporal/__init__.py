"""Activations models of videos for plugins: presentation of videos, and wrappers of video networks."""
