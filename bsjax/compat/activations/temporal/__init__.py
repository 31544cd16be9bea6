"""Activations models of videos as plugins make them: how videos are shown, and wrappers of networks that see them."""
