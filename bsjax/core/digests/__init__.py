"""Digests of values by content: arrays, plain values, code, and what code reads from outside."""
