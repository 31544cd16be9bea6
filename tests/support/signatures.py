"""The signatures of choices, by the names that they are published under."""

from bsjax.metrics.behaviour.choice_signatures import Signature

KINDS = {
    "I1": Signature(),
    "I1n": Signature(normalise=True),
    "I2": Signature(per_distractor=True),
    "I2n": Signature(per_distractor=True, normalise=True),
    "O1": Signature("object"),
    "O2": Signature("object", per_distractor=True),
}
