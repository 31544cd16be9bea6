"""What a regression is here: a mapping from model features to neural targets, fitted on all folds at once."""

from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Array, Bool, Float, Int


@runtime_checkable
class Mapping(Protocol):
    """A regression as pure functions. An instance holds only its settings, so that it can be a static argument of jit.

    ``prepare`` does the work that all folds share, ``fit`` makes the parameters of every fold from it (leading axis:
    folds), ``predict`` applies them. A fold is fitted on embedded rows and applied to embedded rows: ``embed`` brings
    new stimuli into the coordinates that ``prepare`` chose (features, or similarities to the stimuli where those are
    fewer), and ``prepared.embedding`` holds those of the stimuli it was given, so that a cross-validation embeds
    nothing twice. ``reported`` names the parameters that the fit has chosen and a user wants to see beside the score.
    """

    reported: ClassVar[tuple[str, ...]]

    def prepare(self, x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Any:
        """The work that all folds share; has an attribute ``embedding`` of shape ``(n, d)``."""
        ...

    def embed(self, prepared: Any, x: Float[Array, "m p"]) -> Float[Array, "m d"]:
        """New stimuli in the coordinates of ``prepared.embedding``."""
        ...

    def fit(self, prepared: Any, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]) -> Any:
        """Parameters of every fold, each fitted on all stimuli but its held-out ones."""
        ...

    def predict(self, params: Any, embedded: Float[Array, "folds m d"]) -> Float[Array, "folds m q"]:
        """Predicted targets of the embedded stimuli of every fold, up to a constant of each fold and target.

        What is constant over stimuli does not count in a correlation, and what varies would lose digits beside it.
        """
        ...


@runtime_checkable
class PredictsHeldOut(Protocol):
    """A mapping that tells what its folds predict for the stimuli they leave out at less than the cost of fitting them.

    A cross-validation that is tested on just those stimuli asks it for them, and forms no parameters.
    """

    def predict_held_out(
        self, prepared: Any, held_out: Int[Array, "folds h"], held_out_mask: Bool[Array, "folds h"]
    ) -> Float[Array, "folds h q"]:
        """Predicted targets of the held-out stimuli of every fold, up to a constant; anything where padded."""
        ...
