"""Compact letter display: models that share a letter were not found to differ."""

import string

import numpy as np

_ALPHABET = string.ascii_lowercase + string.ascii_uppercase


def compact_letters(differ: np.ndarray) -> list[str]:
    """Letters for each model, such that two models share one if, and only if, no difference was found.

    All models start with one common letter. Each pair that differs splits every letter that both have into two; each
    model loses one of them. A letter whose models all share another letter is dropped.

    Args:
        differ: whether two models differ, ``(models, models)``, symmetric; letters are assigned in this order.

    Returns:
        The letters of each model. Beyond 52, a letter is a number in brackets.

    Source: Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons".

    Example:
        >>> compact_letters(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool))
        ['a', 'ab', 'b']
    """
    n = len(differ)
    groups = [frozenset(range(n))] if n else []
    for first, second in zip(*np.nonzero(np.triu(differ, 1)), strict=True):
        both = [group for group in groups if first in group and second in group]
        if both:
            groups = [group for group in groups if group not in both]
            halves = {group - {one} for group in both for one in (first, second)}
            groups += [half for half in halves if not any(half <= group for group in groups)]
            groups = [group for group in groups if not any(group < other for other in groups)]
    groups.sort(key=sorted)
    names = [*_ALPHABET, *(f"({number})" for number in range(len(_ALPHABET) + 1, len(groups) + 1))]
    return ["".join(name for name, group in zip(names, groups, strict=False) if model in group) for model in range(n)]
