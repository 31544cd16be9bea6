"""Programs as they are handed to an accelerator's compiler, which need neither be here."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
from jax.extend.core import jaxprs_in_params

from bsjax.engine.programs.platforms import LOWERED_AS, traced_for

_PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")
_IN_FLOAT64 = re.compile(r"stablehlo\.(?!constant|convert)\w+.*\dxf64>.*")
_CALLBACK = re.compile("callback|host_call|ffi_python", re.IGNORECASE)


class Lowered(NamedTuple):
    """A program in XLA's input language.

    Attributes:
        text: of the whole program.
        in_branches: the primitives of JAX that stand in a branch, each with how often.
        shape: of its result; of the first, if there are several.
    """

    text: str
    in_branches: Counter[str]
    shape: tuple[int, ...]

    @property
    def calls(self) -> set[str]:
        """Functions of libraries that it calls."""
        return set(re.findall(r"custom_call @(\w+)", self.text))

    @property
    def callbacks(self) -> set[str]:
        """Calls of the host."""
        return {name for name in self.calls if _CALLBACK.search(name)}

    @property
    def products(self) -> list[str]:
        """Matrix products, one line each."""
        return [line.strip() for line in self.text.splitlines() if any(product in line for product in _PRODUCTS)]

    @property
    def below_full_precision(self) -> list[str]:
        """Matrix products that may lose digits."""
        return [line for line in self.products if "precision = [HIGHEST, HIGHEST]" not in line]

    @property
    def in_float64(self) -> list[str]:
        """Operations on arrays of float64; constants that are rounded to float32 at once are none."""
        return _IN_FLOAT64.findall(self.text)


def lowered(function: Callable[..., Any], shapes: Mapping[str, Any], platform: str) -> Lowered:
    """A function of arrays by name, lowered for a platform."""
    with traced_for(platform):
        traced = jax.jit(function).trace(shapes)
        text = traced.lower(lowering_platforms=LOWERED_AS[platform][:1]).as_text()
    in_branches = Counter(name for name, inside in _steps(traced.jaxpr.jaxpr, False) if inside)
    return Lowered(text, in_branches, jax.tree.leaves(traced.out_info)[0].shape)


def _steps(jaxpr: Any, in_branch: bool) -> Iterator[tuple[str, bool]]:
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        yield name, in_branch
        for inner in jaxprs_in_params(equation.params):
            yield from _steps(inner, in_branch or name == "cond")
