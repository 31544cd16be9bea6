import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics.linalg.eigenvectors import leading_eigenvector, power_iteration
from tests.support.slopes import check_slope


def spectrum(values, m):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(m, m)))[0][:, : len(values)]
    return jnp.asarray(basis * np.asarray(values) @ basis.T)[None]


leading = jax.jit(leading_eigenvector)


@pytest.fixture(params=["cpu", "gpu"], autouse=True)
def platform(request):
    """Both implementations run on any device."""
    with traced_for(request.param):
        yield request.param


def residual(matrix, found):
    image = jnp.einsum("fij,fj->fi", matrix, found.vector)
    return float(jnp.linalg.norm(image - found.value[:, None] * found.vector))


@pytest.mark.slow
@pytest.mark.parametrize("m", [1, 12, 13, 60])
def test_equals_the_full_decomposition(m):
    values = np.sort(np.random.default_rng(1).exponential(size=m))[::-1]
    matrix = spectrum(values, m)
    found = leading(matrix, jnp.ones((1, m)))
    assert float(found.value[0]) == pytest.approx(values[0], rel=1e-13)
    assert residual(matrix, found) < 1e-9
    assert float(jnp.linalg.norm(found.vector)) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-9, 0.0])
def test_converges_with_hardly_any_gap(gap):
    values = np.concatenate([[1.0, 1.0 - gap], np.linspace(0.99, 0.1, 100)])
    matrix = spectrum(values, 150)
    assert residual(matrix, leading(matrix, jnp.ones((1, 150)))) < 1e-9


def test_a_start_orthogonal_to_the_answer_does_not_mislead():
    matrix = jnp.diag(jnp.array([1.0, 2.0, 5.0]))[None]
    found = leading(matrix, jnp.array([[0.0, 1.0, 0.0]]))
    assert float(found.value[0]) == pytest.approx(5.0)


@pytest.mark.slow
def test_a_zero_matrix_has_a_zero_eigenvalue_and_finite_gradients():
    zero = jnp.zeros((2, 5, 5))
    assert (leading_eigenvector(zero, jnp.ones((2, 5))).value == 0).all()
    gradient = jax.grad(lambda a: leading_eigenvector(a, jnp.ones((2, 5))).vector.sum())(zero)
    assert jnp.isfinite(gradient).all()


@pytest.mark.parametrize("scale", [1e-15, 1e15])
def test_float32_neither_overflows_nor_underflows(scale):
    matrix = spectrum([3.0, 2.0, 1.0], 20).astype(jnp.float32)
    plain = leading(matrix, jnp.ones((1, 20), jnp.float32))
    scaled = leading(matrix * scale, jnp.ones((1, 20), jnp.float32) * scale)
    np.testing.assert_allclose(jnp.abs(scaled.vector), jnp.abs(plain.vector), atol=1e-4)


@pytest.mark.slow
def test_gradient_equals_finite_differences():
    matrix = spectrum([4.0, 2.0, 1.0, 0.5], 8)
    way = np.random.default_rng(3).normal(size=(1, 8, 8))

    def of(matrix):
        found = leading_eigenvector(matrix, jnp.ones((1, 8)))
        return found.value[0] + (found.vector[0] @ jnp.arange(8.0)) ** 2

    check_slope(of, matrix, way=way + way.mT, rtol=1e-6)


@pytest.mark.slow
def test_power_iteration_stops_a_fold_when_that_fold_has_converged():
    rng = np.random.default_rng(0)
    cross = jnp.asarray(rng.normal(size=(3, 6, 10)) * np.array([1.0, 5.0, 0.1])[:, None, None])
    start = jax.nn.one_hot(jnp.zeros(3, int), 6, dtype=jnp.float64)
    together, lengths = power_iteration(cross, start)
    for i in range(3):
        alone, length = power_iteration(cross[i : i + 1], start[i : i + 1])
        np.testing.assert_array_equal(together[i], alone[0])
        np.testing.assert_array_equal(lengths[i], length[0])
