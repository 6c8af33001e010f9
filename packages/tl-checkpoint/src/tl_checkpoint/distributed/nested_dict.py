"""`torch.distributed.checkpoint._nested_dict` and `_traverse`: nested state dicts as flat ones, and walks over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .flatten import flatten_state_dict as _flatten
from .flatten import is_tensor
from .flatten import unflatten_state_dict as _unflatten

__all__ = ["flatten_state_dict", "traverse_state_dict", "unflatten_state_dict"]

OBJ_PATH: TypeAlias = tuple[Any, ...]
FLATTEN_MAPPING: TypeAlias = dict[str, OBJ_PATH]


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], FLATTEN_MAPPING]:
    """The leaves of a nested dict by name, and the keys that lead to each.

    Args:
        state_dict: the nested state dict.

    Example:
        >>> flatten_state_dict({"a": {"b": 1}})
        ({'a.b': 1}, {'a.b': ('a', 'b')})
    """
    return _flatten(state_dict)


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: FLATTEN_MAPPING) -> dict[str, Any]:
    """The nested dict of the leaves, the inverse of `flatten_state_dict`.

    Args:
        state_dict: the leaves by name.
        mapping: the keys that lead to each.

    Example:
        >>> unflatten_state_dict({"a.b": 1}, {"a.b": ("a", "b")})
        {'a': {'b': 1}}
    """
    return _unflatten(dict(state_dict), mapping)


def traverse_state_dict(
    state_dict: Mapping[str, Any],
    visitor: Callable[[OBJ_PATH, Any], None],
    keep_traversing: Callable[[Any], bool] = is_tensor,
) -> None:
    """Calls a function with each leaf of a nested dict and the keys that lead to it.

    Dicts are entered, and lists and tuples that hold a dict, or something for which `keep_traversing` is true.

    Args:
        state_dict: the nested state dict.
        visitor: called with the keys and the leaf.
        keep_traversing: predicate of an element; a list with a match is entered.

    Example:
        >>> traverse_state_dict({"a": {"b": 1}, "c": [1, 2]}, lambda path, leaf: print(path, leaf))
        ('a', 'b') 1
        ('c',) [1, 2]
    """

    def is_entered(value: Any) -> bool:
        if isinstance(value, Mapping):
            return True
        return isinstance(value, (list, tuple)) and any(
            is_entered(item) or keep_traversing(item) for item in value
        )

    def walk(path: OBJ_PATH, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                walk((*path, key), item)
        elif is_entered(value):
            for index, item in enumerate(value):
                walk((*path, index), item)
        else:
            visitor(path, value)

    walk((), state_dict)
