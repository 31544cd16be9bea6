"""Display of outcomes: a text table with a legend, a heat map for notebooks, and progress bars."""
