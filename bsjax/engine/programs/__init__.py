"""Compiled programs, their cache, and what they are compiled for."""
