"""The odd one out of three objects: the triplets of THINGS, Hebart et al. (2023)."""
