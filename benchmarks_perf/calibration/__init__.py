"""How often intervals hold what they should, and how often tests are wrong where there is nothing to find."""
