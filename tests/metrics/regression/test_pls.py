import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics import PLS, compiled, cross_validate, make_folds


def validate(x, y, dtype, components):
    folds = make_folds(len(x), list(ShuffleSplit(3, test_size=0.2, random_state=0).split(x)))
    kernel = compiled(cross_validate, mapping=PLS(components))
    return np.asarray(kernel(jnp.asarray(x, dtype), jnp.asarray(y, dtype), folds))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 3, 10])
@pytest.mark.parametrize("targets", [1, 6, 40], ids=["single", "fewer", "more"])
def test_exhausted_residuals_score_in_float32_as_in_float64(rank, targets):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(80, rank))
    x = latent @ rng.normal(size=(rank, 30))
    y = latent @ rng.normal(size=(rank, targets)) + rng.normal(size=(80, targets))
    y = np.concatenate([y, y], axis=1) if targets == 6 else y  # duplicated targets
    np.testing.assert_allclose(validate(x, y, "float32", 25), validate(x, y, "float64", 25), atol=1e-3)


def test_the_program_to_compile_stays_small():
    # What a first call takes grows with the program.
    folds = make_folds(100, [(np.arange(10, 100), np.arange(10)), (np.arange(90), np.arange(90, 100))])
    x, y = jnp.zeros((100, 40)), jnp.zeros((100, 30))
    with traced_for("cpu"):
        traced = jax.jit(lambda x, y: cross_validate(x, y, folds, mapping=PLS(25))).trace(x, y)

    def equations(jaxpr) -> int:
        inner = jax.extend.core.jaxprs_in_params
        return len(jaxpr.eqns) + sum(equations(sub) for equation in jaxpr.eqns for sub in inner(equation.params))

    assert equations(traced.jaxpr.jaxpr) <= 650
