"""Cards: a similarity tells networks apart, noise does not, and the page has the metrics that it is made of."""

import re

import numpy as np
import pytest

from bsjax import Score
from bsjax.testing import card
from bsjax.testing.cards import NAMES, Card, table
from tests.support.paths import REPOSITORY
from tests.testing.sound import Geometry


def of_nothing(source, target):
    """A number that has nothing to do with likeness."""
    return Score(float(np.sin(1e4 * (source.values.sum() + 2 * target.values.sum()))))


@pytest.mark.slow
def test_a_similarity_tells_networks_apart_and_noise_does_not():
    sound, nothing = card(Geometry()), card(of_nothing)
    assert min(sound.seeds, sound.order, sound.labels, sound.augmentation) > 0.7 and sound.separation > 0.7
    assert abs(sound.null) < 0.1 < sound.layers and sound.metric == "geometry"
    assert all(0.2 < share < 0.8 for share in (nothing.seeds, nothing.order, nothing.labels))
    assert abs(nothing.separation) < 0.5


def test_the_page_has_the_cards_of_the_metrics():
    page = (REPOSITORY / "docs" / "cards.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(NAMES)
    assert table([Card("cka", *[0.5] * 9)]).splitlines()[:2] == page[page.index("| metric |") :].splitlines()[:2]
