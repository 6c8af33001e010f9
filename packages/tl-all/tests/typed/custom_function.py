"""Functions with a derivative of their own, and second derivatives."""

from typing import Any

import tl as torch
from tl import Tensor, autograd
from tl.autograd import Function, gradcheck
from tl.autograd.function import FunctionCtx, once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad_output * ctx.scale * 3 * x**2, None


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> Tensor:
        return grad


class Multiply(autograd.Function):
    @staticmethod
    def forward(x: Tensor, y: Tensor) -> Tensor:
        return x * y

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, y = ctx.saved_tensors
        gx = grads[0] * y if ctx.needs_input_grad[0] else None
        gy = grads[0] * x if ctx.needs_input_grad[1] else None
        return gx, gy


def hessian_vector_product(x: Tensor, v: Tensor) -> Tensor:
    y = (x**4).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (hv,) = torch.autograd.grad([g], [x], grad_outputs=[v], retain_graph=True, allow_unused=False)
    return hv


def main() -> None:
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    y: Tensor = Cube.apply(x, 2.0)
    y.sum().backward()
    assert x.grad is not None
    print(x.grad, x.grad.norm(), x.is_leaf, y.grad_fn)
    print(gradcheck(Multiply.apply, (x, x.detach().clone().requires_grad_())))
    z: Tensor = StraightThrough.apply(x)
    z.backward(torch.ones_like(z))
    print(hessian_vector_product(x, torch.ones_like(x)))
    with autograd.detect_anomaly(), torch.enable_grad():
        torch.exp(x).sum().backward(retain_graph=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
        w = (x * x).sum()
    w.backward()
    jacobian = torch.autograd.functional.jacobian(lambda t: t**2, x.detach())
    print(jacobian)
    with torch.inference_mode():
        print((x + 1).is_inference())
    with torch.set_grad_enabled(False):
        print((x + 1).requires_grad, torch.is_grad_enabled())
    x.grad.zero_()
    x.grad = None


if __name__ == "__main__":
    main()
