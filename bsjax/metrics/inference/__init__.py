"""Confidence intervals, paired tests and simulated experiments, as functions of arrays."""
