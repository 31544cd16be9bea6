"""Every metric has a row, and every row runs every check."""

from collections import Counter
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.extend.core import jaxprs_in_params

from bsjax import metric_registry
from bsjax.engine.programs.compilation import traces
from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics import compiled
from tests.contract.table import TABLE
from tests.oracle.cases import CASES, score

SEEDS = st.integers(0, 10_000)

# Each draw of these fits psychometric functions.
SLOW = ("threshold", "threshold_elevation")

each_row = pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
INVARIANCES = [(row, name) for row in TABLE.values() for name in row.invariances]


def draw(row, seed=0, dtype="float64"):
    return cast(row.arrays(np.random.default_rng(seed)), dtype)


def cast(arrays, dtype="float64"):
    return {k: jnp.asarray(v, dtype if np.asarray(v).dtype.kind == "f" else None) for k, v in arrays.items()}


def floats(arrays):
    return {name: v for name, v in arrays.items() if v.dtype.kind == "f"}


def of_row(arrays, *, row):
    return row(**arrays)


def run(row, arrays):
    return np.asarray(compiled(of_row, row=row)(arrays))


def test_every_registered_metric_has_a_row():
    in_table = Counter(name for row in TABLE.values() for name in row.metrics)
    # What is fitted by other libraries has no kernel of ours: its answers are compared with scikit-learn's.
    assert set(in_table) == set(metric_registry) - {"regression", "regression_split"}
    assert not [name for name, rows in in_table.items() if rows > 1]


@each_row
def test_the_row_is_whole(row):
    assert row.source and row.undefined_policy and row.invariances and row.bounds[0] < row.bounds[1]
    if row.ceiling is not None:
        assert row.ceiling in metric_registry


@pytest.mark.slow
@each_row
def test_has_the_dimensions_and_the_range_that_it_declares(row):
    for seed in range(3):
        result = run(row, draw(row, seed))
        assert result.ndim == len(row.dims)
        assert np.isfinite(result).all()
        assert (row.bounds[0] - 1e-9 <= result).all() and (result <= row.bounds[1] + 1e-9).all()


@pytest.mark.slow
@each_row
def test_is_not_stopped_by_the_search_for_nan(row):
    """Where the result has none."""
    arrays = draw(row)
    assert np.isfinite(run(row, arrays)).all()
    with jax.debug_nans(True):
        run(row, arrays)


@pytest.mark.slow
@each_row
def test_compiled_equals_eager(row):
    np.testing.assert_allclose(run(row, draw(row)), np.asarray(row(**draw(row))), atol=row.atol)


@pytest.mark.slow
@each_row
def test_batched_equals_a_loop(row):
    draws = [draw(row, seed) for seed in range(2)]
    batched = jax.jit(jax.vmap(lambda arrays: row(**arrays)))({k: jnp.stack([d[k] for d in draws]) for k in draws[0]})
    for got, arrays in zip(batched, draws, strict=True):
        np.testing.assert_allclose(got, run(row, arrays), atol=row.atol)


@each_row
def test_a_batch_takes_no_decomposition_that_one_would_not(row):
    arrays = draw(row)
    alone = jax.make_jaxpr(lambda arrays: row(**arrays))(arrays)
    batch = jax.make_jaxpr(jax.vmap(lambda arrays: row(**arrays)))({k: jnp.stack([v, v]) for k, v in arrays.items()})
    assert decompositions_outside_branches(batch.jaxpr) == decompositions_outside_branches(alone.jaxpr)


@pytest.mark.slow
@each_row
def test_runs_within_the_users_transforms(row):
    kernel, draws = compiled(of_row, row=row), [draw(row, seed) for seed in range(2)]
    expected = [run(row, arrays) for arrays in draws]
    times = jax.jit(lambda factor: factor * kernel(draws[0]).astype(float))(2.0)  # concrete arrays in a traced function
    np.testing.assert_allclose(times, 2.0 * expected[0], atol=2.0 * row.atol)
    mesh = jax.make_mesh((1,), ("devices",), axis_types=(jax.sharding.AxisType.Auto,))
    spec = jax.sharding.PartitionSpec("devices")

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    def on_shares(stacked):
        return jax.lax.scan(lambda _, arrays: (None, kernel(arrays)), None, stacked)[1]

    found = on_shares({k: jnp.stack([d[k] for d in draws]) for k in draws[0]})
    np.testing.assert_allclose(found, np.stack(expected), atol=row.atol)


@pytest.mark.slow
@each_row
def test_programs_of_an_accelerator_give_the_same(row):
    """Those of a GPU, but for its libraries, run on any device."""
    expected = run(row, draw(row)), run(row, draw(row, dtype="float32"))
    with traced_for("gpu"):
        found = run(row, draw(row)), run(row, draw(row, dtype="float32"))
    np.testing.assert_allclose(found[0], expected[0], atol=max(row.atol, 1e-6))
    np.testing.assert_allclose(found[1], expected[1], atol=1e-3)


@pytest.mark.slow
@each_row
def test_what_is_masked_out_does_not_count(row):
    rng = np.random.default_rng(0)
    arrays = row.arrays(rng)
    padded = cast(row.padded({k: np.copy(v) for k, v in arrays.items()}, rng))
    np.testing.assert_allclose(run(row, padded), run(row, cast(arrays)), atol=row.atol)


@each_row
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_keeps_the_dtype(row, dtype):
    assert jax.eval_shape(lambda arrays: row(**arrays), draw(row, dtype=dtype)).dtype == dtype


@pytest.mark.slow
@each_row
def test_float32_agrees_with_float64(row):
    np.testing.assert_allclose(run(row, draw(row, dtype="float32")), run(row, draw(row)), atol=1e-3)


@pytest.mark.slow
@each_row
def test_is_traced_once_for_a_shape_and_dtype(row):
    compiled(of_row, row=row).clear_cache()  # whatever earlier tests have traced
    with traces() as counted:
        for seed in range(2):
            run(row, draw(row, seed))
    assert counted["of_row"] == 1


# A case of the reference for each metric that it has.
LABELLED = {case["metric"].partition(".")[0]: name for name, case in reversed(CASES.items())}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the .* penalty")
@pytest.mark.parametrize("metric", [name for name in metric_registry if name in LABELLED])
def test_a_labelled_call_uses_the_program_of_the_one_before(metric):
    first = score(CASES[LABELLED[metric]])
    with traces() as counted:
        second = score(CASES[LABELLED[metric]])
    assert not counted
    np.testing.assert_array_equal(np.asarray(second.value), np.asarray(first.value))


@pytest.mark.slow
@each_row
def test_gradients_are_finite_and_those_of_a_checkpoint(row):
    """Finite also where the value is undefined."""
    kernel = compiled(of_row, row=row)

    def total(numbers, rest, kernel):
        return jnp.nansum(kernel(numbers | rest))

    gradient, saved = (jax.jit(jax.grad(partial(total, kernel=each))) for each in (kernel, jax.checkpoint(kernel)))
    given_arrays = row.arrays(np.random.default_rng(0))
    for arrays in (cast(given_arrays), cast(row.undefined({k: np.copy(v) for k, v in given_arrays.items()})[0])):
        numbers = floats(arrays)
        if not numbers:  # choices and masks alone: nothing to differentiate
            assert not row.smooth
            return
        rest = {k: v for k, v in arrays.items() if k not in numbers}
        slopes = gradient(numbers, rest)
        assert all(np.isfinite(s).all() for s in slopes.values())
        if row.smooth:
            assert any((s != 0).any() for s in slopes.values())
            for name, again in saved(numbers, rest).items():
                np.testing.assert_allclose(again, slopes[name], rtol=1e-6, atol=1e-6)


@each_row
@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.slow)])
def test_an_undefined_value_is_nan_and_never_spreads(row, dtype):
    arrays, where = row.undefined(row.arrays(np.random.default_rng(0)))
    result = run(row, cast(arrays, dtype))
    expected = np.zeros(result.shape, bool)
    expected[where] = True
    assert expected.any()
    np.testing.assert_array_equal(np.isnan(result), expected)
    assert np.isfinite(result[~expected]).all()


@each_row
def test_comparing_a_thing_with_itself(row):
    if row.identity is None:
        pytest.skip("compares nothing that could be the same thing")
    rng = np.random.default_rng(0)
    np.testing.assert_allclose(run(row, cast(row.identity(row.arrays(rng), rng))), row.identity_value, atol=1e-6)


@pytest.mark.slow
@each_row
def test_products_have_all_digits_whatever_the_caller_has_set(row):
    arrays = draw(row, dtype="float32")
    numbers, rest = floats(arrays), {name: v for name, v in arrays.items() if v.dtype.kind != "f"}

    def total(numbers):
        return jnp.sum(row(**numbers, **rest))

    with jax.default_matmul_precision("bfloat16"):
        traced = jax.make_jaxpr(jax.value_and_grad(total) if row.smooth and numbers else total)(numbers)
    assert set(product_precisions(traced.jaxpr)) <= {jax.lax.Precision.HIGHEST}


def decompositions_outside_branches(jaxpr):
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("eigh", "svd"):
            found.append(equation.primitive.name)
        if equation.primitive.name != "cond":
            for inner in jaxprs_in_params(equation.params):
                found += decompositions_outside_branches(inner)
    return found


def product_precisions(jaxpr):
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("dot_general", "conv_general_dilated"):
            yield from equation.params["precision"] or [None]
        for inner in jaxprs_in_params(equation.params):
            yield from product_precisions(inner)


@pytest.mark.slow
@each_row
def test_temporary_memory_is_bounded(row):
    arrays = cast(row.large(np.random.default_rng(0)))
    program = jax.jit(lambda arrays: row(**arrays)).lower(arrays).compile()
    size = sum(v.nbytes for v in arrays.values())
    assert program.memory_analysis().temp_size_in_bytes <= row.times_input * size


def each_invariance(slow):
    chosen = [(row, name) for row, name in INVARIANCES if (row.name in SLOW) == slow]
    return pytest.mark.parametrize(("row", "name"), chosen, ids=[f"{row.name}: {name}" for row, name in chosen])


@each_invariance(slow=False)
@given(seed=SEEDS)
def test_invariance(row, name, seed):
    check_invariance(row, name, seed)


@pytest.mark.slow
@each_invariance(slow=True)
@settings(max_examples=6)
@given(seed=SEEDS)
def test_invariance_of_fits(row, name, seed):
    check_invariance(row, name, seed)


def check_invariance(row, name, seed):
    rng = np.random.default_rng(seed)
    arrays = row.arrays(rng)
    changed = row.invariances[name]({k: np.copy(v) for k, v in arrays.items()}, rng)
    np.testing.assert_allclose(run(row, cast(changed)), run(row, cast(arrays)), atol=1e-6)
