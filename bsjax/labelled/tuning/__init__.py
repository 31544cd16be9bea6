"""Properties of single neurons from labelled responses, and the comparison of their distributions."""
