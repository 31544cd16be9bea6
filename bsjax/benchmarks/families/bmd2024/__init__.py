"""Textured silhouettes and dotted outlines: BMD2024, by Marin Dujmović."""
