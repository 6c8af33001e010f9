"""The rules of rows: batches against loops over the examples, tangents against difference quotients and the adjoint."""

import sys
import warnings
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import func
from tl_core.operators.packets import aten

sys.path.insert(0, str(Path(__file__).parent))

from test_row_gradients import (
    CALLS,
    COMPLEX_CALLS,
    COMPOSITES,
    LOOPS,
    NOT_COMPLEX,
    ROWS,
    Leaves,
    elementwise,
    operator,
)

BATCH = 3


def drawn(name, call, dtype, low=0.5, high=1.5):
    """The call as a function of the leaves that it takes, and leaves for it."""
    leaves, op = Leaves(name, dtype, low, high), operator(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(op, leaves)

    def function(*tensors):
        leaves.given = iter(tensors)
        result = call(op, leaves)
        results = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(r for r in results if r.is_floating_point() or r.is_complex())

    return function, [x.detach() for x in leaves.made]


def close(a, b, tolerance=1e-10):
    assert a.shape == b.shape and a.dtype is b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    assert tl.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), (a - b).abs().max()


def examples(x):
    """A batch of tensors alike, of which none is another."""
    return [x * scale for scale in (1.0, 0.93, 1.08)][:BATCH]


def check_batch(function, leaves, writes=False):
    each = [examples(x) for x in leaves]
    expected = [function(*(e[b] for e in each)) for b in range(BATCH)]
    stacked = [tl.stack(e) for e in each]
    for i, full in enumerate(func.vmap(function)(*stacked)):
        close(full, tl.stack([e[i] for e in expected]))
    last = [s.movedim(0, -1) for s in stacked]
    for i, full in enumerate(func.vmap(function, in_dims=-1, out_dims=-1)(*last)):
        close(full, tl.stack([e[i] for e in expected], -1))
    if writes:  # refuses to write a batch into what has none
        return
    for k in range(len(leaves)):
        check_one_batched(function, leaves, each, k)
    check_two_levels(function, leaves, each)


def check_one_batched(function, leaves, each, k):
    dims = tuple(0 if i == k else None for i in range(len(leaves)))
    source = [tl.stack(each[k]) if i == k else x for i, x in enumerate(leaves)]
    expected = [function(*(each[k][b] if i == k else x for i, x in enumerate(leaves))) for b in range(BATCH)]
    for i, full in enumerate(func.vmap(function, in_dims=dims)(*source)):
        close(full, tl.stack([e[i] for e in expected]))


def check_two_levels(function, leaves, each):
    """The first leaf in the outer batch, the last in the inner one."""
    if len(leaves) < 2:
        return
    outer = tuple(0 if i == 0 else None for i in range(len(leaves)))
    inner = tuple(0 if i == len(leaves) - 1 else None for i in range(len(leaves)))
    source = [tl.stack(each[0]), *leaves[1:-1], tl.stack(each[-1])]
    nested = func.vmap(func.vmap(function, in_dims=inner), in_dims=outer)(*source)
    expected = [tl.stack([function(a, *leaves[1:-1], z)[0] for z in each[-1]]) for a in each[0]]
    close(nested[0], tl.stack(expected))


def check_tangent(function, leaves):
    """Jv is the difference quotient along v, and ⟨w, Jv⟩ is ⟨Jᵀw, v⟩."""
    generator = tl.Generator().manual_seed(5)
    vectors = [tl.rand(x.shape, dtype=tl.float64, generator=generator).to(x.dtype) - 0.5 for x in leaves]
    values, tangents = func.jvp(function, tuple(leaves), tuple(vectors))
    step = 1e-6
    ahead = function(*(x + step * v for x, v in zip(leaves, vectors, strict=True)))
    behind = function(*(x - step * v for x, v in zip(leaves, vectors, strict=True)))
    _, pull = func.vjp(function, *leaves)
    w = tuple(tl.rand(y.shape, dtype=tl.float64, generator=generator).to(y.dtype) + 0.5 for y in values)
    pulled = pull(w)
    for t, a, b in zip(tangents, ahead, behind, strict=True):
        assert tl.allclose(t, (a - b) / (2 * step), rtol=1e-4, atol=1e-5), (t, (a - b) / (2 * step))
    assert product(w, tangents) == pytest.approx(product(pulled, vectors), rel=1e-8, abs=1e-8)


def product(a, b):
    return sum(
        (x.conj() * y).sum().real.item() if x.is_complex() else (x * y).sum().item() for x, y in zip(a, b)
    )


def loop(row):
    return elementwise(row), max(row.samples.low, -1.5), min(row.samples.high, 1.5)


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
def test_batches_of_elementwise_rows(row):
    if "float64" not in row.elementwise.dtypes:
        return
    call, low, high = loop(row)
    check_batch(*drawn(row.name, call, tl.float64, low, high))


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
def test_tangents_of_elementwise_rows(row, dtype):
    if str(dtype).removeprefix("torch.") not in row.elementwise.dtypes:
        return
    call, low, high = loop(row)
    check_tangent(*drawn(row.name, call, dtype, low, high))


@pytest.mark.parametrize("name", [*CALLS, *COMPOSITES])
def test_batches(name):
    call = {**CALLS, **COMPOSITES}[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        check_batch(*drawn(name, call, tl.float64), writes=name.partition(".")[0].endswith("_"))


@pytest.mark.parametrize("name", [*CALLS, *COMPOSITES])
def test_tangents(name):
    check_tangent(*drawn(name, {**CALLS, **COMPOSITES}[name], tl.float64))


@pytest.mark.parametrize("name", [*COMPLEX_CALLS, *(name for name in CALLS if name not in NOT_COMPLEX)])
def test_complex_tangents(name):
    check_tangent(*drawn(name, {**CALLS, **COMPLEX_CALLS}[name], tl.complex128))


def test_rows_that_loop_are_few():
    looping = {name for name, row in ROWS.items() if row.batch == "loop"}
    public = {name for name in looping if not name.startswith("_")}
    assert len(looping) <= 30, sorted(looping)
    assert len(public) <= 25, sorted(public)


def test_random_rows_have_a_rule_of_their_own():
    for name, row in ROWS.items():
        if row.random and row.grad != "composite":
            assert row.batch in ("random", "rule") or row.batch.startswith("refuse:"), name
            assert row.jvp != "linear", name


# ---- rules that tests of rows do not reach -------------------------------------------------------------------------


def same_as_loop(function, *given, dims=None):
    """A batch is what the examples give one after the other, and no operator loops."""
    dims = dims or (0,) * len(given)
    n = next(x.shape[0] for x, d in zip(given, dims, strict=True) if d == 0)
    each = [function(*(x[i] if d == 0 else x for x, d in zip(given, dims, strict=True))) for i in range(n)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        full = func.vmap(function, in_dims=dims)(*given)
    expected = tl.stack(each)
    assert full.dtype is expected.dtype and full.shape == expected.shape
    if expected.is_floating_point() or expected.is_complex():
        assert tl.allclose(full, expected, rtol=1e-5, atol=1e-6, equal_nan=True), (full, expected)
    else:
        assert tl.equal(full, expected)


def numbers(*shape, dtype=tl.float64, seed=0):
    return (tl.randn(*shape, dtype=tl.float64, generator=tl.Generator().manual_seed(seed)) * 5).to(dtype)


@pytest.mark.parametrize("make", [tl.linspace, tl.logspace])
@pytest.mark.parametrize("steps", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64, tl.int64, tl.complex64], ids=str)
def test_batches_of_numbers_between_tensors(dtype, steps, make):
    a, b = numbers(3, dtype=dtype), numbers(3, dtype=dtype, seed=1)
    if dtype.is_complex and make is tl.logspace:
        return
    out = dtype if dtype.is_complex else tl.float64
    same_as_loop(lambda a, b: make(a, b, steps, dtype=out), a, b)
    same_as_loop(lambda a: make(a, 3, steps, dtype=out), a)
    same_as_loop(lambda a: make(2, a, steps, dtype=out), a)


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64, tl.bfloat16], ids=str)
def test_batches_of_histograms(dtype):
    x = numbers(3, 50, dtype=dtype)
    same_as_loop(lambda x: tl.histc(x, 6), x)
    same_as_loop(lambda x: tl.histc(x, 6, -3, 4), x)
    same_as_loop(lambda x: tl.histc(x, 6), tl.ones(3, 5, dtype=dtype))


def test_batches_of_searches_and_of_scattered_values():
    order = numbers(3, 7).sort(-1).values
    same_as_loop(lambda s: tl.searchsorted(s, 0.3), order)
    same_as_loop(lambda s: tl.bucketize(0.3, s, right=True), order)
    mask, x, source = numbers(3, 4, 5) > 0, numbers(3, 4, 5, seed=1), numbers(3, 20, seed=2)
    same_as_loop(tl.masked_scatter, x, mask, source)
    same_as_loop(tl.masked_scatter, x, mask, source[0], dims=(0, 0, None))
    same_as_loop(tl.masked_scatter, x[0], mask, source[0], dims=(None, 0, None))


def test_batches_of_vectors_times_matrices():
    matrix, vectors, matrices, added = numbers(5, 7), numbers(3, 7), numbers(3, 5, 7), numbers(3, 5)
    same_as_loop(tl.mv, matrix, vectors, dims=(None, 0))
    same_as_loop(tl.mv, matrices, vectors)
    same_as_loop(tl.mv, matrices, vectors[0], dims=(0, None))
    same_as_loop(tl.addmv, added, matrix, vectors, dims=(0, None, 0))
    same_as_loop(tl.addmv, added[0], matrices, vectors, dims=(None, 0, 0))
    same_as_loop(tl.mm, vectors.unsqueeze(-1), added.unsqueeze(1))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("samples", [1, 3])
def test_gradients_of_filters_for_every_example(samples, groups):
    x, w = numbers(2, samples, 4, 7, 6) / 5, numbers(6, 4 // groups, 3, 2, seed=1) / 5

    def loss(w, x):
        return (aten.conv2d(x, w, None, [2, 1], [1, 1], [1, 2], groups) ** 2).sum()

    same_as_loop(func.grad(loss), w, x, dims=(None, 0))


def test_the_guide_lists_the_rows_that_loop():
    """The public operators are named on the page of limits, where this counts them."""
    from opgen.rules import rules

    loops = {rule.row.name for rule in rules(list(ROWS.values())) if rule.batch_kind == "LOOP"}
    assert loops == {
        "_add_bytes", "_attention_dropout_mask", "_convert_weight_to_int4pack_for_cpu",
        "_histogramdd_from_bin_tensors", "segment_reduce",
        "_dequantize_bytes", "_distances_backward", "_embedding_bag", "_fractional_max_pool",
        "_int8_convolution", "_int8_linear", "_int8_linear_dynamic", "_int8_recurrent_layer", "_pack_int8",
        "_quantize_bytes", "_recurrent_layer", "_recurrent_layer_backward", "_weight_int4pack_mm_for_cpu",
        "_weight_int8pack_mm", "argwhere", "bincount", "embedding_renorm_", "histogram.bin_ct",
        "histogram.bins_tensor", "masked_select", "nonzero_static", "repeat_interleave.Tensor",
    }  # fmt: skip
