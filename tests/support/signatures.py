"""The signatures of choices, by the names that they are published under."""

from bsjax.labelled.behaviour.choice_signatures import SIGNATURES

KINDS = {name.capitalize(): kind for name, kind in SIGNATURES.items()}
