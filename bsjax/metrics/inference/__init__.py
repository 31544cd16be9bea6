"""Statements about models from arrays: intervals, tests, and corrections for many of them."""
