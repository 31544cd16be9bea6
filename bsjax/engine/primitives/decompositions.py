"""Eigenvectors, singular vectors and orthonormal bases, by what each device has for them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.products import matmul_t, product
from bsjax.engine.primitives.triangular import without_derivative
from bsjax.engine.programs.platforms import primitive
from bsjax.engine.row_blocks import in_row_blocks
from bsjax.engine.tolerances import DEPENDENT, rounding

# Columns that are made orthogonal to the others at a time.
_BLOCK = 128


def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues, ascending, and eigenvectors as columns of a symmetric matrix; NaN where it is not finite.

    Eigenvectors of equal eigenvalues have no derivative: it is NaN for what depends on them. So it is for what is a
    smooth function of the matrix there, such as its root: its derivative follows from how what it takes of eigenvectors
    changes with their eigenvalues, which what comes back through them does not tell. It needs a derivative of its own
    (``bsjax.metrics.linalg.semidefinite``).

    Args:
        matrix: symmetric; only its lower triangle is read.

    Example:
        >>> values, vectors = eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
        >>> print(values)
        [1. 2.]
    """
    fixed = jax.lax.stop_gradient(matrix)
    finite = jnp.all(jnp.isfinite(fixed))  # LAPACK may not return from NaN
    values, vectors = _eigh(jnp.where(finite, fixed, 0.0))
    return as_eigenpairs(matrix, jnp.where(finite, values, jnp.nan), jnp.where(finite, vectors, jnp.nan))


@jax.custom_vjp
def as_eigenpairs(
    matrix: Float[Array, "n n"], values: Float[Array, " n"], vectors: Float[Array, "n n"]
) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues and eigenvectors that were found in any way, with their derivatives in the matrix, see ``eigh``."""
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
    # Above 256 rows XLA would divide and conquer by polar decompositions, which take minutes to compile. Of a batch one
    # after the other: together they do not fit into the memory on the chip.
    vectors, values = jax.lax.linalg.eigh(
        matrix, symmetrize_input=False, implementation=jax.lax.linalg.EighImplementation.JACOBI
    )
    return values, vectors


@primitive
def svd(x: Float[Array, "n d"]) -> tuple[Float[Array, "n d"], Float[Array, " d"], Float[Array, "d d"]]:
    """Left singular vectors as columns, singular values, descending, and right singular vectors as columns.

    To all digits of ``x``, of which ``x.T @ x`` loses half. Its derivative is refused.

    Args:
        x: with no more columns than rows.

    Returns:
        Left vectors of singular values that are rounding may be any.

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
    """Accelerators decompose symmetric matrices sooner, in programs that compile sooner.

    The eigenvectors of the product that are strong are known to enough digits. Those that are weak are found once more,
    from the product of the features along them, in which nothing strong is left to hide them.
    """
    x = without_derivative(x)
    d = x.shape[1]
    least = rounding(x, power=0.5)

    def turn(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        axes, strong = state
        along = product(x, axes)
        gram = matmul_t(along, along)
        # What the weak axes still have of the strong ones, to first order, and the axes orthonormal again.
        coupled = strong[:, None] & ~strong[None]
        shares = jnp.where(coupled, gram / jnp.where(strong, jnp.diagonal(gram), 1.0)[:, None], 0.0)
        axes = axes - product(axes, shares - shares.T)
        axes = 1.5 * axes - 0.5 * product(axes, matmul_t(axes, axes))
        along = jnp.where(strong[None], 0.0, product(x, axes))
        gram = matmul_t(along, along)
        # In the place of what is strong stand numbers above all others, each its own, so that its axes stay.
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
        # What a weak axis is off turns its image towards strong ones, by much of its length; theirs is not turned.
        squares = jnp.sum(left**2, axis=0)
        left = left / jnp.sqrt(jnp.where(squares > 0, squares, 1.0))[None]
        return left - product(left, jnp.triu(matmul_t(left, left), 1))

    return jax.lax.fori_loop(0, 2, without_stronger, left), lengths[order], axes[:, order]


@primitive
def principal_axes(x: Float[Array, "n d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Singular values, descending, and right singular vectors as columns: ``svd`` without the left ones.

    Example:
        >>> lengths, axes = principal_axes(jnp.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]))
        >>> print(lengths)
        [2. 1.]
    """
    return svd(x)[1:]


@principal_axes.on("cpu")
def _of_a_triangle(x: Float[Array, "n d"]) -> tuple[Float[Array, " d"], Float[Array, "d d"]]:
    """Features have the lengths and axes of their triangle, which takes as little memory as may be."""
    x = without_derivative(x)

    def with_rows(triangle: Float[Array, "d d"], rows: Float[Array, "b d"]) -> tuple[Float[Array, "d d"], None]:
        return jnp.linalg.qr(jnp.concatenate([triangle, rows]), mode="r"), None

    triangle, _ = jax.lax.scan(
        with_rows, jnp.zeros((x.shape[1], x.shape[1]), x.dtype), in_row_blocks(x, max(x.shape[1], _BLOCK))
    )
    return svd(triangle)[1:]


@primitive
def qr(x: Float[Array, "p n"]) -> tuple[Float[Array, "p d"], Float[Array, "d n"]]:
    """A basis of the columns, orthonormal, and the coordinates of the columns in it: ``basis @ coordinates == x``.

    As many columns as ``x`` has columns or rows, whichever are fewer; those that the basis does not need may be zero.
    Their derivative is refused.

    Example:
        >>> basis, coordinates = qr(jnp.array([[3.0], [4.0]]))
        >>> print(jnp.abs(basis).ravel(), jnp.abs(coordinates))
        [0.6 0.8] [[5.]]
    """
    basis, coordinates = jnp.linalg.qr(without_derivative(x))
    return basis, coordinates


@primitive
def qr_coordinates(x: Float[Array, "p n"]) -> Float[Array, "d n"]:
    """The second of ``qr``, for less."""
    return jnp.linalg.qr(without_derivative(x), mode="r")


@qr.on("tpu")
def _by_gram_schmidt(x: Float[Array, "p n"]) -> tuple[Float[Array, "p d"], Float[Array, "d n"]]:
    """XLA's reflections of one column after the other are unrolled: a program for 1,000 columns has 40 MB.

    Here blocks of columns lose what earlier blocks span, and then each column what earlier ones of its block span; all
    of it twice, as once leaves rounding of what was large in what is small. What is no more than rounding is zero.
    """
    x = without_derivative(x)
    p, n = x.shape
    padded = jnp.pad(x, ((0, 0), (0, -n % _BLOCK)))
    shortest = rounding(x, DEPENDENT) * jnp.sqrt(jnp.sum(padded**2, axis=0))

    def orthonormal(block: Float[Array, "p b"], least: Float[Array, " b"]) -> Float[Array, "p b"]:
        def take(k: Array, left: Float[Array, "p b"]) -> Float[Array, "p b"]:
            column = jax.lax.dynamic_slice_in_dim(left, k, 1, axis=1)
            length = jnp.sqrt(jnp.sum(column**2))
            column = jnp.where(length > least[k], column / jnp.where(length > 0, length, 1.0), 0.0)
            shares = jnp.where(jnp.arange(_BLOCK) > k, column.T @ left, 0.0)
            return jax.lax.dynamic_update_slice_in_dim(left - column @ shares, column, k, axis=1)

        return jax.lax.fori_loop(0, _BLOCK, take, block)

    def add(k: Array, basis: Float[Array, "p n"]) -> Float[Array, "p n"]:
        start = k * _BLOCK
        block = jax.lax.dynamic_slice_in_dim(padded, start, _BLOCK, axis=1)
        least = jax.lax.dynamic_slice_in_dim(shortest, start, _BLOCK)

        def again(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            block, least = state
            return orthonormal(block - product(basis, matmul_t(basis, block)), least), jnp.full_like(least, 0.5)

        block, _ = jax.lax.fori_loop(0, 2, again, (block, least))
        return jax.lax.dynamic_update_slice_in_dim(basis, block, start, axis=1)

    basis = jax.lax.fori_loop(0, padded.shape[1] // _BLOCK, add, jnp.zeros_like(padded))[:, :n]
    if p < n:  # what is not zero, in as many columns as there can be
        basis = basis[:, jnp.argsort(jnp.max(jnp.abs(basis), axis=0) == 0, stable=True)[:p]]
    return basis, matmul_t(basis, x)


@qr_coordinates.on("tpu")
def _coordinates(x: Float[Array, "p n"]) -> Float[Array, "d n"]:
    return _by_gram_schmidt(x)[1]
