"""Human ventral temporal cortex and look-alikes: Bracci, Ritchie, Kalfas & Op de Beeck (2019)."""
