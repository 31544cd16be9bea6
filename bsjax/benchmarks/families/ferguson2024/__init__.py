"""Oddball visual search: Ferguson, Ngo, Lee, DiCarlo & Schrimpf (2024)."""
