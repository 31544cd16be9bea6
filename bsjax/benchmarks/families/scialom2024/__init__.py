"""Objects drawn with a part of their contours: the data Scialom2024, of Lonnqvist et al. (2025)."""
