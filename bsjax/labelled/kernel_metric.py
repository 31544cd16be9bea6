"""The base class of metrics that run a pure kernel on aligned arrays."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.engine.batches import batched_map
from bsjax.engine.sharding import Shards
from bsjax.labelled.align import STIMULUS
from bsjax.labelled.metric import Metric, OfHalves, required_parameters
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.labelled.uncertainty import BOTH

_REQUIRED = ("arrays", "kernel", "summary")


class KernelMetric(Metric):
    """A metric that is defined by the arrays it takes from assemblies, the kernel it runs on them, and its summary.

    This class does the rest. A call runs the compiled kernel in the metric's precision on the devices in use, refuses
    computations that need more memory than is available, and records the metric with its settings. Bootstrap draws,
    permutations and many sources rerun the kernel on the rows they hold. A subclass is a frozen dataclass whose fields
    are its settings. Instances with equal settings share one compiled program.

    Attributes:
        shards: how each array is divided over devices, see ``bsjax.engine.sharding.Shards``; None for one device.

    Example:
        >>> from dataclasses import dataclass
        >>> import xarray as xr
        >>> from bsjax.labelled import aligned_values
        >>> @dataclass(frozen=True)
        ... class Slope(KernelMetric):
        ...     identifier = "slope"
        ...     power: float = 1.0
        ...
        ...     def arrays(self, source, target):
        ...         return aligned_values(source, target)
        ...
        ...     def kernel(self, x, y):
        ...         return (x * y).sum() / (abs(x) ** (1 + self.power)).sum()
        ...
        ...     def summary(self, value, source, target):
        ...         return Score(float(value))
        >>> x = xr.DataArray(np.eye(3), {"stimulus_id": ("presentation", list("abc"))}, ["presentation", "neuroid"])
        >>> score = Slope()(x, 2 * x)
        >>> float(score), score.provenance.metric, dict(score.provenance.settings)
        (2.0, 'slope', {'power': 1.0})
    """

    shards: ClassVar[Shards | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        lacking = [name for name in _REQUIRED if getattr(getattr(cls, name), "__isabstractmethod__", False)]
        if lacking and ABC not in cls.__bases__:
            raise TypeError(f"{cls.__name__} must define {', '.join(lacking)}: see bsjax.KernelMetric")

    @abstractmethod
    def arrays(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        """The kernel's arrays, in the row order of the last assembly; floating ones are cast to the metric's dtype."""

    @abstractmethod
    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """A pure JAX function of the arrays."""

    @abstractmethod
    def summary(self, *args: Any, **kwargs: Any) -> Score:
        """The score from the kernel's values (as NumPy arrays) and the assemblies of the call."""

    @property
    def sides(self) -> int:
        """How many assemblies ``arrays`` takes."""
        return len(required_parameters(self.arrays))

    @property
    def of_halves(self) -> OfHalves | None:
        """Compares complete halves by its kernel, if it takes two arrays; draws by ``weighted_kernel``, if any."""
        if self.sides != 2 or len(required_parameters(self.kernel)) != 2:
            return None
        return OfHalves(_OfAll(self), _OfDraws(self) if self._is_weighted else None)

    def weighted_kernel(self, *args: Any, **kwargs: Any) -> Any:
        """The kernel's values from row weights (in the metric's dtype) and the arrays, for draws of the stimuli."""
        raise NotImplementedError(f"{type(self).__name__} has no weighted_kernel")

    @property
    def _is_weighted(self) -> bool:
        return type(self).weighted_kernel is not KernelMetric.weighted_kernel

    def __call__(self, *assemblies: Any) -> Score:
        """The score of the assemblies; the last one holds the measurements.

        Raises:
            ValueError: as raised by ``arrays``, or the computation needs more memory than is available.
        """
        values = self._values(_kernel, *self.arrays(*assemblies), shards=self.shards)
        score = self.summary(values, *assemblies)
        made = self.provenance(reason=score.provenance.reason, details=score.provenance.details)
        return replace(score, provenance=made)

    def drawn_values(self, drawn: Drawn, *assemblies: Any, **kwargs: Any) -> dict[str, Any]:
        """Its values in every draw; for draws of stimuli alone, by ``weighted_kernel`` where the metric has one."""
        if not self._is_weighted or drawn.plan.factors != ("stimuli",):
            return super().drawn_values(drawn, *assemblies, **kwargs)
        weights = drawn.in_order("stimuli", assemblies[-1][STIMULUS].values).astype(float)
        found = self._values(_weighted_kernel, weights, *self.arrays(*assemblies))
        each = [jax.tree.map(lambda values, i=i: values[i], found) for i in range(len(weights))]
        scores = [np.asarray(self.summary(values, *assemblies).value, float) for values in each]
        return {"values": drawn.labelled({BOTH: np.stack(scores)})}

    def _values(self, kernel: Callable[..., Any], *arrays: Any, shards: Shards | None = None) -> Any:
        """The values of a kernel in this metric's precision, within the memory limit."""
        shapes = ", ".join(" x ".join(f"{n:,}" for n in np.shape(leaf)) for leaf in jax.tree.leaves(arrays))
        return self.run_kernel(
            kernel, *arrays, takes=f"{self.identifier} of arrays of {shapes}", shards=shards, metric=self
        )


def _kernel(*arrays: Any, metric: KernelMetric) -> Any:
    return metric.kernel(*arrays)


def _weighted_kernel(weights: Any, *arrays: Any, metric: KernelMetric) -> Any:
    return batched_map(lambda held: metric.weighted_kernel(held, *arrays), weights)


@dataclass(frozen=True)
class _OfAll:
    """The kernel of a metric without masks; NaN if a stimulus is missing in a half."""

    metric: KernelMetric

    def __call__(self, a: Any, b: Any, *, where: Any) -> Any:
        value = self.metric.kernel(a, b)
        return jnp.where(jnp.all(where), value, jnp.full_like(value, jnp.nan))


@dataclass(frozen=True)
class _OfDraws:
    """The weighted kernel of a metric, with the counts of each draw as weights."""

    metric: KernelMetric

    def __call__(self, a: Any, b: Any, counts: Any) -> Any:
        return _weighted_kernel(counts.astype(a.dtype), a, b, metric=self.metric)
