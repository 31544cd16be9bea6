"""Models that come with bsjax and need no download."""
