"""The Algonauts Challenge 2019, its training set of 92 images: Cichy, Roig, ... & Oliva (2019)."""
