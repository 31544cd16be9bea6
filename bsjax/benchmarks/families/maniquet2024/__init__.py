"""Objects under manipulations: Maniquet, Op de Beeck & Costantino (2024)."""
