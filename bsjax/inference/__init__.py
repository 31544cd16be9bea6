"""Statistical inference from scores: differences, equivalence, relation to ceiling and chance, and power."""
