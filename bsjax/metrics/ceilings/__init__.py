"""Noise ceilings, from repeated or several recordings that predict one another."""
