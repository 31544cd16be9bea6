"""Cross-products of features and targets, deflated by PLS components."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.programs.fallbacks import cond
from bsjax.engine.tolerances import SQUARE_POWER, SQUARE_POWER_32, rounding


class DeflatedCrossProduct(NamedTuple):
    r"""Deflated cross-product of each fold, :math:`S = B - \sum_k c_k p_k^T`, with the product :math:`B = Y^T X`.

    Subtracting each component from the base would pass over the whole array; components are kept in ``pending``
    instead. All products below are with :math:`S`. Rounding errors accumulate in ``square`` from one deflation to the
    next, until ``brought_up_to_date`` recomputes it.

    Attributes:
        base: B, less the components that were subtracted from it.
        x_loadings: p.
        pending: c, target loadings times squared score lengths; zero once subtracted from the base.
        square: :math:`S^T S` or :math:`S S^T`, whichever is smaller, divided by ``scale``; empty if not requested.
        scale: factor that gave the square a trace of 1 when it was last computed, because squares of large data exceed
            float32.
    """

    base: Float[Array, "folds s p"]
    x_loadings: Float[Array, "folds k p"]
    pending: Float[Array, "folds k s"]
    square: Float[Array, "folds m m"]
    scale: Float[Array, " folds"]

    @property
    def on_features(self) -> bool:
        """Whether the square is features x features rather than targets x targets."""
        return self.base.shape[2] < self.base.shape[1]

    def times_targets(self, vector: Float[Array, "folds s"]) -> Float[Array, "folds p"]:
        r""":math:`S^T v`"""
        whole = jnp.einsum("fsp,fs->fp", self.base, vector)
        return whole - jnp.einsum("fks,fs,fkp->fp", self.pending, vector, self.x_loadings)

    def times_features(self, vector: Float[Array, "folds p"]) -> Float[Array, "folds s"]:
        r""":math:`S v`"""
        whole = jnp.einsum("fsp,fp->fs", self.base, vector)
        return whole - jnp.einsum("fkp,fp,fks->fs", self.x_loadings, vector, self.pending)

    def less(
        self, k: Int[Array, ""], x_loading: Float[Array, "folds p"], taken_off: Float[Array, "folds s"]
    ) -> DeflatedCrossProduct:
        r"""The cross-product deflated by component ``k``, :math:`c p^T`, with its square.

        On features, :math:`(S - c p^T)^T (S - c p^T) = S^T S - u p^T - p u^T` with
        :math:`u = S^T c - \tfrac12 c^T c\, p`; on targets, c and p are exchanged.
        """
        square = self.square
        if square.size:
            own, other = (x_loading, taken_off) if self.on_features else (taken_off, x_loading)
            image = self.times_targets(other) if self.on_features else self.times_features(other)
            image = image - 0.5 * jnp.sum(other**2, axis=1, keepdims=True) * own
            image, own = (v / jnp.sqrt(self.scale)[:, None] for v in (image, own))
            square = square - image[:, :, None] * own[:, None, :] - own[:, :, None] * image[:, None, :]
        return self._replace(
            x_loadings=jax.lax.dynamic_update_index_in_dim(self.x_loadings, x_loading, k, axis=1),
            pending=jax.lax.dynamic_update_index_in_dim(self.pending, taken_off, k, axis=1),
            square=square,
        )

    def with_base_up_to_date(self) -> DeflatedCrossProduct:
        """The same cross-product, with all components subtracted from the base."""
        return self._replace(base=self._deflated(), pending=jnp.zeros_like(self.pending))

    def brought_up_to_date(self) -> DeflatedCrossProduct:
        """The same cross-product, its square recomputed if deflation left too little of it above rounding errors."""
        double = self.base.dtype.itemsize == 8
        left = jnp.sum(jnp.diagonal(self.square, axis1=1, axis2=2), axis=1)
        lost = jnp.any(left < rounding(left, power=SQUARE_POWER if double else SQUARE_POWER_32))

        def anew() -> tuple[Array, ...]:
            base = self._deflated()
            # float64 has enough precision to keep the base, which saves a copy through the branch per component.
            kept = () if double else (base, jnp.zeros_like(self.pending))
            return *scaled_square(base), *kept

        def as_it_was() -> tuple[Array, ...]:
            return self.square, self.scale, *(() if double else (self.base, self.pending))

        square, scale, *kept = cond(lost, anew, as_it_was)
        base, pending = kept or (self.base, self.pending)
        return self._replace(square=square, scale=scale, base=base, pending=pending)

    def _deflated(self) -> Float[Array, "folds s p"]:
        return self.base - jnp.einsum("fks,fkp->fsp", self.pending, self.x_loadings)


def cross_product_to_deflate(
    cross: Float[Array, "folds s p"], n_components: int, *, with_square: bool
) -> DeflatedCrossProduct:
    """A cross-product before any deflation."""
    folds, s, p = cross.shape
    none, one = jnp.zeros((folds, 0, 0), cross.dtype), jnp.ones(folds, cross.dtype)
    x_loadings, pending = (jnp.zeros((folds, n_components, width), cross.dtype) for width in (p, s))
    return DeflatedCrossProduct(cross, x_loadings, pending, *(scaled_square(cross) if with_square else (none, one)))


def scaled_square(cross: Float[Array, "folds s p"]) -> tuple[Float[Array, "folds m m"], Float[Array, " folds"]]:
    """The square of the cross-product on its smaller side, scaled to a trace of 1, and the scale."""
    on_features = cross.shape[2] < cross.shape[1]
    square = jnp.einsum("fsp,fsq->fpq" if on_features else "fsp,ftp->fst", cross, cross)
    scale = jnp.trace(square, axis1=1, axis2=2)
    # A zero cross-product needs no scale; dividing by a subnormal scale would overflow.
    scale = jnp.where(scale > jnp.finfo(cross.dtype).tiny, scale, 1.0)
    return square / scale[:, None, None], scale
