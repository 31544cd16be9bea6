"""Noise ceilings: how well repeated or several recordings predict one another."""
