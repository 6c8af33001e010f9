"""Nested containers of tensors divided among devices, and joined again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tl_core import Tensor

from . import comm

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The tensors in a container divided along a dimension, everything else repeated: one container a device.

    Args:
        inputs: the arguments: tensors in tuples, lists and dictionaries.
        target_gpus: the devices.
        dim: the dimension along which tensors are divided or joined.

    Example:
        >>> import tl_core
        >>> from tl_nn.parallel import scatter
        >>> scatter({"x": tl_core.arange(2), "name": "a"}, ["cpu", "cpu"])
        [{'x': tensor([0]), 'name': 'a'}, {'x': tensor([1]), 'name': 'a'}]
    """
    if isinstance(inputs, Tensor):
        return list(comm.scatter(inputs, target_gpus, dim=dim))
    if isinstance(inputs, tuple) and hasattr(inputs, "_fields") and inputs:
        return [type(inputs)(*parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, tuple) and inputs:
        return _each(inputs, target_gpus, dim)
    if isinstance(inputs, list) and inputs:
        return [list(parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, dict) and inputs:
        parts = _each(list(inputs.values()), target_gpus, dim)
        return [type(inputs)(zip(inputs, part, strict=True)) for part in parts]
    return [inputs for _ in target_gpus]


def _each(values: Any, target_gpus: Sequence[Any], dim: int) -> list[Any]:
    return list(zip(*(scatter(value, target_gpus, dim) for value in values), strict=False))


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Arguments and keyword arguments for each device, in lists of equal length.

    Args:
        inputs: the arguments: tensors in tuples, lists and dictionaries.
        kwargs: the keyword arguments.
        target_gpus: the devices.
        dim: the dimension along which tensors are divided or joined.

    Example:
        >>> scatter_kwargs((), {}, [0])  # doctest: +SKIP
    """
    inputs_by_device = scatter(inputs, target_gpus, dim) if inputs else []
    kwargs_by_device = scatter(kwargs, target_gpus, dim) if kwargs else []
    inputs_by_device += [()] * (len(kwargs_by_device) - len(inputs_by_device))
    kwargs_by_device += [{}] * (len(inputs_by_device) - len(kwargs_by_device))
    return tuple(inputs_by_device), tuple(kwargs_by_device)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """The results of several devices, joined on one. Tensors without dimensions become a vector.

    Args:
        outputs: a container of each device.
        target_device: the device of the result, or -1 or "cpu".
        dim: the dimension along which tensors are divided or joined.

    Example:
        >>> import tl_core
        >>> gather([tl_core.tensor([1.0]), tl_core.tensor([2.0])], "cpu")
        tensor([1., 2.])
    """
    first = outputs[0]
    if isinstance(first, Tensor):
        parts = [output.unsqueeze(0) if output.dim() == 0 else output for output in outputs]
        return comm.gather(parts, dim, target_device)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(len(output) != len(first) for output in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)(
            (key, gather([each[key] for each in outputs], target_device, dim)) for key in first
        )
    results = [gather(list(parts), target_device, dim) for parts in zip(*outputs, strict=True)]
    return type(first)(*results) if hasattr(first, "_fields") else type(first)(results)
