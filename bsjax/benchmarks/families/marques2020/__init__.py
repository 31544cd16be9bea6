"""Marques, Schrimpf & DiCarlo 2021: properties of single neurons in macaque V1, and of model units as an
electrophysiologist would measure them."""
