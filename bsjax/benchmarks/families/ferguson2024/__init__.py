"""Search for an odd one out: Ferguson, Ngo, Lee, DiCarlo & Schrimpf (2024)."""
