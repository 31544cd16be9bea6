"""Base class of mappings from model features to neural targets, and the traits of a mapping."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.streaming import DependsOn
from bsjax.metrics.arrays import Embedded, Features, HeldOut, HeldOutMask, PerStimulus, Predicted, Scalar, Targets
from bsjax.metrics.linalg.participation_ratio import participation_ratio
from bsjax.metrics.regression.folds import no_folds

Report = dict[str, Array]
# Reported in addition to the parameters that the mapping's traits name.
EFFECTIVE_DIMENSIONALITY = "effective_dimensionality"


@dataclass(frozen=True)
class Traits:
    """Properties of a mapping that decide how it may be run; the defaults are safe for any mapping.

    Attributes:
        depends_on: what predictions depend on. If they depend only on inner products between stimuli (with a free
            intercept), features that do not fit in memory are read in blocks.
        fits_targets_alone: whether each target is predicted independently of the others, so that targets may be
            distributed over devices and the neuroids of all subjects are fitted together.
        ignores_zero_features: whether a feature of zeros changes no prediction, so that features may be padded.
        ignores_zero_targets: whether a target of zeros changes no prediction of other targets, and no report.
        ignores_means: whether a constant added to a feature or target changes no prediction but by a constant; so it is
            in any case where predictions depend only on inner products.
        least_features, least_training_stimuli: the smallest numbers allowed; fewer are an error.
        advice: message of this error, from the numbers of features and training stimuli.
        reported: names of the fitted parameters to report with the score.
        warnings: function from the reported parameters, by name, to warnings about them.

    Example:
        >>> from bsjax.metrics import NeuronToNeuron
        >>> NeuronToNeuron().traits.fits_targets_alone, NeuronToNeuron().traits.depends_on
        (True, 'features')
    """

    depends_on: DependsOn = "features"
    fits_targets_alone: bool = False
    ignores_zero_features: bool = False
    ignores_zero_targets: bool = False
    ignores_means: bool = False
    least_features: int = 1
    least_training_stimuli: int = 1
    advice: Callable[[int, int], str] = lambda features, stimuli: "take more of them"
    reported: tuple[str, ...] = ()
    warnings: Callable[[MappingABC[str, np.ndarray]], list[str]] = lambda report: []

    def on_other_features(self, **reports: Any) -> "Traits":
        """Those of a mapping that fits this one to other features, without what is said of the features."""
        kept = ("fits_targets_alone", "ignores_zero_targets", "least_training_stimuli")
        return Traits(**{name: vars(self)[name] for name in kept}, **reports)


class Mapping(ABC):
    """A regression as pure functions. An instance holds only settings, preferably as a registered dataclass.

    In a dataclass registered with ``jax.tree_util.register_dataclass``, numbers such as a penalty are leaves: they can
    be traced, batched and differentiated without recompilation. Settings that determine shapes are static. A class that
    is not registered is static as a whole, and every change of a setting compiles a new program.

    A mapping must define four methods. ``prepare`` does the work that all folds share. ``embed`` transforms new stimuli
    to the coordinates chosen by ``prepare``: features, or similarities to the prepared stimuli where those are fewer.
    ``fit`` computes the parameters of every fold (leading axis: folds) from the prepared data, and ``predict`` applies
    them to embedded stimuli. ``prepared.embedding`` holds the coordinates of the prepared stimuli, so that a
    cross-validation does not compute them again. All other methods have defaults.

    Example:
        >>> from bsjax.metrics import PLS, Ridge
        >>> isinstance(Ridge(1.0), Mapping), isinstance(PLS(5), Mapping)
        (True, True)
    """

    @abstractmethod
    def prepare(self, x: Features, y: Targets) -> Any:
        """Does the work that all folds share; the result has an attribute ``embedding`` of shape ``(n, d)``."""

    @abstractmethod
    def embed(self, prepared: Any, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of ``prepared.embedding``."""

    @abstractmethod
    def fit(self, prepared: Any, held_out: HeldOut, held_out_mask: HeldOutMask) -> Any:
        """Parameters of every fold, fitted on all stimuli except its held-out ones."""

    @abstractmethod
    def predict(self, params: Any, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """Predicted targets of the embedded stimuli of every fold, up to a constant per fold and target.

        Correlations do not depend on the constant, and adding it would cost precision.
        """

    @property
    def traits(self) -> Traits:
        """Properties that decide how the mapping may be run."""
        return Traits()

    def interpolates(self, features: int, stimuli: int) -> bool:
        """Whether it fits any training targets exactly, for these numbers of features and training stimuli."""
        return False

    def predict_held_out(
        self, prepared: Any, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> Float[Array, "folds h q"]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant; padded rows are undefined.

        Override this if held-out predictions are cheaper than fitting the parameters of every fold.
        """
        return self.predict(self.fit(prepared, held_out, held_out_mask), prepared.embedding[held_out])

    def cross_predict(
        self, x: Features, y: Targets, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[Float[Array, "folds h q"], Report]:
        """Predicted targets of the held-out stimuli of every fold, see ``predict_held_out``, and a report.

        The report holds the parameters that ``traits.reported`` names, and what is known of the features. Override this
        if both are cheaper than ``prepare`` and ``fit``.
        """
        prepared, reported = self.prepare(x, y), self.traits.reported
        about = of_features(self.gram(prepared), len(held_out))
        if not reported:
            return self.predict_held_out(prepared, held_out, held_out_mask), about
        params = self.fit(prepared, held_out, held_out_mask)
        predicted = self.predict(params, prepared.embedding[held_out])
        return predicted, {name: getattr(params, name) for name in reported} | about

    def predict_split(self, x: Features, y: Targets, new: Float[Array, "m p"]) -> tuple[Float[Array, "m q"], Report]:
        """Predicted targets of new stimuli, up to a constant, and a report as of ``cross_predict``."""
        prepared, (held_out, mask, *_) = self.prepare(x, y), no_folds()
        params = self.fit(prepared, jnp.asarray(held_out), jnp.asarray(mask))
        predicted = self.predict(params, self.embed(prepared, new)[None])
        report = {name: getattr(params, name)[0] for name in self.traits.reported}
        return predicted[0], report | of_features(self.gram(prepared), 1)

    def gram(self, prepared: Any) -> Float[Array, "d d"] | None:
        """The inner products of centred stimuli or features that ``prepare`` computed; None if it computes none."""
        return None

    @property
    def bounds_weights(self) -> bool:
        """Whether the mapping implements ``weights_within``."""
        return type(self).weights_within is not Mapping.weights_within

    def weights_within(
        self, x: Features, y: Targets, stimuli: Scalar, working: str
    ) -> tuple[Float[Array, "p q"], Float[Array, " q"]]:
        """Weights fitted in the dtype ``working``, and upper bounds of their distance from the exact ones, by target.

        Optional. Features and targets are centred, in float64, with rows of zeros for stimuli that are not among the
        training ``stimuli``. The bound is infinite or NaN where nothing is known.
        """
        raise NotImplementedError(f"{type(self).__name__} does not bound the error of its weights")

    @property
    def takes_weights(self) -> bool:
        """Whether the mapping implements ``predict_weighted``."""
        return type(self).predict_weighted is not Mapping.predict_weighted

    def predict_weighted(
        self, gram: Float[Array, "n n"], y: Targets, weights: PerStimulus, held_out: HeldOut, held_out_mask: HeldOutMask
    ) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
        """Predicted targets of held-out stimuli with weighted training stimuli, and whether they are accurate.

        Optional. It fits a bootstrap draw faster than copies of stimuli do, from the inner products between stimuli
        where features outnumber them. If the result is not accurate, the caller fits copies instead.
        """
        raise NotImplementedError(f"{type(self).__name__} does not support weights of stimuli")


class LinearMapping(Mapping):
    """The base class of mappings whose parameters hold ``weights`` of centred features, or of coordinates of theirs."""

    def embed(self, prepared: Any, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli as features less the means of those that were prepared."""
        return x - prepared.centred.x_mean

    def predict(self, params: Any, embedded: Embedded) -> Predicted:
        """Predicted targets of embedded stimuli, without the intercept."""
        return embedded @ params.weights


class Weights(NamedTuple):
    """Weights of every fold."""

    weights: Float[Array, "folds d q"]


def of_features(gram: Float[Array, "d d"] | None, folds: int) -> Report:
    """The effective dimensionality of the features, repeated for each fold, if their Gram matrix is known."""
    return {} if gram is None else {EFFECTIVE_DIMENSIONALITY: jnp.full(folds, participation_ratio(gram))}


Kind = TypeVar("Kind", bound=type[Any])


@dataclass_transform(frozen_default=True)
def with_leaves(*names: str) -> Callable[[Kind], Kind]:
    """Makes a class a frozen dataclass whose fields of these names are leaves, which JAX traces; others are static."""

    def made(kind: Kind) -> Kind:
        settings: Any = dataclass(frozen=True)(kind)
        static = [each.name for each in fields(settings) if each.name not in names]
        return jax.tree_util.register_dataclass(settings, list(names), static)

    return made


@dataclass_transform(frozen_default=True)
def with_penalties(kind: Kind) -> Kind:
    """As :func:`with_leaves`, for a class with ``alphas``, a sequence of penalties: all are one leaf."""
    make: Any = dataclass(frozen=True)(kind)
    others = [each.name for each in fields(make) if each.name != "alphas"]

    def flattened(mapping: Any) -> tuple[tuple[Any], tuple[Any, ...]]:
        settings = vars(mapping)
        penalties = settings["alphas"]
        array = np.asarray(penalties, float) if isinstance(penalties, tuple) else penalties
        return (array,), tuple(settings[name] for name in others)

    def made(fixed: tuple[Any, ...], leaves: tuple[Any]) -> Any:
        return make(alphas=leaves[0], **dict(zip(others, fixed, strict=True)))

    jax.tree_util.register_pytree_node(make, flattened, made)
    return make
