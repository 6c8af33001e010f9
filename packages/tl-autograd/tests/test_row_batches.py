"""Every row's rule of batches, those without a derivative too, against a loop over the examples.

Rows with a kernel for an element are called with each kind of number, the others as tl-core's calls.jsonl says.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import func

sys.path.insert(0, str(Path(__file__).parent))

from test_row_gradients import CORE, ROWS, operator

sys.path.insert(0, str(CORE / "tests"))

from recorded_calls import as_given, recorded

BATCH = 3
KINDS = ("bool", "uint8", "int64", "float64", "complex128")


@dataclass
class Slot:
    """Where a tensor stood."""

    index: int


def fill(shape, dtype, count=23):
    """Small numbers in an order that looks random; of int64, which may be indices, some of 0, 1 and 2."""
    numbers = (
        tl.arange(tl.Size(shape).numel(), dtype=tl.int64) * 7919 % 10007 % (3 if dtype == "int64" else count)
    )
    return (
        (numbers.double() * (0.37 if dtype.startswith(("f", "b", "c")) else 1))
        .to(getattr(tl, dtype))
        .reshape(shape)
    )


REAL, COMPLEX, TRUTH, WHOLE = ({kind: [3, 4]} for kind in ("float64", "complex128", "bool", "int64"))
VECTOR, PAIRS, NUMBER = {"float64": [4]}, {"float64": [3, 4, 2]}, {"float64": []}
SQUARE = {"float64": [3, 3], "values": [4.0, 1, 0.5, 1, 3, 0.25, 0.5, 0.25, 5]}  # positive definite
RIGHT, PIVOTS = {"float64": [3, 2]}, {"int32": [3], "values": [1, 2, 3]}
THREE = {"float64": [3], "values": [4.0, 2, 1]}
LAST = {"float64": [], "values": [2.5]}

# What calls.jsonl leaves to other tests: names, and the arguments of a call of each.
MORE = [
    ("_neg_view alias clone detach lift_fresh t celu selu gelu softshrink", [REAL]),
    (
        "max min mean median nanmedian prod sum deg2rad rad2deg nan_to_num ones_like zeros_like all any",
        [REAL],
    ),
    ("histc _to_copy frexp.Tensor", [REAL]),
    ("_conj view_as_real", [COMPLEX]),
    ("all any", [TRUTH]),
    (
        "_linalg_det _linalg_eigh _linalg_eigvals _linalg_slogdet _linalg_svd _linalg_svdvals _linalg_pinv",
        [SQUARE],
    ),
    ("cholesky_inverse geqrf linalg_cholesky_ex linalg_eig linalg_inv_ex linalg_ldl_factor_ex", [SQUARE]),
    ("linalg_lu_factor_ex linalg_matrix_exp linalg_qr", [SQUARE]),
    ("_linalg_lstsq", [SQUARE, RIGHT, 1e-12, "gelsd"]),
    ("_linalg_solve", [SQUARE, RIGHT]),
    ("_singular_norm", [SQUARE, NUMBER, THREE, SQUARE, THREE, SQUARE]),
    ("_singular_norm_backward", [NUMBER, SQUARE, THREE, SQUARE, THREE, SQUARE]),
    ("linalg_householder_product", [SQUARE, {"float64": [3]}]),
    ("cholesky_solve", [RIGHT, SQUARE]),
    ("linalg_ldl_solve", [SQUARE, PIVOTS, RIGHT]),
    ("linalg_solve_triangular", [SQUARE, RIGHT, True]),
    ("lu_unpack", [SQUARE, PIVOTS]),
    *[("_distances", [REAL, REAL, p, False, False]) for p in (0.0, 1.0, 2.0, 3.0)],
    *[("_fft_c2c", [COMPLEX, dims, 0, forward]) for dims, forward in (([1], True), ([0, 1], False))],
    *[("_fft_r2c", [REAL, dims, 1, onesided]) for dims, onesided in (([1], True), ([0, 1], False))],
    ("_fft_c2r", [COMPLEX, [1], 0, 6]),
    ("_int_mm", [{"int8": [3, 4]}, {"int8": [4, 5]}]),
    ("_nextafter_bits", [{"int16": [3, 4]}, {"int16": [4]}, 0x7F80]),
    ("heaviside", [REAL, VECTOR]),
    ("logit", [REAL, 0.1]),
    ("bucketize.Scalar", [0.3, {"float64": [4], "values": [-1.0, 0, 1, 2]}]),
    ("clamp", [REAL, 0.2, 1.5]),
    ("clamp", [WHOLE, None, 1]),
    ("div.Tensor_mode", [REAL, {"float64": [4], "values": [1.0, 2, 3, 4]}, "floor"]),
    *[("var_mean.correction std_mean.correction", [REAL, dim]) for dim in (None, 1, [0, -1])],
    ("fill.Scalar full_like float_power.Tensor_Scalar", [REAL, 3]),
    ("float_power.Scalar", [2, REAL]),
    ("rsub.Tensor", [REAL, VECTOR, 2]),
    ("masked_scatter", [REAL, TRUTH, {"float64": [12]}]),
    ("masked_scatter", [REAL, {"bool": [3, 4], "values": [False] * 12}, {"float64": [0]}]),
    ("index_select_backward", [{"float64": [1]}, [], 0, {"int64": [1], "values": [0]}]),
    *[("unfold_backward", [{"float64": [1]}, [], d, 1, 1]) for d in (0, -1)],
    ("view_copy", [{"float64": [3, 4]}, [4, 3]]),
    *[("unsqueeze unsqueeze_copy", [REAL, d]) for d in (0, 2, -1, -3)],
    *[("scatter.reduce", [REAL, 1, WHOLE, REAL, how]) for how in ("add", "multiply")],
    ("scatter.value_reduce", [REAL, 1, WHOLE, 2.0, "add"]),
    *[("squeeze", [{"float64": shape}]) for shape in ([3, 1, 2, 1], [1, 1])],
    ("t", [VECTOR]),
    ("view.dtype", [REAL, {"dtype": "int64"}]),
    ("_to_copy", [WHOLE, {"dtype": "float32"}]),
    ("view_as_complex", [PAIRS]),
    ("linspace.Tensor_Tensor logspace.Tensor_Tensor", [NUMBER, LAST, 5]),
    ("linspace.Tensor_Scalar logspace.Tensor_Scalar", [NUMBER, 2, 5]),
    ("linspace.Scalar_Tensor logspace.Scalar_Tensor", [1, LAST, 5]),
]


def listed():
    """The calls of calls.jsonl and those above: a row and its arguments."""
    for name, values in recorded():
        yield ROWS[name], values
    for names, values in MORE:
        for name in names.split():
            yield ROWS[name], values


def shaped(shape, dtype):
    """A tensor as calls.jsonl writes it; integers divide others, so none is 0."""
    count = tl.Size(shape).numel()
    return {dtype: shape, "values": [i % 5 + 1 for i in range(count)]} if "int" in dtype else {dtype: shape}


def elementwise():
    """A call of each elementwise row in each kind of number that its kernel takes."""
    for row in ROWS.values():
        for dtype in KINDS if row.elementwise else ():
            if dtype not in row.elementwise.dtypes or (row.base, dtype) == ("hardtanh", "uint8"):
                continue  # the default bounds of hardtanh are negative
            n = row.elementwise.inputs
            inputs = [shaped(shape, dtype) for shape in ([3, 4], [4], [3, 1])[:n]]
            inputs = [2 if a.type == "Scalar" else x for a, x in zip(row.args, inputs)]
            if row.elementwise.condition:
                inputs[0] = {"bool": [3, 4]}
            yield row, [*inputs, *[2 for a in row.args[n:] if a.default is None]]


def called(row, values):
    """The call as a function of its tensors, and the tensors."""
    arguments, tensors = [as_given(tl, v, fill) for v in values], []

    def taken(value):
        """The value with its tensors taken out: each leaves its number."""
        if isinstance(value, tl.Tensor):
            tensors.append(value)
            return Slot(len(tensors) - 1)
        return [taken(v) for v in value] if isinstance(value, list) else value

    def put(value, tensors):
        if isinstance(value, Slot):
            return tensors[value.index]
        return [put(v, tensors) for v in value] if isinstance(value, list) else value

    slots = [taken(v) for v in arguments]

    def function(*tensors):
        back = [put(v, tensors) for v in slots]
        positional = [v for v, a in zip(back, row.args) if not a.keyword_only]
        keywords = {a.name: v for v, a in zip(back, row.args) if a.keyword_only}
        result = operator(row.name)(*positional, **keywords)
        results = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(r for r in results if isinstance(r, tl.Tensor))

    return function, tensors


def examples(x):
    """A batch of tensors with the same elements in another order."""
    return [x.reshape(-1).roll(i).reshape(x.shape) for i in range(BATCH)]


def same(a, b, exact):
    assert a.shape == b.shape and a.dtype is b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
    if a.is_complex():
        a, b = tl.view_as_real(a.resolve_conj()), tl.view_as_real(b.resolve_conj())
    if exact or not a.is_floating_point():
        assert tl.equal(a, b) or tl.equal(a.nan_to_num(0.125), b.nan_to_num(0.125))
    else:
        assert tl.allclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True), (a - b).abs().max()


def loop(function, each, batched):
    """What the examples give one after the other; only some of the tensors differ."""
    return [function(*(e[b if i in batched else 0] for i, e in enumerate(each))) for b in range(BATCH)]


def check(function, each, batched, exact, dim=0):
    """A batch of some of the tensors against the loop."""
    expected = loop(function, each, batched)
    dims = tuple(dim if i in batched else None for i in range(len(each)))
    tensors = [tl.stack(e, dim) if i in batched else e[0] for i, e in enumerate(each)]
    result = func.vmap(function, in_dims=dims, out_dims=dim)(*tensors)
    for i, full in enumerate(result):
        same(full, tl.stack([e[i] for e in expected], dim), exact)


def check_levels(function, each, exact):
    """The first tensor in the outer batch, the last in the inner one."""
    n = len(each)
    inner = tuple(0 if i == n - 1 else None for i in range(n))
    outer = tuple(0 if i == 0 else None for i in range(n))
    tensors = [tl.stack(each[0]), *[e[0] for e in each[1:-1]], tl.stack(each[-1])]
    result = func.vmap(func.vmap(function, in_dims=inner), in_dims=outer)(*tensors)
    middle = [e[0] for e in each[1:-1]]
    expected = [[function(a, *middle, z) for z in each[-1]] for a in each[0]]
    for i, full in enumerate(result):
        same(full, tl.stack([tl.stack([e[i] for e in row]) for row in expected]), exact)


def agreeing(function, tensors):
    """Examples of each tensor that the function takes: in another order where it does, else the same thrice."""
    each = [examples(x) for x in tensors]
    try:
        loop(function, each, range(len(each)))
        for k in range(len(each)):
            loop(function, each, [k])
        if len(each) > 1:
            [[function(a, *[e[0] for e in each[1:-1]], z) for z in each[-1]] for a in each[0]]
    except (RuntimeError, IndexError, ValueError):
        return [[x] * BATCH for x in tensors]
    return each


# Rows whose calls say nothing of a batch, and why.
LEFT_OUT = {
    "allclose": "gives no tensor",
    "_cross_entropy_backward": "takes results of the forward, which those of the call are not",
    "_ctc_backward": "takes results of the forward, which those of the call are not",
    "_sample_norm_backward": "takes results of the forward, which those of the call are not",
    "as_strided": "is refused where it leaves its example: see test_older_vmap",
    "as_strided_copy": "is refused where it leaves its example: see test_older_vmap",
    "as_strided_scatter": "reads the memory behind an example",
    "new_empty": "is not written",
    "new_empty_strided": "is not written",
    "empty_like": "is not written",
    "tensor_split.tensor_indices_or_sections": "sizes that depend on values",
}


def request(row):
    """Whether a row has a rule that this file can ask: it takes tensors, gives tensors and writes none."""
    takes = any(a.is_tensor or a.is_tensor_list for a in row.args)
    fixed = row.random or row.base.endswith("_") or row.batch.startswith(("refuse", "loop"))
    return takes and not fixed and row.name not in LEFT_OUT


def without_channels(row, values):
    """Whether a call is one that the batched form of convolutions refuses."""
    return row.base == "convolution_backward" and any(0 in next(iter(x.values())) for x in values[:3])


CALLS = {}
for _row, _values in [*elementwise(), *listed()]:
    if request(_row) and not without_channels(_row, _values):
        CALLS.setdefault(_row.name, []).append(_values)
for _name, _row in ROWS.items():
    if _row.family == "view_copy" and request(_row) and not _row.composite:  # with the arguments of the view
        CALLS.setdefault(_name, []).extend(CALLS[_name.replace("_copy", "", 1)])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CALLS)
def test_batches(name):
    row, compared = ROWS[name], 0
    for values in CALLS[name]:
        function, tensors = called(row, values)
        if not tensors or not function(*tensors):
            continue
        exact = bool(row.elementwise) or row.view
        each, everything = agreeing(function, tensors), range(len(tensors))
        check(function, each, everything, exact)
        if name != "view_as_complex":  # its pairs lie side by side
            check(function, each, everything, exact, dim=-1)
        for k in everything if len(tensors) > 1 else ():
            check(function, each, [k], exact)
        if len(tensors) > 1:
            check_levels(function, each, exact)
        compared += 1
    assert compared


# Rows that take small examples alone only, and why.
ALONE = {
    "median": "of no elements is nan, and refused along a dimension",
    "nanmedian": "of no elements is nan, and refused along a dimension",
    "topk": "of a number has no dimension, however many are asked for",
    **dict.fromkeys(
        [
            "slice_backward",
            "select_backward",
            "unfold_backward",
            "as_strided_backward",
            "_as_strided_gather",
            "unsum",
            "logsumexp_backward",
        ],
        "a gradient without dimensions, which no result has, is expanded",
    ),
    **dict.fromkeys(
        ["nll_loss_forward", "nll_loss_nd"], "targets of no class are read where they are ignored"
    ),
}


def small(values):
    """The call with tensors without dimensions or elements, and with the first dimension where it names one."""
    tensors = [i for i, v in enumerate(values) if is_written_tensor(v)]
    numbers = [0 if type(v) is int else [0] if v == [1] else v for v in values]
    less = []
    for change in (
        lambda shape: [],
        lambda shape: shape and [0, *shape[1:]],
        lambda shape: shape and [*shape[:-1], 0],
    ):
        for which in (tensors[:1], tensors):
            for rest in (values, numbers):
                call = [reshape(v, change) if i in which else rest[i] for i, v in enumerate(values)]
                if call not in less:
                    less.append(call)
    return less


def reshape(tensor, change):
    return {kind: change(shape) for kind, shape in tensor.items() if kind != "values"}


def is_written_tensor(value):
    return isinstance(value, dict) and isinstance(next(iter(value.values())), list)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in CALLS if name not in ALONE])
def test_batches_of_small_examples(name):
    """What takes a tensor without dimensions or elements takes a batch of them."""
    row = ROWS[name]
    for values in CALLS[name]:
        for less in small(values):
            try:
                function, tensors = called(row, less)
                results = function(*tensors)
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
                continue
            if tensors and results:
                each, everything = [[x] * BATCH for x in tensors], range(len(tensors))
                check(function, each, everything, False)
                for k in everything if len(tensors) > 1 else ():
                    check(function, each, [k], False)


def test_every_rule_is_asked():
    rules = {row.name for row in ROWS.values() if request(row) and not row.composite}
    assert rules <= set(CALLS), sorted(rules - set(CALLS))
    assert set(ROWS) >= set(LEFT_OUT)


@pytest.mark.parametrize(
    "sizes", [((2, 3), (0,)), ((0,), (2, 3)), ((2, 3), (0,), (2, 3)), ((0,), (0,)), ((4,), (0,))]
)
@pytest.mark.parametrize("dim", [1, -1, 0])
def test_vectors_without_elements_join_examples_of_any_rank(sizes, dim):
    if dim == 1 and not any(len(s) > 1 for s in sizes):
        return
    tensors = [tl.arange(5.0).reshape(5, *(1 for _ in s)).expand(5, *s) for s in sizes]
    joined = [t for t in tensors if t.numel()] or tensors
    expected = tl.stack([tl.cat([t[i] for t in joined], dim) for i in range(5)])
    result = func.vmap(lambda *ts: tl.cat(ts, dim))(*tensors)
    assert result.shape == expected.shape and result.tolist() == expected.tolist()
