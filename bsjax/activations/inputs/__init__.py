"""Inputs of a network: images, shifted images and clips, decoded and preprocessed in batches."""
