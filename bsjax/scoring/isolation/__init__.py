"""Isolation: a job in a process of its own, in an environment that has what its plugins require."""

from bsjax.scoring.isolation.process import isolated_score as isolated_score
