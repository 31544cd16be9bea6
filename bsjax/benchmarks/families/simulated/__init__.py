"""Simulated V1: recordings with known noise."""
