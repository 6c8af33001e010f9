"""Tangents and incoming gradients of every layout, for every row: transposed, expanded, with gaps, marked."""

import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import forward_ad, func, grad
from tl_core.tensors.conj_neg_bits import with_conj_neg_bits

sys.path.insert(0, str(Path(__file__).parent))

from row_functions import FUNCTIONS, REAL_FUNCTIONS
from test_row_gradients import CALLS, COMPLEX_CALLS, COMPOSITES, LOOPS, NOT_COMPLEX
from test_row_transforms import drawn, loop, product
from test_tangents_of_gradients import as_call

STEP = 1e-6


def transpose(t):
    order = tuple(reversed(range(t.dim())))
    return t.permute(order).contiguous().permute(order)


def expand(t):
    return t.reshape(-1)[:1].sum().expand(t.shape) if t.numel() else t


def expanded_rows(t):
    return t[:1].expand(t.shape) if t.dim() and t.shape[0] else t


def with_gaps(t):
    wide = t.new_full((*t.shape, 3), 7.0)
    wide[..., 1] = t
    return wide[..., 1]


def negate(t):
    return with_conj_neg_bits(-t, neg=True)


def conjugate(t):
    return t.conj_physical().conj() if t.is_complex() else negate(t)


LAYOUTS = [transpose, expand, expanded_rows, with_gaps, negate, conjugate]


def numbers(like, seed):
    generator = tl.Generator().manual_seed(seed)
    return [tl.rand(x.shape, dtype=tl.float64, generator=generator).to(x.dtype) + 0.25 for x in like]


def check_tangents(function, leaves, layout):
    """The difference quotient along the vectors, whatever lies where; by func.jvp and by forward_ad."""
    vectors = [layout(v) for v in numbers(leaves, 5)]
    ahead, behind = (
        function(*(x + sign * STEP * v for x, v in zip(leaves, vectors, strict=True))) for sign in (1, -1)
    )
    _, pushed = func.jvp(function, tuple(leaves), tuple(vectors))
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(x, v) for x, v in zip(leaves, vectors, strict=True)]
        dual_pushed = [forward_ad.unpack_dual(y).tangent for y in function(*duals)]
    for t, d, a, b in zip(pushed, dual_pushed, ahead, behind, strict=True):
        assert tl.allclose(t, (a - b) / (2 * STEP), rtol=1e-4, atol=1e-5), (t, (a - b) / (2 * STEP))
        assert d is None or tl.allclose(d, t, rtol=1e-10, atol=1e-12)
        assert d is not None or not t.any()


def check_gradients(function, leaves, layout):
    """⟨w, Jv⟩ is ⟨Jᵀw, v⟩ for gradients of any layout."""
    vectors = numbers(leaves, 5)
    values, pushed = func.jvp(function, tuple(leaves), tuple(vectors))
    weights = tuple(layout(w) for w in numbers(values, 6))
    _, pull = func.vjp(function, *leaves)
    expected = product(weights, pushed)
    assert product(pull(weights), vectors) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    tensors = [x.clone().requires_grad_() for x in leaves]
    results = [(y, w) for y, w in zip(function(*tensors), weights, strict=True) if y.requires_grad]
    if not results:
        return
    result = grad([y for y, _ in results], tensors, [w for _, w in results], allow_unused=True)
    pairs = [(g, v) for g, v in zip(result, vectors, strict=True) if g is not None]
    assert product(*zip(*pairs, strict=True)) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def check_layouts(function, leaves):
    for layout in LAYOUTS:
        check_tangents(function, leaves, layout)
        check_gradients(function, leaves, layout)


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
def test_elementwise_rows(row, dtype):
    if str(dtype).removeprefix("torch.") not in row.elementwise.dtypes:
        return
    call, low, high = loop(row)
    check_layouts(*drawn(row.name, call, dtype, low, high))


@pytest.mark.parametrize("name", [*CALLS, *COMPOSITES])
def test_rows(name):
    check_layouts(*drawn(name, {**CALLS, **COMPOSITES}[name], tl.float64))


@pytest.mark.parametrize("name", [*COMPLEX_CALLS, *(name for name in CALLS if name not in NOT_COMPLEX)])
def test_complex_rows(name):
    check_layouts(*drawn(name, {**CALLS, **COMPLEX_CALLS}[name], tl.complex128))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
def test_functions(name, dtype):
    if not (dtype.is_complex and name in REAL_FUNCTIONS):
        check_layouts(*as_call(*FUNCTIONS[name], dtype))


# ---- views -----------------------------------------------------------------------------------------------------------
VIEWS = {
    "view": lambda a: a.view(-1),
    "reshape": lambda a: a.reshape(3, 2),
    "flatten": lambda a: a.flatten(),
    "of a result": lambda a: (a * 2).reshape(3, 2),
    "unflatten": lambda a: a.view(2, 3, 1),
    "as_strided": lambda a: a.as_strided((3, 2), (2, 1)),
    "as_strided from a place": lambda a: a.as_strided((2, 2), (2, 1), 1),
    "as_strided_scatter": lambda a: a.as_strided_scatter(a[:1, :2] * 3, (1, 2), (2, 1), 2),
    "as_strided, written": lambda a: (a * 1).as_strided((2, 2), (2, 1), 1).mul_(3),
    "diagonal": lambda a: a.view(-1).view(2, 3).diagonal(),
    "unfold": lambda a: a.view(-1).unfold(0, 2, 1),
    "select": lambda a: a.view(6)[2:5],
    "split": lambda a: a.view(-1).split(4)[1],
    "a write": lambda a: (a * 1).view(-1).mul_(a.reshape(-1)),
    "a write to a view": lambda a: write(a),
    "matrix_exp": lambda a: tl.linalg.matrix_exp(a @ a.t()).reshape(-1),
    "pinv": lambda a: tl.linalg.pinv(a).reshape(-1),
    "cdist": lambda a: tl.cdist(a, 1 - a).reshape(-1),
}


def write(a):
    b = a.clone()
    c = b.view(-1)
    c[1:3] *= a[0, :2]
    return b.view(3, 2)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, layout):
    x = tl.tensor([[0.3, 1.0, 2.0], [0.7, 4.0, 5.5]], dtype=tl.float64)
    f, v = VIEWS[name], layout(tl.tensor([[0.5, 1.0, -2.0], [3.0, 0.25, 5.0]], dtype=tl.float64))
    expected = (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)
    close = {"rtol": 1e-5, "atol": 1e-5}
    assert tl.allclose(func.jvp(f, (x,), (v,))[1], expected, **close)
    assert tl.allclose(func.linearize(f, x)[1](v), expected, **close)
    batch = tl.stack([v, 2 * v]) if layout is not expand else v.expand(2, 2, 3)
    each = func.vmap(lambda v: func.jvp(f, (x,), (v,))[1])(batch)
    assert tl.allclose(each[0], expected, **close)
    pairs = func.vmap(lambda x, v: func.jvp(f, (x,), (v,))[1])(tl.stack([x, x]), batch)
    assert tl.allclose(pairs[0], expected, **close)
    jacobian = func.jacfwd(f)(x).reshape(expected.numel(), 6)
    assert tl.allclose(jacobian @ v.reshape(-1), expected.reshape(-1), **close)
    with forward_ad.dual_level():
        result = forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent
        assert tl.allclose(result, expected, **close)
    _, inner = func.jvp(lambda x: func.jvp(f, (x,), (v,))[0], (x,), (v,))
    assert tl.allclose(inner, expected, **close)


def test_a_primal_within_other_memory():
    """The tangent is read by the primal's strides, from its own first element."""
    full = tl.arange(24.0, dtype=tl.float64).reshape(4, 6)
    v = tl.arange(6.0, dtype=tl.float64).reshape(3, 2).t()
    for x in (full[1, :6].view(2, 3), full[:2, 1:4], full[:3, :2].t(), full[::2, ::2]):
        for f in (lambda a: a.reshape(-1) * 2, lambda a: (a * a).reshape(-1), lambda a: a.t()[1]):
            expected = (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)
            assert tl.allclose(func.jvp(f, (x,), (v,))[1], expected, rtol=1e-5, atol=1e-5)
    row = full[1]
    _, t = func.jvp(lambda a: a.as_strided((2,), (2,), 7), (row,), (tl.arange(6.0, dtype=tl.float64),))
    assert t.tolist() == [1.0, 3.0]


def test_a_primal_whose_elements_share_memory():
    x = tl.tensor([1.0, 2.0], dtype=tl.float64).expand(3, 2)
    v = tl.arange(6.0, dtype=tl.float64).reshape(3, 2)
    for f in (lambda a: a.reshape(-1), lambda a: a.view(3, 1, 2), lambda a: a * a, lambda a: a[1]):
        expected = (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)
        assert tl.allclose(func.jvp(f, (x,), (v,))[1], expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match="share memory"):
        func.jvp(lambda a: a.as_strided((2,), (1,)), (x,), (v,))


def test_writes_leave_tangents_of_others_alone():
    """A result that is no view has a tangent of its own, also where the rule hands on that of an argument."""
    x, v = tl.tensor([0.3, 2.0], dtype=tl.float64), tl.tensor([0.5, -1.0], dtype=tl.float64)
    before = v.clone()
    for f in (
        lambda a: (a * 1).mul_(a) + a,
        lambda a: (a + 1).mul_(3) * a,
        lambda a: a.clone().view(-1).mul_(3) + a,
        lambda a: tl.add(a, 0).exp_() * a,
        lambda a: (a - 0).zero_() + a * a,
    ):
        expected = (f(x + STEP * v) - f(x - STEP * v)) / (2 * STEP)
        assert tl.allclose(func.jvp(f, (x,), (v,))[1], expected, rtol=1e-5)
        assert tl.equal(v, before)
        with forward_ad.dual_level():
            result = forward_ad.unpack_dual(f(forward_ad.make_dual(x, v))).tangent
            assert tl.allclose(result, expected, rtol=1e-5) and tl.equal(v, before)


def test_functions_with_a_rule_of_their_own():
    from tl_autograd import Function

    class Twice(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return transpose(t * 2)

    x = tl.arange(6.0, dtype=tl.float64).reshape(2, 3)
    for layout in LAYOUTS:
        v = layout(x + 1)
        _, t = func.jvp(lambda a: Twice.apply(a).view(-1), (x,), (v,))
        assert tl.equal(t, 2 * v.reshape(-1))
