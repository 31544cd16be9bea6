"""A compiled program as XLA writes it: computations, and the instructions of each with what they read."""

import json
import math
import re
from dataclasses import dataclass
from functools import cached_property

_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")
_ARRAY = re.compile(r"(pred|bf16|[a-z]\d+(?:e\d+m\d+\w*)?)\[([\d,]*)\](\{[^}]*\})?")
_NAME = re.compile(r"%([\w.\-]+)")
_BITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Array:
    """Type and shape of an array, and whether it lies in the main memory of the device."""

    dtype: str
    shape: tuple[int, ...]
    in_main_memory: bool

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> float:
        """That it takes of the main memory."""
        bits = _BITS.search(self.dtype)
        return self.size * (int(bits.group()) / 8 if bits else 1) if self.in_main_memory else 0.0


@dataclass(frozen=True)
class Instruction:
    """One line of a computation; ``given`` is what stands in its parentheses: names of operands, or a number."""

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    given: str
    attributes: str

    def called(self, attribute: str) -> list[str]:
        """The computations that an attribute names, e.g. ``body``."""
        found = re.search(rf"\b{attribute}=(\{{[^}}]*\}}|%[\w.\-]+)", self.attributes)
        return _NAME.findall(found.group(1)) if found else []

    def numbers(self, attribute: str) -> list[int]:
        """The numbers in braces of an attribute, e.g. ``lhs_contracting_dims``."""
        found = re.search(rf"\b{attribute}=\{{([\d,]*)\}}", self.attributes)
        return [int(number) for number in found.group(1).split(",") if number] if found else []

    def text(self, attribute: str) -> str:
        """An attribute without quotation marks or spaces, "" where it is not there."""
        found = re.search(rf"\b{attribute}=\"?([^\s,\"]+)", self.attributes)
        return found.group(1) if found else ""

    @cached_property
    def known_turns(self) -> int | None:
        """How often a loop runs, where the compiler says so."""
        found = re.search(r'"known_trip_count":(\{[^}]*\})', self.attributes)
        return int(json.loads(found.group(1))["n"]) if found else None


@dataclass(frozen=True)
class Computation:
    """Instructions in their order; the last one gives the result."""

    name: str
    instructions: dict[str, Instruction]
    root: str


def parsed(text: str) -> tuple[dict[str, Computation], str]:
    """All computations by name, and the name of that which is the program.

    Args:
        text: of ``jax.stages.Compiled.as_text``.

    Raises:
        ValueError: it is no program.

    Examples:
        >>> computations, entry = parsed('''
        ... ENTRY %main (x: f32[2,3]) -> f32[3] {
        ...   %x = f32[2,3]{1,0} parameter(0)
        ...   ROOT %sum = f32[3]{0:T(128)S(1)} reduce(%x), dimensions={0}, to_apply=%add
        ... }
        ... ''')
        >>> total = computations[entry].instructions["sum"]
        >>> total.opcode, total.operands, total.numbers("dimensions"), total.called("to_apply"), total.arrays[0].bytes
        ('reduce', ('x',), [0], ['add'], 0.0)
    """
    computations: dict[str, Computation] = {}
    entry, name, lines, root = "", "", {}, ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            name, lines, root = header.group(2), {}, ""
            entry = name if header.group(1) else entry
        elif line.startswith("}"):
            computations[name] = Computation(name, lines, root)
        elif found := _INSTRUCTION.match(line):
            instruction = _instruction(found.group(2), line[found.end() :])
            lines[instruction.name] = instruction
            root = instruction.name if found.group(1) else root
    if not entry:
        raise ValueError("there is no entry: this is not the text of a compiled program")
    return computations, entry


def _instruction(name: str, rest: str) -> Instruction:
    end = _closing(rest) if rest.startswith("(") else rest.index(" ")
    kind, rest = rest[:end], rest[end:].lstrip()
    opcode, rest = rest.split("(", 1)
    end = _closing(f"({rest}") - 1
    given = rest[: end - 1]
    return Instruction(name, opcode.strip(), arrays_in(kind), tuple(_NAME.findall(given)), given, rest[end:])


def arrays_in(kind: str) -> tuple[Array, ...]:
    """The arrays of a type, which may be a tuple; a layout with ``S(1)`` and the like lies in a memory of the chip."""
    return tuple(
        Array(dtype, tuple(int(n) for n in shape.split(",") if n), not re.search(r"S\([1-9]", layout))
        for dtype, shape, layout in _ARRAY.findall(kind)
    )


def _closing(text: str) -> int:
    """Where the parenthesis that a text begins with is closed."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return at + 1
    raise ValueError(f"a parenthesis is not closed in {text[:80]}")
