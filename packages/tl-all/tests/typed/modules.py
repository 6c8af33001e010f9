"""Modules of a library's own: generics, hooks, containers, lazy layers, parametrizations, subclasses of Tensor."""

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar, cast

import tl as torch
from tl import Tensor, nn
from tl.nn.modules.module import _IncompatibleKeys
from tl.nn.parameter import Parameter, UninitializedParameter
from tl.nn.utils import parametrize
from tl.utils.hooks import RemovableHandle

M = TypeVar("M", bound=nn.Module)


class HasWidth(Protocol):
    width: int


class Residual(nn.Module, Generic[M]):
    def __init__(self, inner: M, scale: float = 1.0) -> None:
        super().__init__()
        self.inner = inner
        self.scale = Parameter(torch.tensor(scale))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = x + self.scale * self.inner(x)
        return y


class Encoder(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.width = width
        self.layers = nn.ModuleList(Residual(nn.Linear(width, width)) for _ in range(depth))
        self.heads = nn.ModuleDict({"a": nn.Linear(width, 2), "b": nn.Linear(width, 3)})
        self.scales = nn.ParameterList([Parameter(torch.ones(1)) for _ in range(depth)])
        self.attention = nn.MultiheadAttention(width, num_heads=2, batch_first=True)
        self.lazy = nn.LazyLinear(4)

    def forward(self, x: Tensor, *, head: str = "a", mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        for layer, scale in zip(self.layers, self.scales, strict=True):
            x = layer(x) * scale
        attended, weights = self.attention(x, x, x, attn_mask=mask, need_weights=True)
        return self.heads[head](attended), weights

    def blocks(self) -> Iterator[nn.Module]:
        yield from self.layers


class Recorder:
    def __init__(self, model: nn.Module) -> None:
        self.outputs: dict[str, torch.Size] = {}
        self.handles: list[RemovableHandle] = [
            module.register_forward_hook(self.hook(name)) for name, module in model.named_modules()
        ]

    def hook(self, name: str) -> Any:
        def record(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            if isinstance(output, Tensor):
                self.outputs[name] = output.shape

        return record

    def close(self) -> None:
        for handle in self.handles:
            handle.remove()


class Symmetric(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: Tensor) -> Tensor:
        return x.triu()


class Labelled(torch.Tensor):
    label: str

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


def width_of(model: HasWidth) -> int:
    return model.width


def first(model: nn.Module, kind: type[M]) -> M:
    return next(m for m in model.modules() if isinstance(m, kind))


def main() -> None:
    torch.manual_seed(0)
    model = Encoder(4, 2)
    recorder = Recorder(model)
    output, weights = model(torch.randn(2, 3, 4), head="b")
    recorder.close()
    print(
        output.shape,
        weights.shape,
        width_of(model),
        len(recorder.outputs),
        first(model, nn.Linear).in_features,
    )
    keys: _IncompatibleKeys = model.load_state_dict(model.state_dict())
    print(
        keys.missing_keys,
        isinstance(model.lazy.weight, UninitializedParameter),
        len(model.layers),
        model.layers[0],
    )
    model.layers.append(Residual(nn.Identity()))
    model.layers.extend([nn.Identity()])
    for key, head in model.heads.items():
        print(key, cast("nn.Linear", head).out_features)
    model.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    pre = model.register_forward_pre_hook(lambda module, args: None)
    pre.remove()
    square = nn.Linear(3, 3)
    parametrize.register_parametrization(square, "weight", Symmetric())
    print(torch.equal(square.weight, square.weight.mT), parametrize.is_parametrized(square))
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    x = torch.ones(2, requires_grad=True)
    handle = x.register_hook(lambda g: g * 2)
    normed(x).sum().backward()
    handle.remove()
    labelled = torch.ones(2).as_subclass(Labelled)
    labelled.label = "a"
    print(
        labelled.label, type(labelled + 1).__name__, sum(p.numel() for p in model.parameters(recurse=False))
    )


if __name__ == "__main__":
    main()
