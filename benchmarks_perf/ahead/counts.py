"""What a compiled program does, counted in its text: operations, bytes, kernels, steps, and the time they must take.

Every kernel is a roofline of its own: the greater of its operations by the device's rate and its bytes by that of the
memory, and what launching it takes. Loops count as often as they run. Of a conditional the branch that takes less time
counts, which is what data without degeneracies take; what only the other one has is listed apart. A loop whose length
the data decide counts as one turn, and is said to be one.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from .devices import Device
from .operations import is_free, is_product, precision, work
from .program_text import Computation, Instruction, parsed

_CALLBACK = re.compile("callback|host_compute|xla_ffi_python", re.IGNORECASE)
_DECOMPOSITION = re.compile(r"syevd|gesvd|Eigh|Jacobi", re.IGNORECASE)
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


@dataclass
class Found:
    """What stands out in a program, each with how often it is there."""

    calls: Counter[str] = field(default_factory=Counter)
    in_rare_branches: Counter[str] = field(default_factory=Counter)
    loops: list[dict[str, Any]] = field(default_factory=list)
    precisions: Counter[str] = field(default_factory=Counter)
    has_float64: bool = False

    @property
    def callbacks(self) -> int:
        """Calls of the host."""
        return sum(count for name, count in self.calls.items() if _CALLBACK.search(name))


def counted(text: str, device: Device) -> dict[str, Any]:
    """Everything that is counted in a program.

    Args:
        text: of ``jax.stages.Compiled.as_text``.
        device: that it was compiled for.

    Returns:
        The fields of `Cost`; ``calls`` of libraries, and sorts; ``loops`` with their turns (None: the data decide it) and
        their kernels a turn; ``longest``: the operations of JAX that take most of the time; ``in_rare_branches``: sorts
        and decompositions that only a branch has that usual data do not take; ``callbacks``; ``has_float64``;
        ``precisions`` of the products.
    """
    computations, entry = parsed(text)
    walk = _Walk(computations, device)
    total = walk.cost(entry)
    found = walk.found(entry)
    return {
        **vars(total),
        "calls": dict(found.calls),
        "loops": found.loops,
        "longest": walk.longest(entry),
        "in_rare_branches": dict(found.in_rare_branches),
        "callbacks": found.callbacks,
        "has_float64": found.has_float64,
        "precisions": dict(found.precisions),
    }


class _Walk:
    """Costs of computations, each counted once and used wherever it is called."""

    def __init__(self, computations: Mapping[str, Computation], device: Device) -> None:
        self.computations, self.device = computations, device
        self.cost = cache(self._cost)
        self._read = Cost(seconds=device.read_s, reads=float(device.read_s > 0))

    def _cost(self, name: str) -> Cost:
        computation = self.computations[name]
        return sum((self._of(one, computation) for one in computation.instructions.values()), Cost())

    def _of(self, one: Instruction, within: Computation) -> Cost:
        if is_free(one):
            return Cost()
        if one.opcode == "while":
            return self._of_loop(one)
        if one.opcode == "conditional":
            return self._read + self.usual_branch(one)[1]
        if one.opcode in ("call", "async-start"):
            return sum((self.cost(name) for name in self._bodies(one)), Cost())
        return self._of_kernel(one, within)

    def _bodies(self, one: Instruction) -> list[str]:
        return [name for attribute in ("to_apply", "calls", "called_computations") for name in one.called(attribute)]

    def _of_loop(self, one: Instruction) -> Cost:
        turn = self.cost(one.called("body")[0]) + Cost(steps=1.0)
        if one.known_turns is None:
            turn += self.cost(one.called("condition")[0]) + self._read
        return turn.times(self.turns(one) or 1)

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
            if i.opcode == "constant" and i.arrays[0].dtype in _COUNTERS
        ]
        return max(limits) if limits and seen <= _COUNTERS else None

    def branches(self, one: Instruction) -> list[str]:
        """The computations of a conditional."""
        several = one.called("branch_computations")
        return several or [*one.called("true_computation"), *one.called("false_computation")]

    def usual_branch(self, one: Instruction) -> tuple[str, Cost]:
        """The one that takes the least time, and what it costs."""
        return min(((name, self.cost(name)) for name in self.branches(one)), key=lambda branch: branch[1].seconds)

    def _of_kernel(self, one: Instruction, within: Computation) -> Cost:
        done = work(one, within, self.computations[one.called("calls")[0]] if one.opcode == "fusion" else None)
        in_memory_s = done.bytes / self.device.memory_bytes_s
        computed_s = done.products / self.device.product_flops_s + done.elements / self.device.element_flops_s
        # The few numbers that a chip's own processor works on take next to nothing.
        on_scalars = all(not array.in_main_memory and array.size == 1 for array in one.arrays)
        launches = 0.0 if on_scalars else done.launches
        seconds = max(computed_s, in_memory_s) + launches * self.device.launch_s
        cycles = re.search(r'"estimated_cycles":"(\d+)"', one.attributes)
        cycles = float(cycles.group(1)) if cycles else 0.0
        return Cost(seconds, done.products, done.elements, done.bytes, launches, cycles=cycles)

    def longest(self, entry: str, most: int = 5) -> list[dict[str, Any]]:
        """What takes most of the time of a program, by the operation of JAX that it comes from."""
        costs: dict[str, Cost] = {}
        self._add_costs(entry, 1.0, costs)
        ordered = sorted(costs.items(), key=lambda item: -item[1].seconds)[:most]
        return [{"what": what, "seconds": cost.seconds, "launches": cost.launches} for what, cost in ordered]

    def _add_costs(self, name: str, times: float, costs: dict[str, Cost]) -> None:
        computation = self.computations[name]
        for one in computation.instructions.values():
            if is_free(one):
                continue
            if one.opcode == "while":
                self._add_costs(one.called("body")[0], times * (self.turns(one) or 1), costs)
            elif one.opcode == "conditional":
                self._add_costs(self.usual_branch(one)[0], times, costs)
            elif one.opcode in ("call", "async-start"):
                for body in self._bodies(one):
                    self._add_costs(body, times, costs)
            else:
                what = " ".join(filter(None, (_origin(one), one.text("custom_call_target") or one.opcode)))
                costs[what] = costs.get(what, Cost()) + self._of_kernel(one, computation).times(times)

    def found(self, name: str) -> Found:
        """What stands out in a computation and in all that it calls."""
        found = Found()
        for computation in self.computations.values():
            for one in computation.instructions.values():
                found.has_float64 |= any(array.dtype in ("f64", "c128") for array in one.arrays)
        self._look(name, found, rare=False, nested=1)
        return found

    def _look(self, name: str, found: Found, *, rare: bool, nested: int) -> None:
        for one in self.computations[name].instructions.values():
            target = one.text("custom_call_target")
            if target and not is_free(one) and not is_product(one):
                found.calls[target] += 1
            is_sort = one.opcode == "sort"
            if is_sort:
                found.calls["sort"] += 1
            if rare and (is_sort or _DECOMPOSITION.search(target)):
                found.in_rare_branches[target or "sort"] += 1
            if is_product(one):
                found.precisions[precision(one, self.computations[name])] += 1
            if one.opcode == "while":
                body = one.called("body")[0]
                turn = self.cost(body)
                found.loops.append({"turns": self.turns(one), "launches": turn.launches, "depth": nested, "rare": rare})
                self._look(body, found, rare=rare, nested=nested + 1)
            elif one.opcode == "conditional":
                usual = self.usual_branch(one)[0]
                for branch in self.branches(one):
                    self._look(branch, found, rare=rare or branch != usual, nested=nested)
            elif one.opcode in ("fusion", "call", "async-start"):
                for body in self._bodies(one):
                    self._look(body, found, rare=rare, nested=nested)


def _origin(one: Instruction) -> str:
    """The operation of JAX that an instruction comes from, without what is the same for all."""
    named = one.text("op_name")
    return "/".join(part for part in named.split("/") if part not in ("body", "closed_call") and "(" not in part)
