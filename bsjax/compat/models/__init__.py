"""Brain models as defined in plugins."""
