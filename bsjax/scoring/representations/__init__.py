"""Many representations at once: all pairs of them, brains beside models, and feature spaces that share variance."""
