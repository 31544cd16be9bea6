"""The Algonauts Challenge 2019, training set of 92 images: Cichy, Roig, ... & Oliva (2019)."""
