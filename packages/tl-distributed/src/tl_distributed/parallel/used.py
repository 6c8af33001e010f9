"""The leaves of the graph that some outputs depend on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from tl_core import Tensor


def used_leaves(outputs: Any) -> set[int]:
    """The ids of the leaves that the tensors in `outputs` depend on.

    Args:
        outputs: a tensor, or tensors in lists, tuples, dictionaries and data classes.
    """
    leaves: set[int] = set()
    visited: set[Any] = set()
    waiting: list[Any] = []
    for tensor in _tensors(outputs):
        if tensor.grad_fn is not None:
            waiting.append(tensor.grad_fn)
        elif tensor.requires_grad:
            leaves.add(id(tensor))
    while waiting:
        node = waiting.pop()
        if node in visited:
            continue
        visited.add(node)
        if hasattr(node, "variable"):
            leaves.add(id(node.variable))
        waiting.extend(following for following, _ in node.next_functions if following is not None)
    return leaves


def _tensors(outputs: Any) -> Iterator[Tensor]:
    if isinstance(outputs, Tensor):
        yield outputs
    elif isinstance(outputs, Mapping):
        for value in outputs.values():
            yield from _tensors(value)
    elif isinstance(outputs, list | tuple | set):
        for value in outputs:
            yield from _tensors(value)
    elif dataclasses.is_dataclass(outputs) and not isinstance(outputs, type):
        for field in dataclasses.fields(outputs):
            yield from _tensors(getattr(outputs, field.name))
