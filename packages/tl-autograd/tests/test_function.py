"""Functions with a derivative written in Python."""

from typing import Any, NamedTuple

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import forward_ad, function
from tl_autograd.function import once_differentiable


def leaf(*values):
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


class Square(tl_autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Exp(tl_autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_first_and_second_derivative():
    x = leaf(1.0, 3.0)
    y = Square.apply(x)
    assert y.grad_fn.name() == "SquareBackward" and isinstance(y.grad_fn, tl_autograd.graph.Node)
    (first,) = tl_autograd.grad(y.sum(), x, create_graph=True)
    assert first.tolist() == [2.0, 6.0]
    assert tl_autograd.grad(first.sum(), x)[0].tolist() == [2.0, 2.0]


def test_saved_outputs_and_setup_context():
    x = leaf(0.0, 1.0)
    assert tl_autograd.gradcheck(Exp.apply, x) and tl_autograd.gradgradcheck(Exp.apply, x)


def test_arguments_that_are_no_tensors():
    class Scale(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, name=None):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, g):
            assert ctx.needs_input_grad == (True, False)
            return g * ctx.factor, None

    x = leaf(1.0)
    Scale.apply(x, 4.0).backward()
    assert x.grad.item() == 4.0


def test_several_outputs_and_materialized_gradients():
    records = []

    class Two(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, "text", x * 3

        @staticmethod
        def backward(ctx, a, text, b):
            records.append((a, text, b))
            return (0 if a is None else a * 2) + (0 if b is None else b * 3), None

    x = leaf(1.0)
    _, text, b = Two.apply(x, True)
    assert text == "text"
    b.backward()
    assert records[-1][0].item() == 0.0 and x.grad.item() == 3.0
    Two.apply(x, False)[2].backward()
    assert records[-1][0] is None


def test_dirty_inputs():
    class Double(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    y = x * 1.0
    z = Double.apply(y)
    assert z is y
    z.backward()
    assert x.grad.item() == 2.0
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        Double.apply(leaf(1.0))


def test_outputs_without_a_derivative():
    class Sort(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            copy = x.clone()
            ctx.mark_non_differentiable(copy)
            return x * 2, copy

        @staticmethod
        def backward(ctx, g, ignored):
            return g * 2

    a, b = Sort.apply(leaf(1.0))
    assert a.requires_grad and not b.requires_grad


def test_an_input_handed_out_is_another_tensor():
    class Identity(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 10

    x = leaf(1.0)
    y = Identity.apply(x)
    assert y is not x and x.is_leaf
    y.backward()
    assert x.grad.item() == 10.0


def test_once_differentiable():
    class Once(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    y = Once.apply(x)
    (first,) = tl_autograd.grad(y * y, x, create_graph=True)
    assert first.item() == 108.0
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        first.backward()


def test_wrong_gradients_are_refused():
    def function(result):
        class F(tl_autograd.Function):
            @staticmethod
            def forward(ctx, x, n):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return result

        return F

    x = leaf(1.0, 2.0)
    one = tl.ones(2, dtype=tl.float64)
    for result, error, text in (
        ((one,), RuntimeError, "returned an incorrect number of gradients"),
        ((tl.ones(3, dtype=tl.float64), None), RuntimeError, "expected shape compatible with"),
        ((one, one), RuntimeError, "returned a gradient different from None at position 2"),
        (("text", None), RuntimeError, "expected a Tensor or None"),
    ):
        with pytest.raises(error, match=text):
            function(result).apply(x, 3).sum().backward()


def test_freed_saved_tensors():
    y = Square.apply(leaf(1.0))
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_changed_saved_tensors():
    x = leaf(1.0)
    w = x * 1.0
    y = Square.apply(w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_exceptions_keep_their_type():
    class Broken(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        Broken.apply(leaf(1.0)).backward()


def test_misuse():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = Square()
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        instance(leaf(1.0))
    with pytest.raises(NotImplementedError, match="forward function"):
        tl_autograd.Function.apply(leaf(1.0))


def test_attributes_of_the_context_are_those_of_grad_fn():
    class Keep(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note = "kept"
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g

    y = Keep.apply(leaf(1.0))
    assert y.grad_fn.note == "kept" and y.grad_fn is y.grad_fn
    assert y.grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"


def test_nothing_is_recorded_without_need():
    y = Square.apply(tl.ones(2))
    assert not y.requires_grad
    with tl.no_grad():
        assert not Square.apply(leaf(1.0)).requires_grad


def test_nested_arguments_results_and_saved_tensors():
    class Pair(tl_autograd.function.NestedIOFunction):
        @staticmethod
        def forward_extended(ctx, pair, named):
            ctx.save_for_backward(pair, {"w": named["w"]})
            return [pair[0] * named["w"], {"sum": pair[0] + pair[1]}]

        @staticmethod
        def backward_extended(ctx, product, rest):
            (a, _), named = ctx.saved_tensors
            return product * named["w"] + rest["sum"], rest["sum"], product * a

    a, b, w = leaf(2.0), leaf(3.0), leaf(5.0)
    product, rest = Pair.apply((a, b), {"w": w})
    assert product.item() == 10.0 and rest["sum"].item() == 5.0
    assert product.grad_fn.name() == "PairBackward"
    (product + 10 * rest["sum"]).backward()
    assert [x.grad.item() for x in (a, b, w)] == [15.0, 10.0, 2.0]


class Named(NamedTuple):
    x: Any
    w: Any


def test_nested_named_tuples():
    class Product(tl_autograd.function.NestedIOFunction):
        @staticmethod
        def forward_extended(ctx, pair):
            ctx.save_for_backward(pair)
            return Named(pair.x * pair.w, pair.x)

        @staticmethod
        def backward_extended(ctx, product, x):
            (pair,) = ctx.saved_tensors
            return product * pair.w + x, product * pair.x

    pair = Named(leaf(2.0), leaf(5.0))
    result = Product.apply(pair)
    assert type(result) is Named and result.x.item() == 10.0
    (result.x + result.w).backward()
    assert [x.grad.item() for x in pair] == [6.0, 2.0]


# ---- tangents that do not follow their primals


def push(forward, jvp, x=None):
    result = type(
        "Made", (tl_autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)}
    )
    x = tl.ones(3, dtype=tl.float64) if x is None else x
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tl.ones_like(x))
        return forward_ad.unpack_dual(result.apply(dual)).tangent


def test_tangents_of_views_are_views():
    def narrow(ctx, x):
        return x.narrow(0, 0, 2)

    assert push(narrow, lambda ctx, t: t.narrow(0, 0, 2)).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="jvp is not returning a view"):
        push(narrow, lambda ctx, t: t.narrow(0, 0, 2).clone())
    with pytest.raises(RuntimeError, match="jvp is not returning a view of the given"):
        push(narrow, lambda ctx, t: t.narrow(0, 0, 2).clone().view(2))
    with pytest.raises(RuntimeError, match="returning a view \\(or an input as-is\\)"):
        push(lambda ctx, x: x, lambda ctx, t: t * 2)


def test_tangents_of_written_tensors_are_written():
    def double(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    assert push(double, lambda ctx, t: t.mul_(2)).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
        push(double, lambda ctx, t: t * 2)


def test_constants_have_no_tangent():
    def constant(ctx, x):
        y = x.clone()
        ctx.mark_non_differentiable(y)
        return y

    assert push(constant, lambda ctx, t: None) is None
    with pytest.raises(RuntimeError, match="return None at that position instead"):
        push(constant, lambda ctx, t: t)


def test_defaults_of_forward_reach_setup_context():
    class Power(tl_autograd.Function):
        @staticmethod
        def forward(x, n=3):
            return x**n

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def backward(ctx, g):
            with pytest.warns(DeprecationWarning, match="saved_variables"):
                (x,) = ctx.saved_variables
            return g * ctx.n * x ** (ctx.n - 1), None

    x = tl.tensor(2.0, requires_grad=True)
    Power.apply(x).backward()
    assert x.grad.item() == 12.0


@pytest.mark.parametrize("filled", [True, False])
def test_outputs_without_a_gradient_may_stay_none(filled):
    records = []

    class Twice(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            first, second = x.clone(), x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = filled
            return first, second

        @staticmethod
        def backward(ctx, g, of_constant):
            records.append(of_constant)
            return g

    Twice.apply(leaf(1.0))[0].backward()
    assert (records[0] is not None) == filled


class _Pass(tl_autograd.Function):
    @staticmethod
    def forward(ctx, *tensors):
        return tensors

    @staticmethod
    def backward(ctx, *grads):
        return grads


def _sum_of(x):
    v = tl.zeros(3)
    v += x
    v *= 2
    return v


def test_an_input_that_was_written_before_is_handed_out():
    x = tl.ones(3, requires_grad=True)
    v, w = _Pass.apply(_sum_of(x), _sum_of(x))
    (v + 3 * w).sum().backward()
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


def test_a_write_after_it_was_handed_out_is_refused():
    x = tl.ones(3, requires_grad=True)
    v = _sum_of(x)
    (w,) = _Pass.apply(v)
    v *= 2
    with pytest.raises(RuntimeError, match="modified inplace"):
        w.grad_fn  # noqa: B018


def test_a_context_is_the_node_of_its_call():
    y = Square.apply(leaf(3.0))
    node = y.grad_fn
    assert isinstance(node, function.BackwardCFunction) and isinstance(node, function.FunctionCtx)
    assert node.apply(tl.tensor([2.0], dtype=tl.float64)).item() == 12.0
    with pytest.warns(DeprecationWarning, match="saved_variables"):
        assert node.saved_variables[0].item() == 3.0


def test_tangents_by_the_context():
    class Scaled(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            return x * k

        @staticmethod
        def jvp(ctx, t, _):
            return t * ctx.k

    ctx, output = function.apply_with_context(Scaled, (leaf(2.0), 5.0), {})
    assert output.item() == 10.0 and ctx.apply_jvp(tl.tensor(3.0), None).item() == 15.0
    assert ctx.needs_input_grad == (True, False)


def test_recorded_calls():
    x = leaf(3.0)
    y = function.apply_recorded(Exp, (x,), {})
    y.backward()
    assert x.grad.item() == pytest.approx(y.item())
    with tl.no_grad():
        assert function.apply_recorded(Exp, (x,), {}).grad_fn is None
    assert function.backward_of(Exp) is Exp.backward


def test_outputs_are_recorded_on_a_context():
    x = leaf(3.0)
    ctx = Square._backward_cls()
    ctx.save_for_backward(x)
    with tl.no_grad():
        result = x * x
    y = function.record_outputs(ctx, (x,), result)
    assert y.grad_fn is ctx and tl_autograd.grad(y, x)[0].item() == 6.0
    ctx = Square._backward_cls()
    ctx.mark_dirty(x)
    with pytest.raises(RuntimeError, match="SquareBackward"):
        function.record_outputs(ctx, (x,), result)


def test_arguments_have_the_defaults_of_forward():
    def forward(x, k=2.0, name="last"):
        return x

    assert function.inputs_with_defaults(forward, (1,)) == (1, 2.0, "last")
    assert function.inputs_with_defaults(forward, (1, 3.0)) == (1, 3.0, "last")
    assert function.inputs_with_defaults(lambda x: x, (1,)) == (1,)


def test_functions_in_place_by_an_attribute():
    class Doubled(function.InplaceFunction):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x = leaf(1.0)
    y = x.clone()
    assert Doubled.apply(y) is y and Doubled(inplace=True).inplace and not Doubled().inplace
    y.backward()
    assert x.grad.item() == 2.0


def test_a_context_with_an_attribute_of_the_name_name():
    class Labelled(tl_autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.name = "label"
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    result = Labelled.apply(tl.ones(2, requires_grad=True))
    assert repr(result) == "tensor([2., 2.], grad_fn=<LabelledBackward>)"
