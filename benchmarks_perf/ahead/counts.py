"""What a compiled program does, counted in its text: operations, bytes, kernels, steps, and the time they must take.

Every kernel is a roofline of its own: the greater of its operations by the device's rate and its bytes by that of the
memory, and what launching it takes. Loops count as often as they run. Of a conditional the branch that takes less time
counts, which is what data without degeneracies take; what only the other one has is listed apart. A loop whose length
the data decide counts as one turn, and is said to be one.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from .devices import Device
from .program_text import Array, Computation, Instruction, parsed

# Names for what is there already, or other views of it.
_FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier", "domain"),
    *("partition-id", "replica-id", "copy-done", "async-done", "slice-done", "add-dependency"),
}
_FREE_CALLS = {
    *("AllocateBuffer", "ConcatBitcast", "AssumeGatherIndicesInBound", "GatherScatterIndicesBitpacked"),
    *("Sharding", "SPMDFullToShardShape", "annotate_device_placement", "LayoutConstraint"),
}
_MOVES = {"broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "reverse", "iota", "copy", "convert"}
_CALLBACK = re.compile("callback|host_compute|xla_ffi_python", re.IGNORECASE)
_PRODUCT = re.compile(r"cublas.*(gemm|matmul)")
_DECOMPOSITION = re.compile(r"syevd|gesvd|Eigh|Jacobi", re.IGNORECASE)

# Libraries work on so many columns at a time, each time with so many kernels.
_PANEL, _KERNELS_A_PANEL = 32, 3
# A sort by comparators merges within the on-chip memory up to so many numbers.
_SORTED_ON_CHIP = 2**11


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
        The fields of `Cost`; ``calls`` of libraries; ``loops`` with their length (None: the data decide it) and their
        kernels a turn; ``sorts``; ``in_rare_branches``: sorts and decompositions that only a branch not taken by usual
        data has; ``callbacks``; ``has_float64``; ``below_highest``: products of less than full precision.
    """
    computations, entry = parsed(text)
    walk = _Walk(computations, device)
    total = walk.cost(entry)
    found = walk.found(entry)
    return {
        **vars(total),
        "calls": dict(found.calls),
        "loops": found.loops,
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

    def _cost(self, name: str) -> Cost:
        computation = self.computations[name]
        return sum((self._of(one, computation) for one in computation.instructions.values()), Cost())

    def _of(self, one: Instruction, within: Computation) -> Cost:
        if one.opcode in _FREE or one.text("custom_call_target") in _FREE_CALLS:
            return Cost()
        if one.opcode == "while":
            return self._of_loop(one)
        if one.opcode == "conditional":
            read = Cost(seconds=self.device.read_s, reads=1.0)
            return read + self.usual_branch(one)[1]
        if one.opcode in ("call", "async-start"):
            return sum((self.cost(name) for name in self._bodies(one)), Cost())
        return self._of_kernel(one, within)

    def _bodies(self, one: Instruction) -> list[str]:
        return [name for attribute in ("to_apply", "calls", "called_computations") for name in one.called(attribute)]

    def _of_loop(self, one: Instruction) -> Cost:
        turn = self.cost(one.called("body")[0]) + Cost(steps=1.0)
        if one.known_turns is None:
            turn += self.cost(one.called("condition")[0]) + Cost(seconds=self.device.read_s, reads=1.0)
        return turn.times(self.turns(one) or 1)

    def turns(self, one: Instruction) -> int | None:
        """How often a loop runs: what it counts to, from zero; None where the data decide it."""
        if one.known_turns is not None:
            return one.known_turns
        condition = self.computations[one.called("condition")[0]]
        asked = condition.instructions[condition.root]
        if asked.opcode == "fusion":
            condition = self.computations[asked.called("calls")[0]]
            asked = condition.instructions[condition.root]
        if asked.opcode != "compare" or asked.text("direction") != "LT":
            return None
        last = condition.instructions[asked.operands[1]]
        return int(last.given) if last.opcode == "constant" else None

    def branches(self, one: Instruction) -> list[str]:
        """The computations of a conditional."""
        several = one.called("branch_computations")
        return several or [*one.called("true_computation"), *one.called("false_computation")]

    def usual_branch(self, one: Instruction) -> tuple[str, Cost]:
        """The one that takes the least time, and what it costs."""
        return min(((name, self.cost(name)) for name in self.branches(one)), key=lambda branch: branch[1].seconds)

    def _of_kernel(self, one: Instruction, within: Computation) -> Cost:
        fused = self.computations[one.called("calls")[0]] if one.opcode == "fusion" else None
        operands = [within.instructions[name] for name in one.operands]
        if fused is None:
            products, elements, passes, launches = _operations(one, within)
            made = one.arrays[0].bytes if _PRODUCT.search(one.text("custom_call_target")) else _bytes(one)
            moved = sum(array.bytes for operand in operands for array in operand.arrays) + made
            moved = passes * _touched(one, within, moved)
        else:
            counted = [_operations(inner, fused) for inner in fused.instructions.values()]
            products, elements = sum(c[0] for c in counted), sum(c[1] for c in counted)
            moved, launches = _moved_by_fusion(one, operands, fused), 1.0
        if one.opcode.startswith("copy-start"):  # it runs beside others
            return Cost(moved / self.device.memory_bytes_s, bytes=moved)
        on_scalars = all(not array.in_main_memory and array.size == 1 for array in one.arrays)
        launches = 0.0 if on_scalars else launches
        busy = max(
            products / self.device.product_flops_s + elements / self.device.element_flops_s,
            moved / self.device.memory_bytes_s,
        )
        cycles = re.search(r'"estimated_cycles":"(\d+)"', one.attributes)
        return Cost(
            busy + launches * self.device.launch_s,
            products,
            elements,
            moved,
            launches,
            cycles=float(cycles.group(1)) if cycles else 0.0,
        )

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
            is_product = one.opcode in ("dot", "convolution") or bool(_PRODUCT.search(target))
            if target and target not in _FREE_CALLS and not is_product:
                found.calls[target] += 1
            is_sort = one.opcode == "sort"
            if is_sort:
                found.calls["sort"] += 1
            if rare and (is_sort or _DECOMPOSITION.search(target)):
                found.in_rare_branches[target or "sort"] += 1
            if is_product:
                found.precisions[_precision(one, self.computations[name])] += 1
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


def _operations(one: Instruction, within: Computation) -> tuple[float, float, float, float]:
    """Of products and on single numbers; how often the operands are gone through, and by how many kernels."""
    size = float(sum(array.size for array in one.arrays))
    if one.opcode in _FREE:
        return 0.0, 0.0, 1.0, 0.0
    if one.opcode == "dot":
        inner = _operand(one, within, 0).shape
        return 2 * size * math.prod(inner[axis] for axis in one.numbers("lhs_contracting_dims")), 0.0, 1.0, 1.0
    if one.opcode == "convolution":
        return _convolved(one, within), 0.0, 1.0, 1.0
    if one.opcode == "reduce":
        return 0.0, float(_operand(one, within, 0).size), 1.0, 1.0
    if one.opcode == "reduce-window":
        window = math.prod(int(n) for n in one.text("window").removeprefix("{size=").split("x") if n.isdigit())
        return 0.0, size * max(1.0, math.log2(max(window, 1))), 1.0, 1.0
    if one.opcode == "sort":
        return _sorted(one)
    if one.opcode == "custom-call":
        return _of_library(one, within)
    return 0.0, 0.0 if one.opcode in _MOVES else size, 1.0, 1.0


def _sorted(one: Instruction) -> tuple[float, float, float, float]:
    """By merges of powers of two (a bitonic network), as XLA writes it."""
    axis = (one.numbers("dimensions") or [0])[0]
    n = one.arrays[0].shape[axis] if one.arrays[0].shape else 1
    levels = max(1, math.ceil(math.log2(max(n, 2))))
    stages = levels * (levels + 1) / 2
    beyond = range(math.ceil(math.log2(_SORTED_ON_CHIP)) + 1, levels + 1)
    launches = float(1 + sum(level - math.log2(_SORTED_ON_CHIP) + 1 for level in beyond))
    return 0.0, stages * sum(array.size for array in one.arrays), launches, launches


def _of_library(one: Instruction, within: Computation) -> tuple[float, float, float, float]:
    """Products, and factorisations by the usual counts: ``n`` columns in panels, one after the other."""
    target = one.text("custom_call_target")
    shapes = [_operand(one, within, i).shape for i in range(len(one.operands))]
    if _PRODUCT.search(target):
        contracted = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', one.attributes)
        axes = [int(axis) for axis in re.findall(r"\d+", contracted.group(1))] if contracted else []
        return 2.0 * one.arrays[0].size * math.prod(shapes[0][axis] for axis in axes), 0.0, 1.0, 1.0
    if not shapes or len(shapes[0]) < 2:
        return 0.0, 0.0, 1.0, 1.0
    *batch, m, n = shapes[0]
    times, panels = math.prod(batch), max(1, n / _PANEL) * _KERNELS_A_PANEL
    if "potrf" in target or target == "Cholesky":
        return times * n**3 / 3, 0.0, 1.0, panels
    if "triangularSolve" in target or "trsm" in target:
        columns = math.prod(shapes[1]) / times / n
        return times * columns * n * n, 0.0, 1.0, panels
    if any(name in target for name in ("geqrf", "orgqr", "ormqr", "Qr", "Householder")):
        short = min(m, n)
        return times * 2.0 * m * n * short, 0.0, 1.0, max(1, short / _PANEL) * _KERNELS_A_PANEL
    if "syevd" in target or "Eigh" in target:
        # Reduced to tridiagonal form column by column, each of which goes through what is left of the matrix.
        return times * 9.0 * n**3, 0.0, n / 3, 2.0 * n
    if "gesvd" in target:
        # Some ten sweeps of rotations of all pairs of columns, n / 2 at a time.
        return times * 10 * 12.0 * m * n * n, 0.0, 10.0 * n, 10.0 * n
    return 0.0, 0.0, 1.0, 1.0


def _operand(one: Instruction, within: Computation, at: int) -> Array:
    arrays = within.instructions[one.operands[at]].arrays
    return arrays[0] if arrays else Array("f32", (), True)


def _convolved(one: Instruction, within: Computation) -> float:
    """Products of a convolution; on TPUs all matrix products are such, of a batch by a window as wide as it."""
    left, right = (_operand(one, within, at).shape for at in (0, 1))
    labels = re.match(r"(\w+)_(\w+)->(\w+)", one.text("dim_labels"))
    if labels is None:
        return 0.0
    of_left, of_right, of_result = labels.groups()
    result = one.arrays[0].shape
    flops = 2.0 * result[of_result.index("b")] * result[of_result.index("f")] * right[of_right.index("i")]
    window = dict(re.findall(r"(\w+)=([\w_\-]+)", _braces(one.attributes, "window")))
    for at, label in enumerate(sorted(letter for letter in of_result if letter.isdigit())):
        size, out, there = right[of_right.index(label)], result[of_result.index(label)], left[of_left.index(label)]
        low = int(_part(window.get("pad", ""), at, "0_0").split("_")[0])
        stride, dilated, spread = (
            int(_part(window.get(name, ""), at, "1")) for name in ("stride", "lhs_dilate", "rhs_dilate")
        )
        place = np.arange(out)[:, None] * stride + np.arange(size)[None] * spread - low
        flops *= float(np.sum((place >= 0) & (place <= (there - 1) * dilated) & (place % dilated == 0)))
    return flops


def _part(joined: str, at: int, other: str) -> str:
    parts = joined.split("x") if joined else []
    return parts[at] if at < len(parts) else other


def _braces(attributes: str, name: str) -> str:
    found = re.search(rf"\b{name}=\{{([^}}]*)\}}", attributes)
    return found.group(1) if found else ""


def _bytes(one: Instruction) -> float:
    return sum(array.bytes for array in one.arrays)


def _touched(one: Instruction, within: Computation, moved: float) -> float:
    """Bytes of an instruction by itself: slices read no more than they give, updates write no more than is new."""
    if one.opcode in ("dynamic-slice", "slice", "gather"):
        return 2 * _bytes(one)
    if one.opcode == "dynamic-update-slice":
        return 2 * _operand(one, within, 1).bytes
    if one.opcode == "scatter":
        return 3 * _operand(one, within, 2).bytes
    if one.opcode == "copy-start":
        return max(array.bytes for array in one.arrays)
    return moved


def _moved_by_fusion(one: Instruction, operands: list[Instruction], fused: Computation) -> float:
    """Bytes that a fusion reads and writes: of what it takes slices from, the slices."""
    users: dict[str, list[Instruction]] = {}
    parameters: dict[int, str] = {}
    for inner in fused.instructions.values():
        if inner.opcode == "parameter":
            parameters[len(parameters)] = inner.name
        for name in inner.operands:
            users.setdefault(name, []).append(inner)
    moved = 0.0
    for name in parameters.values():
        whole = _bytes(fused.instructions[name])
        moved += min(whole, sum(_read_by(user, name, whole, users, fused) for user in users.get(name, [])))
    # What lies on the chip is so in the computation around it alone.
    outside = sum(_bytes(operand) for operand in operands)
    moved = min(moved, outside) if outside < sum(_bytes(fused.instructions[n]) for n in parameters.values()) else moved
    return moved + _written(one, fused)


def _read_by(
    user: Instruction, name: str, whole: float, users: Mapping[str, list[Instruction]], fused: Computation
) -> float:
    if user.opcode in ("bitcast", "reshape", "transpose") and user.name != fused.root:
        return sum(_read_by(later, user.name, whole, users, fused) for later in users.get(user.name, []))
    if user.operands[0] == name and user.opcode in ("dynamic-slice", "slice", "gather"):
        return _bytes_anywhere(user)
    if user.operands[0] == name and user.opcode == "dynamic-update-slice":
        return 0.0
    return whole


def _bytes_anywhere(one: Instruction) -> float:
    return sum(replace(array, in_main_memory=True).bytes for array in one.arrays)


def _written(one: Instruction, fused: Computation) -> float:
    root = fused.instructions[fused.root]
    roots = [fused.instructions[name] for name in root.operands] if root.opcode == "tuple" else [root]
    if len(roots) != len(one.arrays):
        return _bytes(one)
    written = 0.0
    for array, made in zip(one.arrays, roots, strict=True):
        while made.opcode in ("bitcast", "reshape") and made.operands:
            made = fused.instructions[made.operands[0]]
        if made.opcode == "dynamic-update-slice":
            update = _operand(made, fused, 1)
            written += min(array.bytes, replace(update, in_main_memory=array.in_main_memory).bytes)
        else:
            written += array.bytes
    return written


def _precision(one: Instruction, within: Computation) -> str:
    """That of a product of float32, or the type of what it multiplies."""
    dtypes = {_operand(one, within, at).dtype for at in (0, 1)}
    if dtypes != {"f32"}:
        return " by ".join(sorted(dtypes))
    asked = _braces(one.attributes, "operand_precision")
    asked = asked or ",".join(re.findall(r'"(HIGHEST|HIGH)"', one.attributes)).lower()
    return asked.replace(" ", "") or "default"
