"""Counts in compiled programs: in one written by hand, and in one that XLA has compiled for the CPU here."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from benchmarks_perf.ahead.counts import counted
from benchmarks_perf.ahead.devices import DEVICES

DEVICE = replace(
    DEVICES["cuda"], product_flops_s=1e9, element_flops_s=1e30, memory_bytes_s=1e30, launch_s=1e-3, read_s=1e-2
)

PROGRAM = """
HloModule looped, is_scheduled=true

%fused_compare (a: s32[]) -> pred[] {
  %a = s32[] parameter(0)
  %five = s32[] constant(5)
  ROOT %less = pred[] compare(%a, %five), direction=LT
}

%few (c: (s32[], f32[10,20])) -> pred[] {
  %c = (s32[], f32[10,20]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  ROOT %asked = pred[] fusion(%i), kind=kLoop, calls=%fused_compare
}

%fused_slice (p0: f32[100,20], p1: s32[]) -> f32[1,20] {
  %p0 = f32[100,20]{1,0} parameter(0)
  %p1 = s32[] parameter(1)
  %zero = s32[] constant(0)
  %row = f32[1,20]{1,0} dynamic-slice(%p0, %p1, %zero), dynamic_slice_sizes={1,20}
  ROOT %twice = f32[1,20]{1,0} add(%row, %row)
}

%turn (t: (s32[], f32[10,20])) -> (s32[], f32[10,20]) {
  %t = (s32[], f32[10,20]{1,0}) parameter(0)
  %n = s32[] get-tuple-element(%t), index=0
  %left = f32[10,20]{1,0} get-tuple-element(%t), index=1
  %product = f32[10,10]{1,0} dot(%left, %left), lhs_contracting_dims={1}, rhs_contracting_dims={1}, \
operand_precision={highest,highest}
  ROOT %next = (s32[], f32[10,20]{1,0}) tuple(%n, %left)
}

%usual (u: f32[100,20]) -> f32[100,20] {
  %u = f32[100,20]{1,0} parameter(0)
  ROOT %copied = f32[100,20]{1,0} copy(%u)
}

%rare (r: f32[100,20]) -> f32[100,20] {
  %r = f32[100,20]{1,0} parameter(0)
  %ordered = f32[100,20]{1,0} sort(%r), dimensions={0}, is_stable=true, to_apply=%fused_compare
  %vectors = (f32[20,20]{1,0}, f32[20]{0}) custom-call(%r), custom_call_target="cusolver_syevd_ffi"
  ROOT %back = f32[100,20]{1,0} copy(%ordered)
}

ENTRY %main (x: f32[100,20], y: f32[10,20], p: pred[]) -> f32[100,20] {
  %x = f32[100,20]{1,0} parameter(0)
  %y = f32[10,20]{1,0} parameter(1)
  %p = pred[] parameter(2)
  %i0 = s32[] constant(0)
  %start = (s32[], f32[10,20]{1,0}) tuple(%i0, %y)
  %known = (s32[], f32[10,20]{1,0}) while(%start), condition=%few, body=%turn, \
backend_config={"known_trip_count":{"n":"3"}}
  %told = (s32[], f32[10,20]{1,0}) while(%known), condition=%few, body=%turn
  %sliced = f32[1,20]{1,0} fusion(%x, %i0), kind=kLoop, calls=%fused_slice
  ROOT %chosen = f32[100,20]{1,0} conditional(%p, %x, %x), true_computation=%rare, false_computation=%usual
}
"""


def test_loops_count_as_often_as_they_run_and_of_branches_the_cheaper():
    found = counted(PROGRAM, DEVICE)
    turns = 3 + 5
    assert found["products"] == turns * 2 * 10 * 10 * 20
    assert found["steps"] == turns
    # A loop whose length the compiler does not know asks before each turn, and a conditional once.
    assert found["launches"] == turns + 5 + 1 + 1
    assert found["reads"] == 5 + 1
    assert [(loop["turns"], loop["rare"]) for loop in found["loops"]] == [(3, False), (5, False)]
    assert found["in_rare_branches"] == {"sort": 1, "cusolver_syevd_ffi": 1}
    assert found["calls"] == {"sort": 1, "cusolver_syevd_ffi": 1}
    assert found["precisions"] == {"highest,highest": 2}
    assert found["seconds"] == pytest.approx(found["products"] / 1e9 + found["launches"] * 1e-3 + found["reads"] * 1e-2)
    assert not found["has_float64"] and not found["callbacks"]


def test_bytes_are_those_that_are_read_and_written():
    numbers = {
        "each product": 8 * (2 * 10 * 20 + 10 * 10),
        "the slice and what is made of it, and its place": 2 * 20 + 1,
        "the copy of the usual branch": 2 * 100 * 20,
        "whether to go on": 5 * 1,
    }
    # A comparison is one byte, everything else four.
    assert counted(PROGRAM, DEVICE)["bytes"] == 4 * sum(numbers.values()) + 5


@pytest.mark.parametrize(
    ("line", "flops"),
    [
        # A product of matrices, one of three of them, and a convolution proper, as TPUs have them.
        ("f32[8,4]{1,0} convolution(%x, %y), dim_labels=bf_io->bf", 2 * 8 * 4 * 16),
        ("f32[3,8,4] convolution(%a, %b), window={size=3 stride=2 lhs_dilate=3}, dim_labels=0bf_0io->0bf", 3 * 1024),
        (
            "f32[1,6,4] convolution(%c, %d), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
            2 * 16 * 4 * (2 + 3 * 4 + 2),
        ),
    ],
)
def test_products_of_a_convolution_are_those_that_meet_something(line, flops):
    text = f"""
ENTRY %main (x: f32[8,16]) -> f32[] {{
  %x = f32[8,16]{{1,0}} parameter(0)
  %y = f32[16,4]{{1,0}} parameter(1)
  %a = f32[3,8,16]{{2,1,0}} parameter(2)
  %b = f32[3,16,4]{{2,1,0}} parameter(3)
  %c = f32[1,6,16]{{2,1,0}} parameter(4)
  %d = f32[3,16,4]{{2,1,0}} parameter(5)
  ROOT %z = {line}
}}
"""
    assert counted(text, DEVICE)["products"] == flops


@pytest.mark.parametrize(
    ("state", "most", "turns"),
    [
        ("s32[16]{0} get-tuple-element(%c), index=0", 12, 12),  # a batch of counters
        ("s32[16]{0} get-tuple-element(%c), index=0", 0, None),  # counts down, from where the data decide
        ("pred[] get-tuple-element(%c), index=1", 12, None),  # whether it has converged
    ],
)
def test_a_loop_is_as_long_as_it_counts_unless_its_condition_sees_more(state, most, turns):
    text = f"""
%asked (c: (s32[16], pred[])) -> pred[] {{
  %c = (s32[16]{{0}}, pred[]) parameter(0)
  %seen = {state}
  %most = s32[] constant({most})
  ROOT %on = pred[] custom-call(%seen, %most), custom_call_target="less"
}}

%turn (t: (s32[16], pred[])) -> (s32[16], pred[]) {{
  ROOT %t = (s32[16]{{0}}, pred[]) parameter(0)
}}

ENTRY %main (x: (s32[16], pred[])) -> (s32[16], pred[]) {{
  %x = (s32[16]{{0}}, pred[]) parameter(0)
  ROOT %w = (s32[16]{{0}}, pred[]) while(%x), condition=%asked, body=%turn
}}
"""
    assert [loop["turns"] for loop in counted(text, DEVICE)["loops"]] == [turns]


def test_a_product_by_a_library_is_a_product():
    text = """
ENTRY %main (x: f32[2,8,16], y: f32[2,4,16]) -> f32[2,8,4] {
  %x = f32[2,8,16]{2,1,0} parameter(0)
  %y = f32[2,4,16]{2,1,0} parameter(1)
  %z = (f32[2,8,4]{2,1,0}, s8[4194304]{0}) custom-call(%x, %y), custom_call_target="__cublas$lt$matmul", \
backend_config={"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"]},\
"precision_config":{"operand_precision":["HIGHEST","HIGHEST"]}}}
  ROOT %w = f32[2,8,4]{2,1,0} get-tuple-element(%z), index=0
}
"""
    found = counted(text, DEVICE)
    assert found["products"] == 2 * 2 * 8 * 4 * 16
    assert found["bytes"] == 4 * 2 * (8 * 16 + 4 * 16 + 8 * 4)  # what it works in is not counted
    assert found["precisions"] == {"highest,highest": 1} and not found["calls"]


def test_a_sort_goes_through_its_numbers_as_often_as_it_merges():
    sort = "f32[16384]{0} sort(%x), dimensions={0}, to_apply=%less"
    alone = f"""
ENTRY %main (x: f32[16384]) -> f32[16384] {{
  %x = f32[16384]{{0}} parameter(0)
  ROOT %s = {sort}
}}
"""
    fused = f"""
%wrapped (p: f32[16384]) -> f32[16384] {{
  %x = f32[16384]{{0}} parameter(0)
  ROOT %s = {sort}
}}

ENTRY %main (x: f32[16384]) -> f32[16384] {{
  %x = f32[16384]{{0}} parameter(0)
  ROOT %f = f32[16384]{{0}} fusion(%x), kind=kLoop, calls=%wrapped
}}
"""
    # Up to 2^11 numbers on the chip at once; beyond, 2 + 3 + 4 times through all of them.
    for text in (alone, fused):
        found = counted(text, DEVICE)
        assert found["launches"] == 1 + 2 + 3 + 4 and found["bytes"] == 10 * 2 * 4 * 2**14
        assert found["elements"] == 14 * 15 / 2 * 2**14


@pytest.mark.parametrize(("shape", "by_digits"), [((32768,), True), ((1, 32768), True), ((2, 32768), False)])
def test_long_vectors_by_themselves_are_sorted_by_digits(shape, by_digits):
    array = f"f32[{','.join(map(str, shape))}]"
    text = f"""
ENTRY %main (x: {array}, y: {array}) -> ({array}, {array}) {{
  %x = {array} parameter(0)
  %y = {array} parameter(1)
  ROOT %s = ({array}, {array}) sort(%x, %y), dimensions={{{len(shape) - 1}}}, to_apply=%less
}}
"""
    found = counted(text, DEVICE)
    # Four digits of eight bits, and what comes before; on a device without such a library by merges as well.
    assert (found["launches"] == 4 + 4 and found["bytes"] == 5 * 2 * 2 * 4 * 2**15) == by_digits
    assert counted(text, replace(DEVICE, by_digits_from=None))["launches"] == 1 + 2 + 3 + 4 + 5


def test_what_is_on_the_chip_takes_nothing_of_the_memory():
    text = """
ENTRY %main (x: f32[8,16]) -> f32[8,16] {
  %x = f32[8,16]{1,0:T(8,128)S(1)} parameter(0)
  ROOT %y = f32[8,16]{1,0:T(8,128)} negate(%x)
}
"""
    assert counted(text, DEVICE)["bytes"] == 4 * 8 * 16


def test_a_program_of_xla_is_read():
    def function(x):
        return jax.lax.scan(lambda total, row: (total + row @ x, None), jnp.zeros(30), x)[0]

    text = jax.jit(function).lower(jax.ShapeDtypeStruct((30, 30), "float32")).compile().as_text()
    found = counted(text, DEVICES["cuda"])
    assert found["steps"] == 30 and found["products"] + found["elements"] >= 30 * 2 * 30 * 30
    assert found["seconds"] > found["launches"] * DEVICES["cuda"].launch_s > 0
    assert any(one["what"].startswith("while") for one in found["longest"])
    assert 0 < sum(one["seconds"] for one in found["longest"]) <= 1.001 * found["seconds"]


def test_what_is_no_program_is_refused():
    with pytest.raises(ValueError, match="no entry"):
        counted("HloModule nothing", DEVICE)
