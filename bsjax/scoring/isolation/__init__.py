"""Isolation: a job in a separate process, in an environment with the packages that its plugins require."""

from bsjax.scoring.isolation.process import isolated_score as isolated_score
