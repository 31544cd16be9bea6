"""Any mapping, with a kernel of two stimuli in place of the inner product of their features."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.primitives.triangular import solve_lower
from bsjax.engine.programs.fallbacks import with_fallback
from bsjax.engine.tolerances import rounding
from bsjax.metrics.arrays import Embedded, Features, HeldOut, HeldOutMask, HeldOutTargets, Predicted, Scalar, Targets
from bsjax.metrics.numerics import around_most, nonzero, squared_distances
from bsjax.metrics.regression.mapping import Mapping, Traits, with_leaves

# Rounding errors of distances may be so many times those of the kernel.
_MORE = 16.0

KernelName = Literal["linear", "rbf", "polynomial"]


class PreparedKernel(NamedTuple):
    """The features, the means of their kernel, its Cholesky factor once centred, and what was prepared from that."""

    x: Features
    means: Float[Array, "1 n"]
    factor: Float[Array, "n n"]
    inner: Any

    @property
    def embedding(self) -> Float[Array, "n d"]:
        """All stimuli in the coordinates of the mapping."""
        return self.inner.embedding


@with_leaves("mapping", "gamma", "constant")
class Kernelised(Mapping):
    r"""A mapping of stimuli in the feature space of a kernel, such as kernel ridge regression.

    .. math:: k(a, b) = a \cdot b\ \text{(linear)},\quad \exp(-\gamma \|a - b\|^2)\ \text{(rbf)},\quad
        (\gamma\, a \cdot b + c)^d\ \text{(polynomial)}

    Stimuli get as many coordinates as there are stimuli, whose inner products are the kernel (rows of its Cholesky
    factor); new stimuli are projected onto them. The intercept of the mapping is free, which centres the kernel.

    Args:
        mapping: the mapping, one whose predictions depend on inner products, e.g. ``Ridge(1.0)``.
        kernel: ``"linear"``, ``"rbf"`` or ``"polynomial"``.
        gamma: :math:`\gamma`; by default one over the number of features.
        degree: d of the polynomial kernel.
        constant: c of the polynomial kernel.

    Raises:
        ValueError: the kernel is not known.

    Source: Saunders, Gammerman & Vovk 1998 (kernel ridge regression).

    Example:
        >>> import numpy as np
        >>> from bsjax.metrics import Ridge, train_test
        >>> x = jnp.asarray(np.random.default_rng(0).normal(size=(60, 2)))
        >>> y = x[:, :1] * x[:, 1:]
        >>> product = Kernelised(Ridge(1e-3), "polynomial", degree=2)
        >>> train_test(x[:40], x[40:], y[:40], y[40:], mapping=product).round(3).tolist()
        [1.0]
    """

    mapping: Mapping
    kernel: KernelName = "rbf"
    gamma: float | Scalar | None = None
    degree: int = 3
    constant: float | Scalar = 1.0

    @property
    def traits(self) -> Traits:
        """Those of the mapping, without streaming: a kernel needs the features themselves, and their number."""
        own = self.mapping.traits
        by_differences = self.kernel != "polynomial" and (own.ignores_means or own.depends_on == "inner products")
        return own.on_other_features(reported=own.reported, warnings=own.warnings, ignores_means=by_differences)

    def prepare(self, x: Features, y: Targets) -> PreparedKernel:
        """Factorises the kernel of all stimuli, centred: what they share may hide how they differ."""
        gram = self._kernel(x, x)
        means = jnp.mean(gram, axis=0, keepdims=True)
        # A constant coordinate, which changes no difference, in place of a direction without length.
        means = means - jnp.mean(means) + jax.lax.stop_gradient(jnp.mean(means) - jnp.mean(jnp.diagonal(gram))) / len(x)
        gram = _centred(gram, means)
        # Rounding errors of the kernel, so that the factor exists for repeated stimuli.
        least = len(x) * rounding(x) * nonzero(jax.lax.stop_gradient(jnp.max(jnp.diagonal(gram))))
        itself = jnp.eye(len(x), dtype=x.dtype)
        factor = jnp.linalg.cholesky(gram + least * itself)
        found = jnp.all(jnp.isfinite(factor))
        factor = with_fallback(
            ~found,
            lambda: jnp.where(found, factor, itself),
            lambda: jnp.linalg.cholesky(gram + _MORE * least * itself),
        )
        return PreparedKernel(x, means, factor, self.mapping.prepare(factor, y))

    def embed(self, prepared: PreparedKernel, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli, projected onto the prepared ones in feature space."""
        similar = _centred(self._kernel(x, prepared.x), prepared.means)
        return self.mapping.embed(prepared.inner, solve_lower(prepared.factor, similar.T).T)

    def fit(self, prepared: PreparedKernel, held_out: HeldOut, held_out_mask: HeldOutMask) -> Any:
        """The mapping's parameters of every fold."""
        return self.mapping.fit(prepared.inner, held_out, held_out_mask)

    def predict(self, params: Any, embedded: Embedded) -> Predicted:
        """The mapping's predictions."""
        return self.mapping.predict(params, embedded)

    def predict_held_out(
        self, prepared: PreparedKernel, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> HeldOutTargets:
        """The mapping's predictions for the held-out stimuli of every fold."""
        return self.mapping.predict_held_out(prepared.inner, held_out, held_out_mask)

    def _kernel(self, a: Float[Array, "m p"], b: Features) -> Float[Array, "m n"]:
        return kernel_of(a, b, self.kernel, self.gamma, self.degree, self.constant)


def kernel_of(
    a: Float[Array, "m p"],
    b: Features,
    kernel: KernelName,
    gamma: float | Scalar | None,
    degree: int,
    constant: float | Scalar,
) -> Float[Array, "m n"]:
    """The kernel of all pairs of two sets of stimuli, see ``Kernelised``, up to means that centring takes away."""
    gamma = 1.0 / a.shape[1] if gamma is None else gamma
    if kernel == "polynomial":
        return (gamma * (a @ b.T) + constant) ** degree
    middle = (b - around_most(b, None))[:1]
    a, b = a - middle, b - middle
    if kernel == "linear":
        return a @ b.T
    if kernel == "rbf":
        return jnp.expm1(-gamma * squared_distances(a, b))
    raise ValueError(f"the kernel must be 'linear', 'rbf' or 'polynomial', and is {kernel!r}")


def _centred(kernel: Float[Array, "m n"], means: Float[Array, "1 n"]) -> Float[Array, "m n"]:
    """A kernel of new and prepared stimuli, less the mean of every row and these of every column."""
    return kernel - jnp.mean(kernel, axis=1, keepdims=True) - means
