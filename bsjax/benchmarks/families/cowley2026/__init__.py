"""Macaque V4 responses to natural images: session 210325 of Cowley, Stan, Pillow & Smith (2026)."""
