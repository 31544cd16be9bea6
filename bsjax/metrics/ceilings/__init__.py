"""Noise ceilings, from the agreement of repeated recordings or of several subjects."""
