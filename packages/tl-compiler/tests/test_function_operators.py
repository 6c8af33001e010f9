"""Higher-order operators of `autograd.Function` and of checkpoints."""

import tl_core as tl
from tl_compiler.higher_order.activation_checkpoint import tag_activation_checkpoint
from tl_compiler.higher_order.autograd_function import autograd_function_apply
from tl_core import ops


def test_names():
    assert ops.higher_order.autograd_function_apply is autograd_function_apply
    assert ops.higher_order.tag_activation_checkpoint is tag_activation_checkpoint


def test_a_function_with_its_own_derivative():
    def fwd(ctx, a, n, b):
        return (a * n + b, a.sign()), [a]

    def bwd(ctx, grad, _grad_of_sign, a):
        return grad * 10 * a, grad  # not the derivative, so that its use shows

    x, y = tl.tensor([1.0, -2.0]).requires_grad_(), tl.ones(2).requires_grad_()
    results = autograd_function_apply(
        fwd, bwd, x, 3, y, args_tensor_mask=[True, False, True], non_differentiable_idx=[1]
    )
    assert results[0].requires_grad and not results[1].requires_grad
    assert results[0].tolist() == [4.0, -5.0]
    results[0].sum().backward()
    assert x.grad.tolist() == [10.0, -20.0] and y.grad.tolist() == [1.0, 1.0]


def test_a_checkpoint_recomputes():
    calls = []

    def function(x, scale=1):
        calls.append(scale)
        return (x * scale).exp().sin()

    x = tl.zeros(2).requires_grad_()
    tag_activation_checkpoint(
        function, x, scale=2, use_reentrant=False, preserve_rng_state=False
    ).sum().backward()
    assert calls == [2, 2] and tl.allclose(x.grad, 2 * tl.ones(2).cos())
