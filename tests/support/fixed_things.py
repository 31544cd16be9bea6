"""Ten things whose identities are known, on every Python: ``python -m tests.support.fixed_things`` prints them."""

import enum
import functools
import json
import math
from dataclasses import dataclass, field

from bsjax.core.identity.values import identity_of

GAIN = {"gain": 2.0, "names": {"b", "a"}}


def scaled(image):
    """What is said here does not count."""
    return [pixel * GAIN["gain"] for pixel in image]  # nor here


def nested(image, *, power=2):
    def inner(pixel):
        return math.pow(pixel, power) + sum(scaled(image))

    return list(map(inner, image))


def closing(table):
    return lambda image: [table["bias"] + pixel for pixel in image]


class Mode(enum.Enum):
    NEAREST = 1
    LINEAR = "two"


@dataclass(frozen=True)
class Resize:
    size: int = 8
    modes: list = field(default_factory=lambda: [Mode.LINEAR])

    def __call__(self, image):
        return scaled(image)[: self.size]


class Model(Resize):
    layers = ("conv1", "conv2")

    @property
    def last(self):
        return self.layers[-1]

    @staticmethod
    def twice(image):
        return scaled(scaled(image))

    def __call__(self, image):
        return super().__call__(self.twice(image))


THINGS = {
    "values": {"a": [1, 1.0, True, None, "é", b"x", 2j], "b": ({1, 2}, frozenset("ab"), -0.0)},
    "function": scaled,
    "function of functions": nested,
    "closure": closing({"bias": 1.5}),
    "partial": functools.partial(nested, power=3),
    "member": Mode.NEAREST,
    "object": Resize(6),
    "class": Model,
    "method": Model(3).__call__,
    "standard library": [math.sqrt, json.dumps, functools.reduce],
}

if __name__ == "__main__":
    print(json.dumps({name: identity_of(thing) for name, thing in THINGS.items()}, indent=4))
