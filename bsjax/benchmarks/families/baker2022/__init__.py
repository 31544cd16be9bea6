"""Silhouettes of animals in pieces: Baker & Elder (2022)."""
