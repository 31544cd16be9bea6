"""Read-outs of IT that generalise: Igusti Bagus, Marques, Sanghavi, DiCarlo & Schrimpf (2022)."""
