"""Inputs of a network: images, shifted images and video clips, decoded and preprocessed in batches."""
