"""Marques, Schrimpf & DiCarlo 2021: properties of single neurons in macaque V1, measured in model units as in
electrophysiology."""
