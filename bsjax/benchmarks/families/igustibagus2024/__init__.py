"""IT read-outs that generalise across domains: Igusti Bagus, Marques, Sanghavi, DiCarlo & Schrimpf (2022)."""
