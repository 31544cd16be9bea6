"""Which scores can be losses: the table of ``docs/howto/scores-as-losses.md``, and gradients that are as it says."""

import re
from contextlib import suppress

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.labelled.registry import compare_responses
from bsjax.metrics import rdm_similarity
from bsjax.testing.kernels import cast
from tests.contract.table import TABLE
from tests.support.paths import REPOSITORY

PAGE = (REPOSITORY / "docs/howto/scores-as-losses.md").read_text(encoding="utf-8")
KINDS = ("smooth", "piecewise", "no gradient")
SAID = {kind: re.findall(r"`(\w+)`", re.search(rf"^\| {kind} \|([^|]*)\|", PAGE, re.MULTILINE)[1]) for kind in KINDS}
KIND = {name: kind for kind, names in SAID.items() for name in names}
ROWS = {name: row for row in TABLE.values() for name in row.metrics if name in compare_responses()}
STEP = 1e-6


def stem(name):
    """The name of a metric on the page, which names both directions of a regression once."""
    return re.sub(r"^reverse_|(?<!cka)(?<!rdm)_cv$", "", name)


def test_the_page_names_every_metric_of_two_arrays_once():
    assert {stem(name) for name in ROWS} == set(KIND), "name a new metric in its row of the page"
    assert len(KIND) == sum(map(len, SAID.values()))


def test_the_contract_differentiates_what_has_a_gradient():
    assert {stem(name) for name, row in ROWS.items() if not row.smooth} == set(SAID["no gradient"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAID["smooth"], *SAID["no gradient"]])
def test_gradients_are_what_the_page_says(name):
    """With a constant unit and repeated stimuli too."""
    row, rng = ROWS[name], np.random.default_rng(0)
    arrays = row.arrays(rng)
    x = arrays.pop("x")
    arrays, direction = cast(arrays), rng.normal(size=x.shape)
    x[..., 1], x[..., 3, :] = 0.5, x[..., 0, :]
    value_and_gradient = jax.jit(jax.value_and_grad(lambda x: jnp.nansum(row(x=x, **arrays))))
    if KIND[name] == "no gradient":
        with suppress(NotImplementedError):
            assert not np.any(value_and_gradient(x)[1])
        return
    _, gradient = value_and_gradient(x)
    (ahead, _), (behind, _) = (value_and_gradient(x + sign * STEP * direction) for sign in (1, -1))
    assert np.isfinite(gradient).all()
    assert np.vdot(gradient, direction) == pytest.approx(float(ahead - behind) / (2 * STEP), rel=1e-5, abs=1e-7)


@pytest.mark.slow
def test_distances_compared_without_ranks_have_a_gradient():
    rng = np.random.default_rng(0)
    x, y, direction = rng.normal(size=(3, 12, 6))
    x[:, 1], x[3] = 0.5, x[0]
    value = jax.jit(lambda x: rdm_similarity(x, jnp.asarray(y), method="corr"))
    difference = (value(x + STEP * direction) - value(x - STEP * direction)) / (2 * STEP)
    assert np.vdot(jax.grad(value)(x), direction) == pytest.approx(float(difference), rel=1e-5)
