"""Models of other libraries by name."""
