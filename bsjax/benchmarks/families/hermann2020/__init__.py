"""Shape and texture in conflict: Hermann, Chen & Kornblith (2020)."""
