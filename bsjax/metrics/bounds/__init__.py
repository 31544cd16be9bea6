"""Intervals that hold the exact value of a metric, from products and fits of limited precision."""
