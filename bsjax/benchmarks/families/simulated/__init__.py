"""Simulated V1: recordings whose noise is known in closed form."""
