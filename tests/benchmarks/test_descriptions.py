"""Benchmarks in words."""

from functools import partial

from bsjax.benchmarks.descriptions import metric_words


def test_a_function_with_settings_is_said_by_its_docstring():
    def overlap(observed, target, scale=1.0):
        """Share of neuroids that agree."""

    assert metric_words(partial(overlap, scale=2.0)) == metric_words(overlap) == "share of neuroids that agree"
