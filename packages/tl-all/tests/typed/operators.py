"""Operators of a program: custom_op, fakes, derivatives, batches, and tensors of other classes."""

from typing import Any

import tl as torch
from tl import Tensor
from tl.library import custom_op, opcheck, register_autograd, register_fake
from tl.overrides import TorchFunctionMode
from tl.utils._python_dispatch import TorchDispatchMode


@custom_op("typed::scaled", mutates_args=())
def scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor


@scaled.register_fake
def _(x: Tensor, factor: float) -> Tensor:
    return torch.empty_like(x)


def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return grad * ctx.factor, None


def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
    ctx.factor = inputs[1]


register_autograd("typed::scaled", backward, setup_context=setup_context)


@custom_op("typed::fill", mutates_args=("x",))
def fill(x: Tensor, value: float) -> None:
    x.fill_(value)


@register_fake("typed::fill")
def _fill(x: Tensor, value: float) -> None:
    return None


class Names(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.names.append(torch.overrides.resolve_name(func) or "")
        return func(*args, **(kwargs or {}))


class Calls(TorchDispatchMode):
    n_calls = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.n_calls += 1
        return func(*args, **(kwargs or {}))


def main() -> None:
    x = torch.ones(3, requires_grad=True)
    scaled(x, 2.0).sum().backward()
    print(x.grad, opcheck(scaled, (torch.ones(2), 2.0)))
    y = torch.zeros(2)
    fill(y, 3.0)
    with Names() as names, Calls() as calls:
        y.add(1).relu()
    print(y.tolist(), names.names, calls.n_calls, torch.ops.typed.scaled(y, 2.0).shape)


if __name__ == "__main__":
    main()
