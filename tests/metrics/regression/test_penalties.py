"""Penalties and other numbers that a program takes: many under vmap, derivatives, one program for all."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bsjax
from bsjax.engine.programs.compilation import traces
from bsjax.metrics import FactorisedReadout, Ridge, cross_validate, make_folds

pytestmark = pytest.mark.slow


N = 40
PENALTIES = np.logspace(-1, 3, 20)
FOLDS = make_folds(N, [(np.setdiff1d(np.arange(N), test), test) for test in np.split(np.arange(N), 5)])


def arrays(width, rank=None, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, width)) if rank is None else rng.normal(size=(N, rank)) @ rng.normal(size=(rank, width))
    return x, x @ rng.normal(size=(width, 3)) + rng.normal(size=(N, 3))


@pytest.mark.parametrize(("width", "rank"), [(70, None), (12, 5)])
def test_many_penalties_at_once_are_each_by_itself_and_have_derivatives(width, rank):
    x, y = map(jnp.asarray, arrays(width, rank))

    @jax.jit
    def scores(alpha):
        return cross_validate(x, y, FOLDS, mapping=Ridge(alpha))

    together = jax.jit(jax.vmap(scores))(PENALTIES)
    for alpha, found in zip(PENALTIES[::7], together[::7], strict=True):
        np.testing.assert_allclose(found, scores(alpha), atol=1e-9)
    step = 1e-4
    measured = (scores(3.0 + step).mean() - scores(3.0 - step).mean()) / (2 * step)
    assert float(jax.jit(jax.grad(lambda alpha: scores(alpha).mean()))(3.0)) == pytest.approx(float(measured), rel=1e-4)


def test_a_sweep_of_penalties_takes_one_program():
    x, y = arrays(7, seed=3)
    with traces() as counted:
        found = [bsjax.score_arrays(x, y, "ridge", alpha=alpha) for alpha in PENALTIES]
    assert counted == {"cross_validate_and_report": 1}
    assert len({float(score) for score in found}) == len(PENALTIES)


def test_every_number_of_a_read_out_may_be_traced():
    settings = FactorisedReadout(3, 2, 1, epochs=3, batch_size=10, learning_rate=0.05)
    numbers, fixed = jax.tree.flatten(settings)
    x, y = map(jnp.asarray, arrays(6, seed=1))

    @jax.jit
    def one(numbers):
        return cross_validate(x, y, FOLDS, mapping=jax.tree.unflatten(fixed, numbers))

    many, alone = jax.jit(jax.vmap(one)), one(numbers)
    for at, number in enumerate(numbers):
        several = [jnp.full(3, other) for other in numbers]
        several[at] = number * jnp.linspace(1.0, 30.0, 3)
        together = many(several)
        np.testing.assert_allclose(together[0], alone, atol=1e-5)
        np.testing.assert_allclose(together[-1], one([each[-1] for each in several]), atol=1e-5)
        assert not np.allclose(together[-1], alone, atol=1e-4)
