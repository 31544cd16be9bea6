"""Occluded objects in human visual cortex: Coggan & Tong (2024)."""
