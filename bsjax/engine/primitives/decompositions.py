"""Eigendecompositions, singular value decompositions and orthonormal bases, implemented per device."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.products import matmul_t, product
from bsjax.engine.primitives.triangular import cholesky, solve_lower, without_derivative
from bsjax.engine.programs.platforms import primitive
from bsjax.engine.row_blocks import in_row_blocks
from bsjax.engine.tolerances import DEPENDENT, rounding

# Columns that are orthogonalised at a time.
_BLOCK = 128
# Least squared share of a unit column outside the span of others that their inner products hold to enough digits.
_INDEPENDENT = 1e-2


def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix; NaN for a matrix that is not finite.

    Eigenvectors of equal eigenvalues have no derivative: gradients through them are NaN. This includes smooth functions
    of the matrix that are computed from eigenvectors, such as its square root; these need a derivative of their own
    (see ``bsjax.metrics.linalg.semidefinite``).

    Args:
        matrix: symmetric matrix; only its lower triangle is read.

    Example:
        >>> values, vectors = eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        >>> print(values)
        [1. 2.]
    """
    fixed = jax.lax.stop_gradient(matrix)
    finite = jnp.all(jnp.isfinite(fixed))  # LAPACK may not terminate with NaN
    values, vectors = _eigh(jnp.where(finite, fixed, 0.0))
    return as_eigenpairs(matrix, jnp.where(finite, values, jnp.nan), jnp.where(finite, vectors, jnp.nan))


@jax.custom_vjp
def as_eigenpairs(
    matrix: Float[Array, "n n"], values: Float[Array, " n"], vectors: Float[Array, "n n"]
) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Attaches the derivatives of ``eigh`` with respect to the matrix to known eigenvalues and eigenvectors."""
    return values, vectors


def _eigh_forward(matrix: Array, *found: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    return found, found


@at_full_precision
def _eigh_backward(found: tuple[Array, Array], changes: tuple[Array, Array]) -> tuple[Float[Array, "n n"], None, None]:
    values, vectors = found
    turns = vectors.T @ changes[1]
    gaps = values[None, :] - values[:, None]
    itself = jnp.eye(len(values), dtype=bool)
    equal = jnp.abs(gaps) <= rounding(values, len(values)) * jnp.max(jnp.abs(values))
    undefined = equal & ~itself & (turns != 0)
    inner = jnp.where(equal, jnp.where(undefined, jnp.nan, 0.0), turns / jnp.where(equal, 1.0, gaps))
    both = vectors @ (inner + jnp.diag(changes[0])) @ vectors.T
    both = jnp.where(jnp.isnan(values[0]), 0.0, both)
    return jnp.tril(both) + jnp.triu(both, 1).T, None, None


as_eigenpairs.defvjp(_eigh_forward, _eigh_backward)


@primitive
def _eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    values, vectors = jnp.linalg.eigh(matrix, symmetrize_input=False)
    return values, vectors


@_eigh.on("tpu")
@jax.custom_batching.sequential_vmap
def _by_jacobi(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    # Above 256 rows, XLA's default is divide and conquer by polar decompositions, which takes minutes to compile. The
    # matrices of a batch are decomposed one after the other: together they do not fit into on-chip memory.
    vectors, values = jax.lax.linalg.eigh(
        matrix, symmetrize_input=False, implementation=jax.lax.linalg.EighImplementation.JACOBI
    )
    return values, vectors


@primitive
def svd(x: Float[Array, "n d"]) -> tuple[Float[Array, "n d"], Float[Array, " d"], Float[Array, "d d"]]:
    """Left singular vectors (columns), singular values (descending) and right singular vectors (columns).

    The result has the full precision of ``x``, of which ``x.T @ x`` would lose half. It is not differentiable.

    Args:
        x: a matrix with no more columns than rows.

    Returns:
        ``(left, values, right)``. Left vectors of singular values at rounding level are arbitrary.

    Raises:
        NotImplementedError: a derivative is requested.

    Example:
        >>> left, values, right = svd(jnp.array([[0.0, 2.0], [1.0, 0.0]]))
        >>> print(values)
        [2. 1.]
    """
    left, values, right = jnp.linalg.svd(without_derivative(x), full_matrices=False)
    return left, values, right.T


@svd.on("gpu", "tpu")
def _by_two_eigendecompositions(
    x: Float[Array, "n d"],
) -> tuple[Float[Array, "n d"], Float[Array, " d"], Float[Array, "d d"]]:
    """Singular value decomposition by two eigendecompositions, which accelerators compile and run faster."""
    # In the first, of x.T @ x, eigenvectors of large eigenvalues are accurate. The others are recomputed from the
    # features projected onto them, without the strong components that hide them.
    x = without_derivative(x)
    d = x.shape[1]
    least = rounding(x, power=0.5)

    def turn(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        axes, strong = state
        along = product(x, axes)
        gram = matmul_t(along, along)
        # Removes the overlap of weak axes with strong ones, to first order, and makes the axes orthonormal again.
        coupled = strong[:, None] & ~strong[None]
        shares = jnp.where(coupled, gram / jnp.where(strong, jnp.diagonal(gram), 1.0)[:, None], 0.0)
        axes = axes - product(axes, shares - shares.T)
        axes = 1.5 * axes - 0.5 * product(axes, matmul_t(axes, axes))
        along = jnp.where(strong[None], 0.0, product(x, axes))
        gram = matmul_t(along, along)
        # Strong components are replaced by distinct numbers above all others, so that their axes stay fixed.
        total = jnp.trace(gram)
        total = jnp.where(total > 0, total, 1.0)
        above = total * jnp.linspace(2.0, 3.0, d, dtype=x.dtype)
        values, turned = eigh(gram + jnp.diag(jnp.where(strong, above, 0.0)))
        strong = values > 1.5 * total
        largest = jnp.max(jnp.where(strong, 0.0, values))
        return product(axes, turned), strong | (values > least * largest)

    axes, _ = jax.lax.fori_loop(0, 2, turn, (jnp.eye(d, dtype=x.dtype), jnp.zeros(d, bool)))
    along = product(x, axes)
    lengths = jnp.sqrt(jnp.sum(along**2, axis=0))
    order = jnp.argsort(-lengths)
    left = along[:, order]

    def without_stronger(_: Array, left: Float[Array, "n d"]) -> Float[Array, "n d"]:
        # Small errors of a weak axis turn its image towards strong ones; the images of strong axes are hardly affected.
        squares = jnp.sum(left**2, axis=0)
        left = left / jnp.sqrt(jnp.where(squares > 0, squares, 1.0))[None]
        return left - product(left, jnp.triu(matmul_t(left, left), 1))

    return jax.lax.fori_loop(0, 2, without_stronger, left), lengths[order], axes[:, order]


@primitive
def principal_axes(x: Float[Array, "n d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Singular values (descending) and right singular vectors (columns): ``svd`` without the left vectors.

    Example:
        >>> lengths, axes = principal_axes(jnp.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))
        >>> print(lengths)
        [2. 1.]
    """
    return svd(x)[1:]


@principal_axes.on("cpu")
def _of_a_triangle(x: Float[Array, "n d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Decomposes the triangular factor of a QR decomposition by blocks of rows, which needs little memory."""
    x = without_derivative(x)

    def with_rows(triangle: Float[Array, "d d"], rows: Float[Array, "b d"]) -> tuple[Float[Array, "d d"], None]:
        return jnp.linalg.qr(jnp.concatenate([triangle, rows]), mode="r"), None

    triangle, _ = jax.lax.scan(
        with_rows, jnp.zeros((x.shape[1], x.shape[1]), x.dtype), in_row_blocks(x, max(x.shape[1], _BLOCK))
    )
    return svd(triangle)[1:]


@primitive
def singular_values(x: Float[Array, "n d"]) -> Float[Array, " d"]:
    """Singular values, descending: ``svd`` without vectors.

    Example:
        >>> print(singular_values(jnp.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])))
        [2. 1.]
    """
    return principal_axes(x)[0]


@singular_values.on("cpu")
def _without_vectors(x: Float[Array, "n d"]) -> Float[Array, " d"]:
    return jnp.linalg.svd(without_derivative(x), compute_uv=False)


@primitive
def qr(x: Float[Array, "p n"]) -> tuple[Float[Array, "p d"], Float[Array, "d n"]]:
    """An orthonormal basis of the columns, and their coordinates in it: ``basis @ coordinates == x``.

    The basis has as many columns as ``x`` has columns or rows, whichever are fewer; superfluous ones may be zero. The
    result is not differentiable: requesting a derivative raises ``NotImplementedError``.

    Example:
        >>> basis, coordinates = qr(jnp.array([[3.0], [4.0]]))
        >>> print(jnp.abs(basis).ravel(), jnp.abs(coordinates))
        [0.6 0.8] [[5.]]
    """
    basis, coordinates = jnp.linalg.qr(without_derivative(x))
    return basis, coordinates


@qr.on("tpu")
def _by_gram_schmidt(x: Float[Array, "p n"]) -> tuple[Float[Array, "p d"], Float[Array, "d n"]]:
    """QR decomposition by block Gram-Schmidt; columns within rounding error of the span of earlier ones become zero."""
    # XLA unrolls Householder reflections column by column: a program for 1,000 columns has 40 MB.
    x = without_derivative(x)
    p, n = x.shape
    padded = jnp.pad(x, ((0, 0), (0, -n % _BLOCK)))

    def add(k: Array, basis: Float[Array, "p n"]) -> Float[Array, "p n"]:
        block = jax.lax.dynamic_slice_in_dim(padded, k * _BLOCK, _BLOCK, axis=1)
        return jax.lax.dynamic_update_slice_in_dim(basis, _orthonormal(block, basis), k * _BLOCK, axis=1)

    basis = jax.lax.fori_loop(0, padded.shape[1] // _BLOCK, add, jnp.zeros_like(padded))[:, :n]
    if p < n:  # the nonzero columns, of which there are at most p
        basis = basis[:, jnp.argsort(jnp.max(jnp.abs(basis), axis=0) == 0, stable=True)[:p]]
    return basis, matmul_t(basis, x)


def _orthonormal(block: Float[Array, "p b"], basis: Float[Array, "p n"]) -> Float[Array, "p b"]:
    """Columns that span those of the block together with the basis, orthonormal to it; superfluous ones are zero.

    Source: Yamamoto et al. 2015 (Cholesky factors, twice, for the accuracy of reflections).
    """
    b = block.shape[1]

    def turn(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        turns, block, left = state
        block = block - product(basis, matmul_t(basis, block))
        lengths = jnp.sqrt(jnp.sum(block**2, axis=0))
        left = left * lengths
        kept = left > rounding(block, DEPENDENT)
        block = jnp.where(kept[None], block / jnp.where(kept, lengths, 1.0)[None], 0.0)
        # A column close to the span of earlier ones keeps too few digits in the inner products. It waits for the next
        # turn, which takes what is left of it, at full precision.
        gram = matmul_t(block, block)
        trial = cholesky(gram + jnp.diag(jnp.where(kept, rounding(block, 2 * b), jnp.ones_like(left))))
        now = kept & (jnp.diagonal(trial) ** 2 > _INDEPENDENT)
        factor = cholesky(jnp.where(now[:, None] & now[None], gram, jnp.eye(b, dtype=block.dtype)))
        found = solve_lower(factor, jnp.where(now[None], block, 0.0).T).T
        later = jnp.where(now[None], 0.0, block)
        later = later - product(found, matmul_t(found, later))
        return jnp.where(jnp.any(kept & ~now), 2, turns - 1), found + later, left

    lengths = jnp.sqrt(jnp.sum(block**2, axis=0))
    state = jnp.asarray(2), block / jnp.where(lengths > 0, lengths, 1.0)[None], jnp.ones_like(lengths)
    return jax.lax.while_loop(lambda state: state[0] > 0, turn, state)[1]


def qr_coordinates(x: Float[Array, "p n"]) -> Float[Array, "d n"]:
    """The coordinates of ``qr``; a compiled program does not compute the unused basis."""
    return qr(x)[1]
