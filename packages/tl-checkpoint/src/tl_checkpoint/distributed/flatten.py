"""Conversion between nested and flat state dicts."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import tl_core

__all__ = ["Path", "flatten_state_dict", "is_tensor", "set_element", "stored_path", "unflatten_state_dict"]

Path = tuple[Any, ...]


def is_tensor(value: Any) -> bool:
    """Whether a value is stored as a tensor: it is one, or has methods for its chunks (`planner_helpers`)."""
    return isinstance(value, tl_core.Tensor) or hasattr(value, "__create_write_items__")


def flatten_state_dict(
    state_dict: Mapping[str, Any], whole: Container[str] = ()
) -> tuple[dict[str, Any], dict[str, Path]]:
    """The leaves of a nested dict by name, and the keys that lead to each.

    Dicts are entered unless they are empty, and lists that hold dicts or tensors. Everything else is a leaf, and so are
    values with a name in `whole`.

    >>> flatten_state_dict({"a": {"b": 1}, "c": [1, 2], "d": [{"e": 3}]})
    ({'a.b': 1, 'c': [1, 2], 'd.0.e': 3}, {'a.b': ('a', 'b'), 'c': ('c',), 'd.0.e': ('d', 0, 'e')})
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}
    for path, value in _leaves((), state_dict, whole):
        name = _name(path)
        if name in flat:
            raise ValueError(
                f"two entries of the state dict have the name {name!r}: {paths[name]} and {path}"
            )
        flat[name], paths[name] = value, path
    return flat, paths


def _name(path: Path) -> str:
    return ".".join(map(str, path))


def _leaves(path: Path, value: Any, leaf_names: Container[str]) -> Iterator[tuple[Path, Any]]:
    entries: Iterable[tuple[Any, Any]]
    if isinstance(value, Mapping) and (value or not path):
        entries = value.items()
    elif isinstance(value, list) and _is_entered(value):
        entries = enumerate(value)
    else:
        yield path, value
        return
    if path and _name(path) in leaf_names:
        yield path, value
        return
    for key, entry in entries:
        yield from _leaves((*path, key), entry, leaf_names)


def _is_entered(values: list[Any]) -> bool:
    return any(
        is_tensor(value) or isinstance(value, Mapping) or (isinstance(value, list) and _is_entered(value))
        for value in values
    )


def stored_path(root: Mapping[str, Any], path: Path) -> Path:
    """A path as in files: integers are positions in lists, integer keys of dicts become texts."""
    keys: list[Any] = []
    at: Any = root
    for key in path:
        keys.append(str(key) if isinstance(at, Mapping) else key)
        at = at[key]
    return tuple(keys)


def set_element(root: Any, path: Path, value: Any) -> None:
    """Sets the value at a path; makes missing dicts and lists.

    Args:
        root: the outermost dict.
        path: keys and positions, from the outside in.
        value: the new value.
    """
    at = root
    for key, following in itertools.pairwise(path):
        at = _enter(at, key, [] if type(following) is int else {})
    _put(at, path[-1], value)


def _enter(container: Any, key: Any, default: Any) -> Any:
    missing = len(container) <= key if isinstance(container, list) else key not in container
    if missing or container[key] is None:
        _put(container, key, default)
    return container[key]


def _put(container: Any, key: Any, value: Any) -> None:
    if isinstance(container, list):
        container.extend([None] * (key + 1 - len(container)))
    container[key] = value


def unflatten_state_dict(flat: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """The nested dict of flat entries and their paths.

    >>> unflatten_state_dict({"a.b": 1, "d.0.e": 3}, {"a.b": ("a", "b"), "d.0.e": ("d", 0, "e")})
    {'a': {'b': 1}, 'd': [{'e': 3}]}
    """
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        set_element(nested, paths.get(name, (name,)), value)
    return nested
