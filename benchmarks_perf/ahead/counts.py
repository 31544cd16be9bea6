"""What a compiled program does, counted in its text: operations, bytes, kernels, steps, and the time they must take.

Every kernel is a roofline of its own: the greater of its operations by the device's rate and its bytes by that of the
memory, and what launching it takes. Loops count as often as they run. Of a conditional the branch that takes less time
counts, which is what data without degeneracies take; what only the other one has is listed apart. A loop whose length
the data decide counts as one turn, and is said to be one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from .devices import Device
from .operations import is_free, is_product, precision, work
from .program_text import Computation, Instruction, parsed

_CALLBACK = re.compile("callback|host_compute|xla_ffi_python", re.IGNORECASE)
_DECOMPOSITION = re.compile(r"syevd|gesvd|Eigh|Jacobi", re.IGNORECASE)
_CALLS = ("call", "async-start")
# What a loop's condition sees of its state, and the types of what only counts.
_STATE, _COUNTERS = "get-tuple-element", {"s32", "u32", "s64", "u64"}


@dataclass(frozen=True)
class Cost:
    """What a part of a program costs.

    Attributes:
        seconds: that it takes at the least on the device.
        products: floating-point operations of matrix products and factorisations.
        elements: operations on single numbers.
        bytes: read from the main memory and written to it.
        launches: of kernels.
        reads: how often the host has to read a value before it goes on.
        steps: turns of loops, one after the other.
        cycles: estimated by the compiler, where it says so.
    """

    seconds: float = 0.0
    products: float = 0.0
    elements: float = 0.0
    bytes: float = 0.0
    launches: float = 0.0
    reads: float = 0.0
    steps: float = 0.0
    cycles: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(mine + theirs for mine, theirs in zip(self.numbers(), other.numbers(), strict=True)))

    def times(self, count: float) -> "Cost":
        """So many times, one after the other."""
        return Cost(*(count * number for number in self.numbers()))

    def numbers(self) -> list[float]:
        """All of them in their order."""
        return list(vars(self).values())


@dataclass(frozen=True)
class Executed:
    """An instruction of a program, with how often it is executed, and how deep in loops.

    Attributes:
        one, within: the instruction, and the computation that it is in.
        times: how often; what stands in a branch that usual data do not take counts as if they took it.
        rare: whether it stands in such a branch.
        depth: how many loops it is in.
    """

    one: Instruction
    within: Computation
    times: float
    rare: bool
    depth: int


def counted(text: str, device: Device) -> dict[str, Any]:
    """Everything that is counted in a program.

    Args:
        text: of ``jax.stages.Compiled.as_text``.
        device: that it was compiled for.

    Returns:
        The fields of `Cost`; ``calls`` of libraries, and sorts; ``loops`` with their turns (None: the data decide it)
        and their kernels a turn; ``longest``: the operations of JAX that take most of the time; ``in_rare_branches``:
        sorts and decompositions that only a branch has that usual data do not take; ``callbacks``; ``has_float64``;
        ``precisions`` of the products.
    """
    computations, entry = parsed(text)
    program = _Program(computations, device)
    executed = list(program.executed(entry))
    all_instructions = [one for each in computations.values() for one in each.instructions.values()]
    calls, rare = _outstanding(executed, computations)
    return {
        **vars(program.cost(executed)),
        "calls": dict(calls),
        "loops": [program.loop(each) for each in executed if each.one.opcode == "while"],
        "longest": program.longest(executed),
        "in_rare_branches": {name: n for name, n in rare.items() if name == "sort" or _DECOMPOSITION.search(name)},
        "callbacks": sum(count for name, count in calls.items() if _CALLBACK.search(name)),
        "has_float64": any(array.dtype in ("f64", "c128") for one in all_instructions for array in one.arrays),
        "precisions": dict(_precisions(executed, computations)),
    }


class _Program:
    """What is executed of computations, and what it costs on a device."""

    def __init__(self, computations: Mapping[str, Computation], device: Device) -> None:
        self.computations, self.device = computations, device
        self.usual_branch = cache(self._usual_branch)

    def executed(self, name: str, times: float = 1.0, rare: bool = False, depth: int = 0) -> Iterator[Executed]:
        """All that does something, in the order of the text."""
        computation = self.computations[name]
        for one in computation.instructions.values():
            if is_free(one):
                continue
            yield Executed(one, computation, times, rare, depth)
            if one.opcode == "while":
                bodies = [*one.called("body"), *(one.called("condition") if one.known_turns is None else [])]
                for body in bodies:
                    yield from self.executed(body, times * (self.turns(one) or 1), rare, depth + 1)
            elif one.opcode == "conditional":
                for branch in _branches(one):
                    yield from self.executed(branch, times, rare or branch != self.usual_branch(one), depth)
            elif one.opcode in _CALLS:
                for attribute in ("to_apply", "calls", "called_computations"):
                    for body in one.called(attribute):
                        yield from self.executed(body, times, rare, depth)

    def cost(self, executed: Iterable[Executed]) -> Cost:
        """What all together cost that usual data take."""
        return sum((self.of_one(each).times(each.times) for each in executed if not each.rare), Cost())

    def of_one(self, each: Executed) -> Cost:
        """What an instruction costs once, without what it calls."""
        read = Cost(self.device.read_s, reads=float(self.device.read_s > 0))
        if each.one.opcode == "while":
            turn = Cost(steps=1.0) + (Cost() if each.one.known_turns is not None else read)
            return turn.times(self.turns(each.one) or 1)
        if each.one.opcode == "conditional":
            return read
        return Cost() if each.one.opcode in _CALLS else self._of_kernel(each.one, each.within)

    def _of_kernel(self, one: Instruction, within: Computation) -> Cost:
        fused = self.computations[one.called("calls")[0]] if one.opcode == "fusion" else None
        done = work(one, within, fused, self.device.by_digits_from)
        in_memory_s = done.bytes / self.device.memory_bytes_s
        computed_s = done.products / self.device.product_flops_s + done.elements / self.device.element_flops_s
        # The few numbers that a chip's own processor works on take next to nothing.
        on_scalars = all(not array.in_main_memory and array.size == 1 for array in one.arrays)
        launches = 0.0 if on_scalars else done.launches
        seconds = max(computed_s, in_memory_s) + launches * self.device.launch_s
        cycles = re.search(r'"estimated_cycles":"(\d+)"', one.attributes)
        cycles = float(cycles.group(1)) if cycles else 0.0
        return Cost(seconds, done.products, done.elements, done.bytes, launches, cycles=cycles)

    def turns(self, one: Instruction) -> int | None:
        """How often a loop runs: what it counts to, from zero; None where the data decide it.

        Of a batch the longest counts.
        """
        if one.known_turns is not None:
            return one.known_turns
        condition = self.computations[one.called("condition")[0]]
        seen = {array.dtype for i in condition.instructions.values() if i.opcode == _STATE for array in i.arrays}
        within = [
            condition,
            *(self.computations[n] for i in condition.instructions.values() for n in i.called("calls")),
        ]
        limits = [
            int(i.given)
            for computation in within
            for i in computation.instructions.values()
            if i.opcode == "constant" and i.arrays[0].dtype in _COUNTERS and i.given.isdigit()  # no array of constants
        ]
        most = max(limits, default=0)  # 0 where it counts down, from a number that is not in its condition
        return most if most and seen <= _COUNTERS else None

    def _usual_branch(self, one: Instruction) -> str:
        return min(_branches(one), key=lambda branch: self.cost(self.executed(branch)).seconds)

    def loop(self, each: Executed) -> dict[str, Any]:
        """What is told of a loop."""
        turn = self.cost(self.executed(each.one.called("body")[0]))
        return {"turns": self.turns(each.one), "launches": turn.launches, "depth": each.depth + 1, "rare": each.rare}

    def longest(self, executed: Iterable[Executed], most: int = 5) -> list[dict[str, Any]]:
        """What takes most of the time of a program, by the operation of JAX that it comes from."""
        costs: dict[str, Cost] = {}
        for each in executed:
            if not each.rare:
                what = f"{_origin(each.one)} {each.one.text('custom_call_target') or each.one.opcode}".strip()
                costs[what] = costs.get(what, Cost()) + self.of_one(each).times(each.times)
        ordered = sorted(costs.items(), key=lambda item: -item[1].seconds)[:most]
        return [{"what": what, "seconds": cost.seconds, "launches": cost.launches} for what, cost in ordered]


def _branches(one: Instruction) -> list[str]:
    """The computations of a conditional."""
    return one.called("branch_computations") or [*one.called("true_computation"), *one.called("false_computation")]


def _with_fused(
    executed: Iterable[Executed], computations: Mapping[str, Computation]
) -> Iterator[tuple[Instruction, Computation, bool]]:
    """All instructions, those within fusions included, with where they are and whether that is a rare branch."""
    for each in executed:
        yield each.one, each.within, each.rare
        if each.one.opcode == "fusion":
            fused = computations[each.one.called("calls")[0]]
            yield from ((one, fused, each.rare) for one in fused.instructions.values())


def _outstanding(
    executed: Iterable[Executed], computations: Mapping[str, Computation]
) -> tuple[Counter[str], Counter[str]]:
    """Calls of libraries and sorts, and those of them in rare branches."""
    calls: Counter[str] = Counter()
    in_rare_branches: Counter[str] = Counter()
    for one, _, rare in _with_fused(executed, computations):
        name = "sort" if one.opcode == "sort" else one.text("custom_call_target")
        if name and not is_free(one) and not is_product(one):
            calls[name] += 1
            in_rare_branches[name] += rare
    return calls, +in_rare_branches


def _precisions(executed: Iterable[Executed], computations: Mapping[str, Computation]) -> Counter[str]:
    found = _with_fused(executed, computations)
    return Counter(precision(one, within) for one, within, _ in found if is_product(one))


def _origin(one: Instruction) -> str:
    """The operation of JAX that an instruction comes from, without what is the same for all."""
    named = one.text("op_name")
    return "/".join(part for part in named.split("/") if part not in ("body", "closed_call") and "(" not in part)
