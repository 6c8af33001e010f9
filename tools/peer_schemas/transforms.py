"""Derivatives, batches, nodes and writes of a call, which two libraries' outcomes are compared by."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["TRANSFORMS"]

_DIFFERENTIABLE = ("float64", "float32", "complex128", "complex64")


def _flat(value: Any) -> list[Any]:
    """The items of nested lists and tuples."""
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    return [value]


def _waves(library: Any, tensor: Any, phase: float) -> Any:
    """A tensor of the same shape and type, whose numbers differ from each other."""
    numbers = library.tensor(
        [math.cos(1.3 * i + phase) for i in range(tensor.numel())], dtype=library.float64
    )
    return numbers.to(tensor.dtype).reshape(tensor.shape)


def _gradients(
    library: Any, outputs: list[Any], inputs: list[Any], phase: float, create_graph: bool
) -> list[Any]:
    weights = [_waves(library, output, phase) for output in outputs]
    return list(library.autograd.grad(outputs, inputs, weights, create_graph=create_graph, allow_unused=True))


def _recorded(library: Any, values: Any) -> list[Any]:
    return [x for x in _flat(values) if isinstance(x, library.Tensor) and x.requires_grad]


def gradients(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Which results are recorded, and the gradients of the arguments.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    leaves = _leaves(library, args, kwargs)
    result = call(*args, **kwargs)
    flags = [x.requires_grad if isinstance(x, library.Tensor) else None for x in _flat(result)]
    outputs = _recorded(library, result)
    if not outputs or not leaves:
        return flags
    return [*flags, *_gradients(library, outputs, leaves, 0.3, False)]


def second_gradients(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The gradients of the gradients.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    leaves = _leaves(library, args, kwargs)
    outputs = _recorded(library, call(*args, **kwargs))
    if not outputs or not leaves:
        return []
    first = _gradients(library, outputs, leaves, 0.3, True)
    again = _recorded(library, first)
    flags = [x.requires_grad if isinstance(x, library.Tensor) else None for x in first]
    return [*flags, *(_gradients(library, again, leaves, 0.7, False) if again else [])]


def tangents(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The tangents of the results, by forward mode.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    forward = library.autograd.forward_ad

    def dual(value: Any) -> Any:
        if isinstance(value, list):
            return [dual(item) for item in value]
        if isinstance(value, library.Tensor) and _is_differentiable(value):
            return forward.make_dual(value.detach(), _waves(library, value, 0.5))
        return value

    with forward.dual_level():
        inputs = {name: value if name == "out" else dual(value) for name, value in kwargs.items()}
        result = call(*dual(args), **inputs)
        duals = [forward.unpack_dual(x) for x in _flat(result) if isinstance(x, library.Tensor)]
        return [None if pair.tangent is None else pair.tangent.clone() for pair in duals]


def _is_differentiable(tensor: Any) -> bool:
    return str(tensor.dtype).rpartition(".")[2] in _DIFFERENTIABLE


def _leaves(library: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The inputs that can be differentiated, which are leaves from now on."""
    values = [args, [value for name, value in kwargs.items() if name != "out"]]
    tensors = [x for x in _flat(values) if isinstance(x, library.Tensor) and _is_differentiable(x)]
    return [tensor.requires_grad_() for tensor in tensors]


def batches(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The results of `vmap` over two examples, the second of which has halved numbers.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    tensors = [x for x in _flat([args, list(kwargs.values())]) if isinstance(x, library.Tensor)]
    examples = [library.stack([x, x / 2 if _is_differentiable(x) else x], x.dim()) for x in tensors]

    def function(*inputs: Any) -> Any:
        left = iter(inputs)

        def value(item: Any) -> Any:
            if isinstance(item, list):
                return [value(part) for part in item]
            return next(left) if isinstance(item, library.Tensor) else item

        result = call(*value(args), **{name: value(item) for name, item in kwargs.items()})
        return [x for x in _flat(result) if isinstance(x, library.Tensor)]

    return list(library.func.vmap(function, in_dims=-1)(*examples))


def nodes(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The names of the nodes that record the results.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    _leaves(library, args, kwargs)
    return [x.grad_fn and x.grad_fn.name() for x in _recorded(library, call(*args, **kwargs))]


def writes(library: Any, call: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The gradients of the arguments where the results are doubled, each through a view of it.

    Args:
        library: the module.
        call: the operator.
        args: its arguments.
        kwargs: its arguments by name.
    """
    leaves = _leaves(library, args, kwargs)
    outputs = _recorded(library, call(*args, **kwargs))
    for output in outputs:
        output.unsqueeze(0)[0].mul_(2)
    return _gradients(library, outputs, leaves, 0.3, False) if outputs and leaves else []


TRANSFORMS = {
    "gradients": gradients,
    "second gradients": second_gradients,
    "tangents": tangents,
    "batches": batches,
    "nodes": nodes,
    "writes": writes,
}
