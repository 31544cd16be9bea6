"""Data that can be loaded by identifier, including the data published by Brain-Score."""
