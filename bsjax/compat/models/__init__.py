"""Brain models as plugins make them."""
