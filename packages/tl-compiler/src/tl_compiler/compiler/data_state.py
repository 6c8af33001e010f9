"""The description of data in the state of a call: tensors, containers, objects of NumPy and of Python's library."""

from __future__ import annotations

import collections
import types
import weakref
from typing import Any, Protocol

import tl_core

from .state import Unprovable

__all__ = [
    "Walk",
    "describe_mapping",
    "describe_numpy",
    "describe_sequence",
    "describe_set",
    "describe_slice",
    "describe_standard",
    "describe_tensor",
]


class Walk(Protocol):
    """The walk over the objects of a state."""

    tokens: list[Any]
    tensors: list[Any]
    names: list[str]
    sizes: list[tuple[tuple[int, ...], tuple[int, ...]]]
    contents: list[tuple[Any, Any]]

    def visit(self, x: Any, path: str) -> None:
        """Describes an object."""

    def identity(self, x: Any, path: str = "") -> None:
        """Describes an object by its id."""


def describe_tensor(walk: Walk, x: Any, path: str) -> None:
    """Describes a tensor. The key leaves out its sizes and strides.

    Args:
        walk: the walk.
        x: the tensor.
        path: the name of the tensor.
    """
    if x.layout is not tl_core.strided or x.is_quantized:
        raise Unprovable(f"{path} is a tensor of the layout {x.layout}")
    state = x.is_conj(), x.is_neg(), x.is_inference(), x.names if x.has_names() else None
    walk.tokens += (
        type(x),
        x.dtype,
        x.ndim,
        x.device,
        x.requires_grad,
        x.is_leaf,
        *state,
    )
    walk.tensors.append(x)
    walk.names.append(path)
    walk.sizes.append((tuple(x.shape), x.stride()))
    if x.__dict__:
        walk.tokens += tuple(sorted(name for name in x.__dict__ if not name.startswith("_dynamo")))


def describe_slice(walk: Walk, x: Any, path: str) -> None:
    """Describes a slice.

    Args:
        walk: the walk.
        x: the slice.
        path: the name of the slice.
    """
    walk.tokens.append(slice)
    for part in (x.start, x.stop, x.step):
        walk.visit(part, path)


def describe_sequence(walk: Walk, x: Any, path: str) -> None:
    """Describes a list, a tuple or a deque.

    Args:
        walk: the walk.
        x: the container.
        path: the name of the container.
    """
    walk.tokens += (type(x), len(x))
    if not isinstance(x, tuple):
        walk.contents.append((x, list(x)))
    for i, item in enumerate(x):
        walk.visit(item, f"{path}_{i}")


def describe_set(walk: Walk, x: Any, path: str) -> None:
    """Describes a set, in the order of the texts of its items.

    Args:
        walk: the walk.
        x: the set.
        path: the name of the set.
    """
    walk.tokens += (type(x), len(x))
    if not isinstance(x, frozenset):
        walk.contents.append((x, list(x)))
    for item in sorted(x, key=repr):
        walk.visit(item, path)


def describe_mapping(walk: Walk, x: Any, path: str) -> None:
    """Describes a dictionary.

    Args:
        walk: the walk.
        x: the dictionary.
        path: the name of the dictionary.
    """
    walk.tokens += (type(x), len(x))
    items = list(x.items())
    if not isinstance(x, types.MappingProxyType):
        walk.contents.append((x, items))
    if isinstance(x, collections.defaultdict):
        walk.visit(x.default_factory, f"{path}_default")
    for key, value in items:
        walk.visit(key, path)
        walk.visit(value, f"{path}_{key}" if isinstance(key, (str, int)) else path)


def describe_numpy(walk: Walk, x: Any, path: str) -> None:
    """Describes an object of NumPy: a scalar by its bytes, a function or dtype by its id.

    Args:
        walk: the walk.
        x: the object.
        path: the name of the object.
    """
    kind = type(x)
    if kind.__name__ in ("ufunc",) or (hasattr(x, "newbyteorder") and not hasattr(x, "shape")):
        walk.identity(x)
    elif hasattr(x, "tobytes") and not hasattr(x, "__setitem__"):
        walk.tokens += (kind, x.tobytes())
    else:
        raise Unprovable(f"{path} is a NumPy {kind.__name__}")


def describe_standard(walk: Walk, x: Any, path: str) -> None:
    """Describes an object of Python's library: an object of a class in Python by its id.

    No code of such a class may run during a capture.

    Args:
        walk: the walk.
        x: the object.
        path: the name of the object.
    """
    kind = type(x)
    if (
        kind.__flags__ & (1 << 9)
        and not isinstance(x, (dict, list, set))
        and kind is not weakref.ReferenceType
    ):
        walk.identity(x)
    else:
        raise Unprovable(f"{path} is a {kind.__module__}.{kind.__qualname__}")
