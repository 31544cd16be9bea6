import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics import PLS, compiled, cross_validate, make_folds


def validate(x, y, dtype, components):
    folds = make_folds(len(x), list(ShuffleSplit(10, test_size=0.2, random_state=0).split(x)))
    kernel = compiled(cross_validate, mapping=PLS(components))
    return np.asarray(kernel(jnp.asarray(x, dtype), jnp.asarray(y, dtype), folds))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("targets", "features", "rank"),
    [(6, 30, 1), (40, 30, 10), (6, 300, 1)],
    ids=["fewer", "more", "rotated"],
)
def test_exhausted_residuals_score_in_float32_as_in_float64(targets, features, rank):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(80, rank))
    x = latent @ rng.normal(size=(rank, features))
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


@pytest.mark.slow
def test_features_in_few_columns_score_as_all_features_with_the_same_gradient(monkeypatch):
    rng = np.random.default_rng(0)
    x, mapping = rng.normal(size=(30, 200)), PLS(8)
    folds = make_folds(30, list(ShuffleSplit(10, test_size=0.1, random_state=0).split(x)))
    x, y = jnp.asarray(x), jnp.asarray(x[:, :3] @ rng.normal(size=(3, 50)) + rng.normal(size=(30, 50)))
    few = mapping.in_few_columns(mapping.prepare(x, y), 10)
    assert few.centred.x.shape == few.cross.shape == (30, 30)

    def value_and_gradient():
        return jax.jit(jax.value_and_grad(lambda x: jnp.mean(cross_validate(x, y, folds, mapping=mapping))))(x)

    in_few = value_and_gradient()
    monkeypatch.setattr(PLS, "in_few_columns", lambda mapping, prepared, folds: prepared)
    for found, expected in zip(in_few, value_and_gradient(), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-7)
