"""What one instruction of a compiled program computes and moves."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .program_text import Array, Computation, Instruction

# Names for what is there already, or other views of it.
_FREE = {
    *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier", "domain"),
    *("partition-id", "replica-id", "copy-done", "async-done", "slice-done", "add-dependency"),
}
_FREE_CALLS = {
    *("AllocateBuffer", "ConcatBitcast", "AssumeGatherIndicesInBound", "GatherScatterIndicesBitpacked"),
    *("Sharding", "SPMDFullToShardShape", "annotate_device_placement", "LayoutConstraint"),
}
_BITS_32 = {"s32", "u32", "f32"}
_MOVES = {"broadcast", "reshape", "transpose", "slice", "concatenate", "pad", "reverse", "iota", "copy", "convert"}
_PRODUCT = re.compile(r"cublas.*(gemm|matmul)")

# Libraries work on so many columns at a time, each time with so many kernels.
_PANEL, _KERNELS_A_PANEL = 32, 3
# A sort by comparators merges within the on-chip memory up to so many numbers.
_SORTED_ON_CHIP = 2**11
# One by digits takes them eight bits at a time. It counts them all first, reads what XLA has made the keys of, and has
# some kernels more than passes, each of which does about so many operations a number.
_DIGIT_BITS, _DIGIT_OPERATIONS, _KERNELS_MORE = 8, 10, 4


@dataclass(frozen=True)
class Work:
    """What a kernel does: operations of products and on single numbers, bytes of the main memory, and launches."""

    products: float = 0.0
    elements: float = 0.0
    bytes: float = 0.0
    launches: float = 0.0


def is_free(one: Instruction) -> bool:
    """Whether an instruction does nothing when the program runs."""
    return one.opcode in _FREE or one.text("custom_call_target") in _FREE_CALLS


def is_product(one: Instruction) -> bool:
    """Whether it is a matrix product, of the compiler's own or of a library."""
    return one.opcode in ("dot", "convolution") or bool(_PRODUCT.search(one.text("custom_call_target")))


def precision(one: Instruction, within: Computation) -> str:
    """That of a product of float32, or the types of what it multiplies."""
    dtypes = {_operand(one, within, at).dtype for at in (0, 1)}
    if dtypes != {"f32"}:
        return " by ".join(sorted(dtypes))
    asked = _braces(one.attributes, "operand_precision").replace(" ", "")
    return asked or ",".join(re.findall(r'"(HIGHEST|HIGH)"', one.attributes)).lower() or "default"


def work(
    one: Instruction, within: Computation, fused: Computation | None = None, by_digits_from: float | None = None
) -> Work:
    """What an instruction does.

    Args:
        one: neither a loop, a conditional nor a call.
        within: the computation that it is in.
        fused: the computation that it stands for, if it is a fusion.
        by_digits_from: as of `devices.Device`.
    """
    operands = [within.instructions[name] for name in one.operands]
    if fused is not None:
        counts = [_operations(inner, fused, by_digits_from) for inner in fused.instructions.values()]
        products, elements = sum(count.products for count in counts), sum(count.elements for count in counts)
        moved, kernels = _moved_by_fusion(one, operands, fused), 1.0
        for inner, count in zip(fused.instructions.values(), counts, strict=True):
            if inner.opcode == "sort":  # one by itself, whose keys are made as they are read
                moved, kernels = moved + (count.passes - 1) * 2 * _bytes(inner), count.kernels
        return Work(products, elements, moved, kernels)
    count = _operations(one, within, by_digits_from)
    moved = count.passes * _moved(one, within, operands)
    return Work(count.products, count.elements, moved, 0.0 if one.opcode == "copy-start" else count.kernels)


class _Operations(NamedTuple):
    """Of products and on single numbers; how often the operands are gone through, and by how many kernels."""

    products: float = 0.0
    elements: float = 0.0
    passes: float = 1.0
    kernels: float = 1.0


def _operations(one: Instruction, within: Computation, by_digits_from: float | None) -> _Operations:
    size = float(sum(array.size for array in one.arrays))
    if one.opcode in _FREE:
        return _Operations(kernels=0.0)
    if one.opcode == "dot":
        inner = _operand(one, within, 0).shape
        return _Operations(2 * size * math.prod(inner[axis] for axis in one.numbers("lhs_contracting_dims")))
    if one.opcode == "convolution":
        return _Operations(_convolved(one, within))
    if one.opcode == "reduce":
        return _Operations(elements=float(_operand(one, within, 0).size))
    if one.opcode == "reduce-window":
        window = math.prod(int(n) for n in one.text("window").removeprefix("{size=").split("x") if n.isdigit())
        return _Operations(elements=size * max(1.0, math.log2(max(window, 1))))
    if one.opcode == "sort":
        return _sorted_by_digits(one) if _is_by_digits(one, by_digits_from) else _sorted(one)
    if one.opcode == "custom-call":
        return _of_library(one, within)
    return _Operations(elements=0.0 if one.opcode in _MOVES else size)


def _sorted(one: Instruction) -> _Operations:
    """By merges of powers of two (a bitonic network), as XLA writes it."""
    axis = (one.numbers("dimensions") or [0])[0]
    n = one.arrays[0].shape[axis] if one.arrays[0].shape else 1
    levels = max(1, math.ceil(math.log2(max(n, 2))))
    stages = levels * (levels + 1) / 2
    beyond = range(math.ceil(math.log2(_SORTED_ON_CHIP)) + 1, levels + 1)
    launches = float(1 + sum(level - math.log2(_SORTED_ON_CHIP) + 1 for level in beyond))
    return _Operations(0.0, stages * sum(array.size for array in one.arrays), launches, launches)


def _is_by_digits(one: Instruction, least: float | None) -> bool:
    """Whether XLA leaves a sort to NVIDIA's library where the device is: one vector of 32 bits and at most one other.

    Where there is no device, it cannot ask the library for the memory that it needs, and does not.
    """
    *others, n = one.arrays[0].shape or (1,)
    last = (one.numbers("dimensions") or [0])[0] == len(others)
    alone = last and math.prod(others) == 1 and least is not None and n > least
    return alone and len(one.arrays) <= 2 and one.arrays[0].dtype in _BITS_32


def _sorted_by_digits(one: Instruction) -> _Operations:
    passes = 32 / _DIGIT_BITS
    elements = _DIGIT_OPERATIONS * passes * one.arrays[0].size
    return _Operations(0.0, float(elements), passes + 1, passes + _KERNELS_MORE)


def _of_library(one: Instruction, within: Computation) -> _Operations:
    """Products, and factorisations by the usual counts: ``n`` columns in panels, one after the other."""
    target = one.text("custom_call_target")
    shapes = [_operand(one, within, i).shape for i in range(len(one.operands))]
    if _PRODUCT.search(target):
        contracted = re.search(r'"lhs_contracting_dimensions":\[([^\]]*)\]', one.attributes)
        axes = [int(axis) for axis in re.findall(r"\d+", contracted.group(1))] if contracted else []
        return _Operations(2.0 * one.arrays[0].size * math.prod(shapes[0][axis] for axis in axes))
    if not shapes or len(shapes[0]) < 2:
        return _Operations()
    *batch, m, n = shapes[0]
    times, panels = math.prod(batch), max(1, n / _PANEL) * _KERNELS_A_PANEL
    if "potrf" in target or target == "Cholesky":
        return _Operations(times * n**3 / 3, kernels=panels)
    if "triangularSolve" in target or "trsm" in target:
        columns = math.prod(shapes[1]) / times / n
        return _Operations(times * columns * n * n, kernels=panels)
    if any(name in target for name in ("geqrf", "orgqr", "ormqr", "Qr", "Householder")):
        short = min(m, n)
        return _Operations(times * 2.0 * m * n * short, kernels=max(1, short / _PANEL) * _KERNELS_A_PANEL)
    if "syevd" in target or "Eigh" in target:
        # Reduced to tridiagonal form column by column, each of which goes through what is left of the matrix.
        return _Operations(times * 9.0 * n**3, passes=n / 3, kernels=2.0 * n)
    if "gesvd" in target:
        # Some ten sweeps of rotations of all pairs of columns, n / 2 at a time.
        return _Operations(times * 10 * 12.0 * m * n * n, passes=10.0 * n, kernels=10.0 * n)
    return _Operations()


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


def _moved(one: Instruction, within: Computation, operands: list[Instruction]) -> float:
    """Bytes of an instruction by itself: slices read no more than they give, updates write no more than is new."""
    if one.opcode in ("dynamic-slice", "slice", "gather"):
        return 2 * _bytes(one)
    if one.opcode == "dynamic-update-slice":
        return 2 * _operand(one, within, 1).bytes
    if one.opcode == "scatter":
        return 3 * _operand(one, within, 2).bytes
    if one.opcode == "copy-start":
        return max(array.bytes for array in one.arrays)
    made = one.arrays[0].bytes if is_product(one) else _bytes(one)  # libraries have room to work in beside
    return sum(_bytes(operand) for operand in operands) + made


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
