"""Forward over reverse: the tangent of every row's gradient, and Hessians, against differences of gradients."""

import sys
from pathlib import Path

import pytest

import tl_core as tl
from tl_autograd import forward_ad, func, functional, grad

sys.path.insert(0, str(Path(__file__).parent))

from row_functions import FUNCTIONS, REAL_FUNCTIONS
from test_row_gradients import CALLS, COMPLEX_CALLS, COMPOSITES, LOOPS, NOT_COMPLEX, is_constant
from test_row_transforms import drawn, loop

STEP = 1e-6


def weighted(function, leaves):
    """The sum of the results' elements, each with a weight of its own, of either sign, as one real number."""

    def loss(*tensors):
        total = 0.0
        for y in function(*tensors):
            if not y.requires_grad and not y.is_floating_point() and not y.is_complex():
                continue
            weight = tl.cos(tl.arange(1.0, y.numel() + 1.0, dtype=tl.float64)).reshape(y.shape)
            product = y * weight
            total = total + ((product * (1.0 - 0.5j)).real.sum() if y.is_complex() else product.sum())
        return total

    return loss


def gradients(loss, tensors, create_graph=False):
    value = loss(*tensors)
    if not value.requires_grad:
        return [None for _ in tensors]
    return grad(value, tensors, create_graph=create_graph, allow_unused=True)


def directions(leaves):
    generator = tl.Generator().manual_seed(7)
    return [tl.rand(x.shape, dtype=tl.float64, generator=generator).to(x.dtype) - 0.5 for x in leaves]


def differences(loss, leaves, vectors):
    """Of the gradients along the vectors."""
    ahead, behind = (
        gradients(
            loss, [(x + sign * STEP * v).requires_grad_() for x, v in zip(leaves, vectors, strict=True)]
        )
        for sign in (1, -1)
    )
    return [None if a is None else (a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True)]


def check_tangents_of_gradients(function, leaves, create_graph=True):
    loss, vectors = weighted(function, leaves), directions(leaves)
    expected = differences(loss, leaves, vectors)
    with forward_ad.dual_level():
        duals = [
            forward_ad.make_dual(x.clone().requires_grad_(), v) for x, v in zip(leaves, vectors, strict=True)
        ]
        result = [
            None if g is None else forward_ad.unpack_dual(g).tangent
            for g in gradients(loss, duals, create_graph)
        ]
    for t, w in zip(result, expected, strict=True):
        if w is None:
            assert t is None
            continue
        t = tl.zeros_like(w) if t is None else t
        assert tl.allclose(t, w, rtol=2e-4, atol=2e-5), (t, w)


@pytest.mark.parametrize("row", LOOPS, ids=lambda row: row.name)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
def test_elementwise_rows(row, dtype):
    if str(dtype).removeprefix("torch.") not in row.elementwise.dtypes or is_constant(row, dtype):
        return
    call, low, high = loop(row)
    check_tangents_of_gradients(*drawn(row.name, call, dtype, low, high))


@pytest.mark.parametrize("name", [*CALLS, *COMPOSITES])
def test_rows(name):
    check_tangents_of_gradients(*drawn(name, {**CALLS, **COMPOSITES}[name], tl.float64))


@pytest.mark.parametrize("name", [*COMPLEX_CALLS, *(name for name in CALLS if name not in NOT_COMPLEX)])
def test_complex_rows(name):
    check_tangents_of_gradients(*drawn(name, {**CALLS, **COMPLEX_CALLS}[name], tl.complex128))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [tl.float64, tl.complex128], ids=str)
@pytest.mark.parametrize("create_graph", [True, False])
def test_functions(name, dtype, create_graph):
    if dtype.is_complex and name in REAL_FUNCTIONS:
        return
    make, shapes = FUNCTIONS[name]
    check_tangents_of_gradients(*as_call(make, shapes, dtype), create_graph)


def as_call(make, shapes, dtype):
    generator = tl.Generator().manual_seed(3)
    leaves = []
    for shape in shapes:
        real = tl.rand(*shape, 2, dtype=tl.float64, generator=generator) + 0.5
        leaves.append(tl.view_as_complex(real) if dtype.is_complex else real[..., 0].clone())

    def function(*tensors):
        result = make(*tensors)
        return result if isinstance(result, tuple) else (result,)

    return function, leaves


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessians(name):
    """Both strategies of the outer Jacobian, func.hessian, and reverse over reverse say the same."""
    function, leaves = as_call(*FUNCTIONS[name], tl.float64)
    loss = weighted(function, leaves)

    def of_first(x):
        return loss(x, *leaves[1:])

    expected = functional.hessian(of_first, leaves[0])
    forward = functional.hessian(of_first, leaves[0], vectorize=True, outer_jacobian_strategy="forward-mode")
    assert tl.allclose(forward, expected, rtol=1e-7, atol=1e-8)
    assert tl.allclose(func.hessian(of_first)(leaves[0]), expected, rtol=1e-7, atol=1e-8)
    columns = tl.stack([
        differences(of_first, leaves[:1], [e.reshape(leaves[0].shape)])[0].reshape(-1)
        for e in tl.eye(leaves[0].numel(), dtype=tl.float64)
    ])  # fmt: skip
    assert tl.allclose(expected.reshape(columns.shape), columns, rtol=2e-4, atol=2e-5)


def test_what_hooks_pack_keeps_its_tangent():
    from tl_autograd.graph import saved_tensors_hooks

    x, v = tl.tensor([0.5, 1.5], dtype=tl.float64), tl.tensor([1.0, -2.0], dtype=tl.float64)
    hooks = [
        (lambda t: t, lambda t: t),
        (lambda t: t.detach().numpy().copy(), tl.from_numpy),
        (lambda t: t.clone(), lambda t: t),
    ]
    for pack, unpack in hooks:
        with forward_ad.dual_level(), saved_tensors_hooks(pack, unpack):
            d = forward_ad.make_dual(x.clone().requires_grad_(), v)
            (g,) = grad((d.exp() * d).sum(), d, create_graph=True)
            result = forward_ad.unpack_dual(g).tangent
        assert tl.allclose(result, v * (2 + x) * x.exp())


def test_results_of_functions_that_are_saved():
    from tl_autograd import Function

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            ctx.save_for_forward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return g * y

        @staticmethod
        def jvp(ctx, t):
            (y,) = ctx.saved_tensors
            return t * y

    x, v = tl.tensor([0.5, 1.5], dtype=tl.float64), tl.tensor([1.0, -2.0], dtype=tl.float64)
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x.clone().requires_grad_(), v)
        (g,) = grad(Exp.apply(d).sum(), d, create_graph=True)
        assert tl.allclose(forward_ad.unpack_dual(g).tangent, v * x.exp())


@pytest.mark.parametrize("name", ["exp_", "sqrt_", "tanh_", "sigmoid_", "reciprocal_"])
def test_results_that_are_written(name):
    x, v = tl.tensor([0.5, 1.5], dtype=tl.float64), tl.tensor([1.0, -2.0], dtype=tl.float64)

    def loss(t):
        return getattr(t * 1, name)().sum()

    (expected,) = differences(loss, [x], [v])
    with forward_ad.dual_level():
        d = forward_ad.make_dual(x.clone().requires_grad_(), v)
        (g,) = grad(loss(d), d, create_graph=True)
        assert tl.allclose(forward_ad.unpack_dual(g).tangent, expected, rtol=1e-5)


def test_tangents_end_with_their_level():
    """A recorded tangent owns the graph that owns its tensor: the end of the level breaks the ring."""
    import gc
    import weakref

    class Mark:
        pass

    gc.collect()
    references = []
    for _ in range(3):
        with forward_ad.dual_level():
            d = forward_ad.make_dual(tl.ones(3).requires_grad_(), tl.ones(3))
            y = d.exp()
            z = (y * y).tanh()
            mark = Mark()
            references.append(weakref.ref(mark))
            z.grad_fn.metadata["mark"] = mark
            grad(z.sum(), d, create_graph=True)
            assert forward_ad.unpack_dual(z).tangent.requires_grad
        del d, y, z, mark
    assert [reference() for reference in references] == [None] * 3


def test_single_values_where_others_repeat():
    x = tl.tensor([0.3, -0.2, 0.5], dtype=tl.float64)

    def matrix(x):
        return tl.outer(x, x) + 2 * tl.eye(3, dtype=tl.float64)

    for f in (lambda a: tl.linalg.matrix_norm(a, 2), lambda a: tl.linalg.eigvalsh(a)[-1]):  # 2 + |x|²
        result = func.jacrev(func.jacrev(lambda x, f=f: f(matrix(x))))(x)
        assert tl.allclose(result, 2 * tl.eye(3, dtype=tl.float64), atol=1e-8), result


def test_logcumsumexp_where_nothing_is_summed():
    x = tl.tensor([float("-inf"), 0.5, 1.5, -0.3], dtype=tl.float64)
    w = tl.arange(1.0, 5.0, dtype=tl.float64)

    def f(t):
        value = tl.logcumsumexp(t, 0)
        return (value * w).where(value > float("-inf"), 0.0).sum()

    assert not func.grad(f)(x).isnan().any()
    assert not func.jacfwd(func.grad(f))(x).isnan().any()
    y = x[1:]
    again = func.jacrev(func.jacrev(lambda t: (tl.logcumsumexp(t, 0) * w[1:]).sum()))(y)
    assert tl.allclose(func.jacfwd(func.jacrev(lambda t: (tl.logcumsumexp(t, 0) * w[1:]).sum()))(y), again)


@pytest.mark.parametrize("dtype", [tl.float64, tl.float32, tl.complex128], ids=str)
def test_tangents_of_logcumsumexp(dtype):
    """Far apart, of either sign, near a large number; the gradient has elements of either sign, too."""
    generator = tl.Generator().manual_seed(1)
    for scale, shift in ((5.0, 0.0), (300.0, 0.0), (1.0, 1e4)):
        x, w, v, g = (tl.randn(4, 6, dtype=tl.float64, generator=generator) for _ in range(4))
        x = (x * scale + shift).to(dtype)
        w, v, g = w.to(dtype), v.to(dtype), g.to(dtype)

        def pull(x, w):
            return func.vjp(lambda t: tl.logcumsumexp(t, 1), x)[1](w)[0]

        _, tangent = func.jvp(lambda t: tl.logcumsumexp(t, 1), (x,), (v,))
        wide = x.to(tl.complex128 if dtype.is_complex else tl.float64)
        for i in range(6):
            part = wide[:, : i + 1]
            shares = (part - tl.logcumsumexp(part, 1)[:, -1:]).exp()
            expected = (shares * v[:, : i + 1].to(wide.dtype)).sum(1)
            tolerance = 1e-3 if dtype is tl.float32 else 1e-9
            assert tl.allclose(tangent[:, i].to(wide.dtype), expected, rtol=tolerance, atol=tolerance)
        _, second = func.jvp(pull, (x, w), (v, g))
        assert not second.isnan().any()
