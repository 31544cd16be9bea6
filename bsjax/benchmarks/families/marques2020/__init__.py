"""Properties of single neurons in macaque V1, also measured in model units: Marques, Schrimpf & DiCarlo (2021)."""
