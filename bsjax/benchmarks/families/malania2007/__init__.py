"""Vernier offsets and what surrounds them: Malania, Herzog & Westheimer (2007)."""
