"""Eigendecompositions against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from bsjax.engine.primitives.decompositions import eigh, principal_axes, qr, qr_coordinates, singular_values, svd
from bsjax.engine.primitives.triangular import cholesky
from bsjax.engine.programs.platforms import traced_for


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("float64", 1e-13)])
def test_matrices_are_rebuilt_from_their_eigenvectors(dtype, atol):
    stacked = np.random.default_rng(0).normal(size=(3, 6, 6))
    matrices = stacked @ stacked.mT
    values, vectors = jax.jit(jax.vmap(eigh))(jnp.asarray(matrices, dtype))
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrices), rtol=0, atol=30 * atol)
    rebuilt = np.einsum("fik,fk,fjk->fij", *map(np.asarray, (vectors, values, vectors)))
    np.testing.assert_allclose(rebuilt, matrices, atol=30 * atol)


def test_what_is_not_finite_gives_nan():
    values, vectors = jax.jit(eigh)(jnp.full((3, 3), jnp.nan))
    assert np.isnan(values).all() and np.isnan(vectors).all()


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
@pytest.mark.parametrize("weakest", [1e-1, 1e-4])
def test_singular_vectors_of_weak_directions_have_all_digits(platform, weakest):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 40)))[0] for n in (60, 40))
    lengths = np.geomspace(1.0, weakest, 40)
    x = jnp.asarray(left * lengths @ right.T, "float32")
    with traced_for(platform):
        images, found, axes = jax.jit(svd)(x)
        alone, own = jax.jit(principal_axes)(x)
        np.testing.assert_allclose(jax.jit(singular_values)(x), found, rtol=2e-6 / weakest)
    np.testing.assert_allclose(alone, found, rtol=2e-6 / weakest)
    np.testing.assert_allclose(own.T @ own, np.eye(40), atol=2e-6)
    np.testing.assert_allclose(found, lengths, rtol=2e-6 / weakest)
    np.testing.assert_allclose(axes.T @ axes, np.eye(40), atol=2e-6)
    along = np.asarray(x, float) @ np.asarray(axes, float) / lengths
    np.testing.assert_allclose(along.T @ along, np.eye(40), atol=2e-5 + 2e-6 / weakest)
    np.testing.assert_allclose(images.T @ images, np.eye(40), atol=4e-6)
    np.testing.assert_allclose(images * found[None] @ axes.T, x, atol=2e-6)


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
def test_singular_vectors_of_nothing_and_of_repeated_directions(platform):
    with traced_for(platform):
        for x in (np.zeros((5, 3)), np.eye(5, 3), np.ones((5, 3))):
            _, lengths, axes = jax.jit(svd)(jnp.asarray(x))
            np.testing.assert_allclose(lengths, np.linalg.svd(x, compute_uv=False), atol=1e-6)
            np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-6)


def test_a_program_for_any_platform_takes_them_all():
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    basis, coordinates = jax.jit(qr)(x)
    np.testing.assert_allclose(basis @ coordinates, x, atol=1e-6)
    np.testing.assert_allclose(jnp.abs(jax.jit(qr_coordinates)(x)), jnp.abs(coordinates), atol=1e-6)
    _, lengths, _ = jax.jit(svd)(x)
    np.testing.assert_allclose(lengths, np.linalg.svd(x, compute_uv=False), atol=1e-6)


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize(("rows", "columns", "rank"), [(300, 150, 40), (140, 150, 140)])
def test_a_basis_is_orthonormal_and_holds_all_columns(platform, rows, columns, rank):
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)), "float32")
    with traced_for(platform):
        basis, coordinates = jax.jit(qr)(x)
        alone = jax.jit(qr_coordinates)(x)
    np.testing.assert_allclose(basis @ coordinates, x, atol=1e-5 * float(jnp.max(jnp.abs(x))))
    there = np.round(np.sum(np.asarray(basis) ** 2, axis=0))  # those that are not needed may be zero
    np.testing.assert_allclose(basis.T @ basis, np.diag(there), atol=2e-6)
    assert rank <= there.sum() <= min(rows, columns) == basis.shape[1]
    np.testing.assert_allclose(alone.T @ alone, x.T @ x, rtol=1e-4, atol=1e-4 * float(jnp.max(x.T @ x)))


def test_a_basis_of_columns_that_are_almost_alike_is_orthonormal_on_a_tpu():
    rng = np.random.default_rng(0)
    fine = 1.0 + 1e-3 * rng.normal(size=(300, 140))
    fine[:, 70:] = fine[:, :70] + 1e-5 * rng.normal(size=(300, 70))
    for x in (fine, np.vander(np.linspace(-1, 1, 300), 40)):  # of the second only some columns count in float32
        x = jnp.asarray(x, "float32")
        with traced_for("tpu"):
            basis, coordinates = jax.jit(qr)(x)
        squares = np.sum(np.asarray(basis, float) ** 2, axis=0)
        np.testing.assert_allclose(basis.T @ basis, np.diag(np.round(squares)), atol=2e-6)
        np.testing.assert_allclose(basis @ coordinates, x, atol=5e-6)


@pytest.mark.parametrize("decomposition", [svd, qr, qr_coordinates, cholesky])
@pytest.mark.parametrize("platform", ["cpu", "gpu", "tpu"])
def test_a_derivative_that_there_is_not_is_refused(platform, decomposition):
    def total(x):
        return sum(map(jnp.sum, jax.tree.leaves(decomposition(x))))

    with traced_for(platform), pytest.raises(NotImplementedError, match="decomposition has no derivative"):
        jax.grad(total)(jnp.eye(3))


def test_eigenvalues_and_eigenvectors_have_derivatives():
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 5, 5))

    def of(matrix):
        values, vectors = eigh(matrix + matrix.T)
        return jnp.sum(jnp.sin(values) * a[0]) + jnp.sum((vectors.T @ b) ** 2 * a)

    check_grads(jax.jit(of), (jnp.asarray(c),), order=1, modes=("rev",), atol=1e-5, rtol=1e-5)
