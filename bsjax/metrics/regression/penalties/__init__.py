"""Choice of the penalty of a ridge regression by errors on training stimuli that are left out."""
