"""Preparation steps that turn published data into the data that are compared."""
