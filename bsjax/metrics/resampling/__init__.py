"""Bootstrap, jackknife and permutation: draws of stimuli, units and subjects, and the scores of each draw."""
