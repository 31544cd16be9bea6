"""The data that can be loaded by identifier, and what Brain-Score has published."""
