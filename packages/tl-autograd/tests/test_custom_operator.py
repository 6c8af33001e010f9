"""Gradients, tangents and batches of operators that are Python functions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

import tl_autograd as ta
import tl_autograd.func as func
import tl_core as tl
from tl_autograd.compat import engine_names as names
from tl_autograd.custom_operator import supports_tensorlist
from tl_core import library
from tl_core.library import Library, custom_op

NS = "_test_custom_operator"


@custom_op(f"{NS}::sine", mutates_args=())
def sine(x: tl.Tensor, *, k: float = 1.0) -> tl.Tensor:
    return (x * k).sin()


def _setup(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)
    ctx.k = keyword_only_inputs["k"]


def _backward(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    return grad * (x * ctx.k).cos() * ctx.k


sine.register_autograd(_backward, setup_context=_setup)


@custom_op(f"{NS}::joined", mutates_args=())
def joined(xs: Sequence[tl.Tensor], k: float) -> list[tl.Tensor]:
    return [tl.cat(list(xs)) * k, tl.stack(list(xs))]


def _joined_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.n, ctx.k = len(inputs[0]), inputs[1]


def _joined_backward(ctx: Any, grads: Any) -> Any:
    assert isinstance(grads, list)
    parts = grads[0].chunk(ctx.n)
    return [ctx.k * part + grads[1][i] for i, part in enumerate(parts)], None


joined.register_autograd(_joined_backward, setup_context=_joined_setup)


@pytest.fixture
def lib() -> Iterator[Library]:
    result = Library(NS, "FRAGMENT")
    yield result
    result._destroy()


def test_gradients_of_a_formula() -> None:
    x = tl.rand(3, dtype=tl.float64, requires_grad=True)
    assert ta.gradcheck(lambda x: sine(x, k=2.0), x)
    assert ta.gradgradcheck(lambda x: sine(x, k=2.0), x)
    y = sine(x)
    assert type(y.grad_fn).__name__ == f"GeneratedBackwardFor_{NS}_sine_defaultBackward"
    with tl.no_grad():
        assert sine(x).grad_fn is None


def test_gradients_of_lists() -> None:
    xs = [tl.rand(2, dtype=tl.float64, requires_grad=True) for _ in range(3)]
    assert ta.gradcheck(lambda *xs: tuple(joined(list(xs), 1.5)), xs)
    a, b = tl.ones(2, requires_grad=True), tl.ones(2)
    first, _ = joined([a, b], 2.0)
    first.sum().backward()
    assert a.grad is not None and a.grad.tolist() == [2, 2] and b.grad is None


def test_without_a_formula_backward_says_so() -> None:
    @custom_op(f"{NS}::bare", mutates_args=())
    def bare(x: tl.Tensor) -> tl.Tensor:
        return x.clone()

    y = bare(tl.ones(1, requires_grad=True))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.backward()
    bare.register_autograd(lambda ctx, g: g * 3)
    x = tl.ones(1, requires_grad=True)
    bare(x).backward()
    assert x.grad is not None and x.grad.item() == 3


def test_a_formula_for_an_operator_by_name(lib: Library) -> None:
    lib.define("f(Tensor x, int n=2) -> Tensor")
    lib.impl("f", lambda x, n=2: x**n, "CPU")

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None

    library.register_autograd(f"{NS}::f", backward, setup_context=setup, lib=lib)
    x = tl.tensor(3.0, requires_grad=True)
    f = getattr(tl.ops, NS).f
    (g,) = ta.grad(f(x), x)
    assert g.item() == 6
    (g,) = ta.grad(f(x, 3), x)
    assert g.item() == 27


def test_a_function_for_the_key_of_autograd(lib: Library) -> None:
    from tl_core.dispatch.layers import AutoDispatchBelowAutograd

    lib.define("f(Tensor x) -> Tensor")
    op = getattr(tl.ops, NS).f.default

    class F(ta.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            with AutoDispatchBelowAutograd():
                return op(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 5

    lib.impl("f", F.apply, "Autograd")
    lib.impl("f", lambda x: x * 2, "CPU")
    x = tl.ones(2, requires_grad=True)
    y = op(x)
    y.sum().backward()
    assert y.tolist() == [2, 2] and x.grad is not None and x.grad.tolist() == [5, 5]


def test_composites_are_differentiated_through_their_parts(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.sin() * 2, "CompositeImplicitAutograd")
    x = tl.zeros(1, requires_grad=True)
    getattr(tl.ops, NS).f(x).backward()
    assert x.grad is not None and x.grad.item() == 2
    assert func.vmap(func.grad(getattr(tl.ops, NS).f))(tl.zeros(3)).tolist() == [2, 2, 2]


def test_an_override_of_a_row_keeps_its_derivative() -> None:
    lib = Library("aten", "IMPL")
    lib.impl("sinh", lambda x: x * 0 + 4, "CPU")
    x = tl.zeros(1, requires_grad=True)
    y = tl.sinh(x)
    y.backward()
    assert y.item() == 4 and x.grad is not None and x.grad.item() == 1
    lib._destroy()


# ---- transforms -----------------------------------------------------------------------------------------------------
def test_transforms_go_through_the_formula() -> None:
    x = tl.linspace(0.1, 1, 4)
    want = 2 * (2 * x).cos()
    f = lambda x: sine(x, k=2.0)  # noqa: E731
    assert tl.allclose(func.grad(lambda x: f(x).sum())(x), want)
    assert tl.allclose(func.vmap(func.grad(f))(x), want)
    assert math.isclose(func.grad(func.grad(f))(tl.tensor(0.3)).item(), -4 * math.sin(0.6), rel_tol=1e-5)
    assert tl.allclose(func.grad(lambda x: joined([x, x], 3.0)[0].sum())(x), tl.full((4,), 6.0))
    assert tl.allclose(func.jacrev(f)(x), want.diag())


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_batches_without_a_rule_are_looped() -> None:
    sizes = []

    @custom_op(f"{NS}::seen", mutates_args=())
    def seen(x: tl.Tensor, y: tl.Tensor) -> tuple[tl.Tensor, tl.Tensor]:
        sizes.append(tuple(x.shape))
        return x + y, x * y

    x, y = tl.arange(6.0).view(2, 3), tl.ones(3)
    a, b = func.vmap(seen, in_dims=(0, None))(x, y)
    assert a.tolist() == (x + 1).tolist() and b.tolist() == x.tolist() and sizes == [(3,), (3,)]
    a, _ = func.vmap(seen, in_dims=(1, 0))(x, y)
    assert a.tolist() == (x.T + 1).tolist()


def test_a_rule_for_batches() -> None:
    infos = []

    @custom_op(f"{NS}::ruled", mutates_args=())
    def ruled(x: tl.Tensor, y: tl.Tensor) -> tl.Tensor:
        return x * y

    @ruled.register_vmap
    def _(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        infos.append((info.batch_size, in_dims))
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x
        y = y.movedim(in_dims[1], 0) if in_dims[1] is not None else y
        return ruled(x, y), 0

    x = tl.arange(6.0).view(2, 3)
    assert func.vmap(ruled, in_dims=(1, None))(x, tl.full((2,), 2.0)).tolist() == (x.T * 2).tolist()
    assert infos == [(3, (1, None))]
    assert func.vmap(func.vmap(ruled))(x, x).tolist() == (x * x).tolist()


def test_a_tensor_of_a_transform_that_has_ended() -> None:
    values = []
    func.grad(lambda x: (values.append(x), sine(x))[1])(tl.tensor(0.5))
    assert math.isclose(sine(values[0]).item(), math.sin(0.5), rel_tol=1e-6)


def test_functions_of_older_programs() -> None:
    from tl_autograd.compat.older_functions import Resize, Type

    x = tl.ones(4, requires_grad=True)
    Resize.apply(x, (2, 2)).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1, 1, 1, 1]
    with pytest.raises(RuntimeError, match="requested resize to 3"):
        Resize.apply(x, (3,))
    (Type.apply(x, "torch.DoubleTensor") * 2).sum().backward()
    assert x.grad.tolist() == [3, 3, 3, 3] and x.grad.dtype is tl.float32


def test_functions_of_lists_of_tensors():
    @supports_tensorlist
    class Weighted(ta.Function):
        @staticmethod
        def forward(ctx, xs, k):
            ctx.k, ctx.needs = k, ctx.needs_input_grad
            return [x * k for x in xs], xs[0] + xs[1]

        @staticmethod
        def backward(ctx, scaled, total):
            assert ctx.needs == ([True, False], False)
            return [g * ctx.k + total for g in scaled], None

    x, y = tl.ones(2, requires_grad=True), tl.full((2,), 2.0)
    (first, second), total = Weighted.apply([x, y], 3.0)
    assert (first.tolist(), second.tolist(), total.tolist()) == ([3, 3], [6, 6], [3, 3])
    (first.sum() + 10 * total.sum()).backward()
    assert x.grad.tolist() == [13, 13] and y.grad is None
    for name in ("forward", "backward"):
        with pytest.raises(NotImplementedError, match=f"autograd.Function.{name} directly"):
            getattr(Weighted, name)(None, [x], 1.0)


def test_gradients_of_lists_have_the_structure_of_their_arguments():
    @supports_tensorlist
    class Short(ta.Function):
        @staticmethod
        def forward(ctx, xs):
            return xs[0] * 2

        @staticmethod
        def backward(ctx, grad):
            return [grad]

    with pytest.raises(RuntimeError, match="a list of 2 tensors"):
        Short.apply([tl.ones(1, requires_grad=True), tl.ones(1)]).backward()


@pytest.fixture
def fallback() -> Iterator[None]:
    mode = names._get_autograd_fallback_mode()
    yield
    names._set_autograd_fallback_mode(mode)


def test_a_kernel_alone_passes_what_its_calls_recorded(lib: Library, fallback: None) -> None:
    """As in PyTorch, with a warning by default: the function stands for its derivative only if it has one."""
    lib.define("fb(Tensor x) -> (Tensor, Tensor)")
    lib.impl("fb", lambda x: (x.sin(), x.detach() * 2), "CPU")
    assert names._get_autograd_fallback_mode() == "warn"
    x = tl.tensor([0.5, 1.0], requires_grad=True)
    y, z = getattr(tl.ops, lib.ns).fb(x)
    assert y.requires_grad and z.requires_grad
    with pytest.warns(UserWarning, match=f"{lib.ns}::fb: an autograd kernel was not registered"):
        y.sum().backward(retain_graph=True)
    assert x.grad.tolist() == pytest.approx([math.cos(0.5), math.cos(1.0)])
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        assert ta.grad(z.sum(), x, allow_unused=True) == (None,)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="an autograd kernel"):
            y.sum().backward()

    names._set_autograd_fallback_mode("nothing")
    y, z = getattr(tl.ops, lib.ns).fb(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (grad,) = ta.grad(y.sum(), x)
    assert grad.tolist() == pytest.approx([math.cos(0.5), math.cos(1.0)]) and not z.requires_grad

    names._set_autograd_fallback_mode("error")
    y, _ = getattr(tl.ops, lib.ns).fb(x)
    with pytest.raises(RuntimeError, match=f"derivative for {lib.ns}::fb is not implemented"):
        y.sum().backward()
    with pytest.raises(ValueError, match="mode must be"):
        names._set_autograd_fallback_mode("other")


def test_a_write_by_a_kernel_alone_loses_no_gradient(lib: Library, fallback: None) -> None:
    lib.define("fb_(Tensor(a!) x) -> Tensor(a!)")
    lib.impl("fb_", lambda x: x.sin_(), "CPU")
    op = getattr(tl.ops, lib.ns).fb_
    for view in (lambda t: t, lambda t: t[:1]):
        x = tl.tensor([0.5, 1.0], requires_grad=True)
        y = x * 3
        assert op(view(y)) is not None
        with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
            y.sum().backward()
        total = view(y).numel() == 2
        assert x.grad.tolist() == pytest.approx([3 * math.cos(1.5), 3 * math.cos(3.0) if total else 3])

    names._set_autograd_fallback_mode("error")
    y = tl.tensor([0.5, 1.0], requires_grad=True) * 3
    op(y)
    with pytest.raises(RuntimeError, match=f"derivative for {lib.ns}::fb_ is not implemented"):
        y.sum().backward()


def test_lists_and_nothing_from_a_kernel_alone(lib: Library) -> None:
    lib.define("fb(Tensor[] xs, Tensor? y) -> Tensor[]")
    lib.impl("fb", lambda xs, y: [xs[0].detach() + 1, xs[1] * 2], "CPU")
    x = tl.ones(2, requires_grad=True)
    first, second = getattr(tl.ops, lib.ns).fb([x, x], None)
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        (first + second).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with tl.no_grad():
        assert not any(t.requires_grad for t in getattr(tl.ops, lib.ns).fb([x, x], None))
