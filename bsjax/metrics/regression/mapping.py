"""Mappings from model features to neural targets, with the traits that say what may be done with one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.streaming import DependsOn


@dataclass(frozen=True)
class Traits:
    """What may be done with a mapping, as its attribute ``traits``; the defaults hold for any.

    Attributes:
        depends_on: what its predictions depend on of the features. If only on inner products between stimuli (with a
            free intercept), features that do not fit in memory are read in blocks.
        fits_targets_alone: whether each target is predicted without a look at the others, so that devices may share
            them out, and the neuroids of all subjects are fitted at once.
        ignores_zero_features: whether a feature of zeros changes no prediction, so that widths may be padded.
        ignores_zero_targets: whether a target of zeros changes no prediction of the others, and nothing reported.
        least_features, least_training_stimuli: fewer are refused.
        advice: what to do about fewer, from the numbers of features and training stimuli that there are.
        reported: the parameters that the fit has chosen and a user wants to see beside the score.
        warnings: what there is to say about the reported parameters, by name.

    Example:
        >>> from bsjax.metrics import NeuronToNeuron
        >>> NeuronToNeuron().traits.fits_targets_alone, NeuronToNeuron().traits.depends_on
        (True, 'features')
    """

    depends_on: DependsOn = "features"
    fits_targets_alone: bool = False
    ignores_zero_features: bool = False
    ignores_zero_targets: bool = False
    least_features: int = 1
    least_training_stimuli: int = 1
    advice: Callable[[int, int], str] = lambda features, stimuli: "take more of them"
    reported: tuple[str, ...] = ()
    warnings: Callable[[MappingABC[str, np.ndarray]], list[str]] = lambda report: []


class Mapping(ABC):
    """A regression as pure functions. An instance holds only its settings, and is best a registered dataclass.

    Numbers such as a penalty are then leaves, which may be traced, batched and differentiated, and of which a program
    takes any; what decides shapes is static (``jax.tree_util.register_dataclass``). One that is not registered is
    static as a whole, so that other settings take another program.

    ``prepare`` does the work that all folds share, ``fit`` makes the parameters of every fold from it (leading axis:
    folds), ``predict`` applies them. A fold is fitted on embedded rows and applied to embedded rows: ``embed`` brings
    new stimuli into the coordinates that ``prepare`` chose (features, or similarities to the stimuli where those are
    fewer), and ``prepared.embedding`` holds those of the stimuli it was given, so that a cross-validation embeds
    nothing twice. These four are what a mapping must define; all else has an answer that holds for any.

    Example:
        >>> from bsjax.metrics import PLS, Ridge
        >>> isinstance(Ridge(1.0), Mapping), isinstance(PLS(5), Mapping)
        (True, True)
    """

    @abstractmethod
    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Any:
        """The work that all folds share; has an attribute ``embedding`` of shape ``(n, d)``."""

    @abstractmethod
    def embed(self, prepared: Any, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of ``prepared.embedding``."""

    @abstractmethod
    def fit(self, prepared: Any, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]) -> Any:
        """Parameters of every fold, each fitted on all stimuli but its held-out ones."""

    @abstractmethod
    def predict(self, params: Any, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """Predicted targets of the embedded stimuli of every fold, up to a constant of each fold and target.

        What is constant over stimuli does not count in a correlation, and what varies would lose digits beside it.
        """

    @property
    def traits(self) -> Traits:
        """What may be done with it."""
        return Traits()

    def interpolates(self, features: int, stimuli: int) -> bool:
        """Whether with so many features and training stimuli it reproduces any training targets exactly."""
        return False

    def predict_held_out(
        self, prepared: Any, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> Float[Array, "folds h q"]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant; anything where padded.

        One that can tell them at less than the cost of fitting its folds, and forms no parameters, overrides this.
        """
        return self.predict(self.fit(prepared, held_out, held_out_mask), prepared.embedding[held_out])

    @property
    def takes_weights(self) -> bool:
        """Whether it has ``predict_weighted``."""
        return type(self).predict_weighted is not Mapping.predict_weighted

    def predict_weighted(
        self,
        gram: Float[Array, "n n"],
        y: Float[Array, "n q"],
        weights: Float[Array, " n"],
        held_out: Int[Array, "folds h"],
        held_out_mask: Bool[Array, "folds h"],
    ) -> tuple[Float[Array, "folds h q"], Bool[Array, ""]]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant, and whether they can be had.

        One that takes copies of a stimulus as one that counts so often, and so fits a draw in less time, has it, for
        inner products between more features than stimuli. What it cannot tell well is asked of a fit to copies.
        """
        raise NotImplementedError(f"{type(self).__name__} fits copies of a stimulus as they are")
