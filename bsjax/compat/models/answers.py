"""Order of the dimensions of behaviour, which differs between bsjax and Brain-Score."""

from typing import Any

from bsjax.data import BehavioralAssembly

_CHOICE = "choice"


def in_order_of_plugins(answers: Any) -> Any:
    """Transpose labels and odd-one-out choices to ``(choice, presentation)``; probabilities are unchanged."""
    single = isinstance(answers, BehavioralAssembly) and _CHOICE in answers.dims and _CHOICE not in answers.coords
    return answers.transpose(_CHOICE, ...) if single else answers


def in_order_of_bsjax(answers: Any) -> Any:
    """Transpose behaviour to ``(presentation, choice)``."""
    behaviour = isinstance(answers, BehavioralAssembly) and set(answers.dims) == {"presentation", _CHOICE}
    return answers.transpose("presentation", _CHOICE) if behaviour else answers
