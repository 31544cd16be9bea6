"""Vernier offset discrimination with flankers: Malania, Herzog & Westheimer (2007)."""
