"""Macaque V4 responses to natural images: the session 210325 of Cowley, Stan, Pillow & Smith (2026)."""
