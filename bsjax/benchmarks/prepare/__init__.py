"""Steps from published data to what is compared."""
