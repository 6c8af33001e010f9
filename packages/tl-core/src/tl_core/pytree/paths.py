"""Where leaves stand in nested containers."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tl_core.pytree.trees import (
    KEYED_CHILDREN,
    SUPPORTED_NODES,
    PyTree,
    TreeSpec,
    _is_namedtuple_instance,
    node_type,
    tree_flatten,
)

__all__ = [
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "MappingKey",
    "SequenceKey",
    "key_get",
    "keystr",
    "tree_flatten_with_path",
    "tree_leaves_with_path",
    "tree_map_with_path",
]


@dataclass(frozen=True)
class SequenceKey:
    """The place of an item in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The item of a sequence at the place."""
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """The key of an item in a dictionary."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item of a dictionary under the key."""
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of an object."""
        return getattr(obj, self.name)


KeyEntry = Any
KeyPath = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """A path as an expression behind a name: `[0]['weight']`.

    Args:
        kp: the path.

    Example:
        >>> keystr((SequenceKey(0), MappingKey("weight")))
        "[0]['weight']"
    """
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What stands at a path.

    Args:
        obj: the containers.
        kp: the path.
    """
    for key in kp:
        obj = key.get(obj)
    return obj


def _keyed_children(tree: Any) -> list[tuple[Any, Any]]:
    kind = node_type(tree)
    if kind in KEYED_CHILDREN:
        return list(KEYED_CHILDREN[kind](tree)[0])
    children, _ = SUPPORTED_NODES[kind].flatten_fn(tree)
    if _is_namedtuple_instance(tree):
        return [(GetAttrKey(name), child) for name, child in zip(tree._fields, children, strict=True)]
    if kind in (dict, OrderedDict, defaultdict):
        return [(MappingKey(key), child) for key, child in tree.items()]
    return [(SequenceKey(i), child) for i, child in enumerate(children)]


def _gather(
    tree: Any, path: KeyPath, leaves: list[tuple[KeyPath, Any]], is_leaf: Callable[[Any], bool] | None
) -> None:
    if node_type(tree) not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append((path, tree))
        return
    for key, child in _keyed_children(tree):
        _gather(child, (*path, key), leaves, is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of nested containers with their paths, and the structure.

    Args:
        tree: the containers.
        is_leaf: tells of which containers not to go into.

    Returns:
        Pairs of path and leaf, and the structure.

    Example:
        >>> tree_flatten_with_path({"a": [1]})[0]
        [((MappingKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_leaves_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> list[tuple[KeyPath, Any]]:
    """The leaves of nested containers with their paths.

    Args:
        tree: the containers.
        is_leaf: tells of which containers not to go into.

    Returns:
        Pairs of path and leaf.
    """
    leaves: list[tuple[KeyPath, Any]] = []
    _gather(tree, (), leaves, is_leaf)
    return leaves


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """Containers of the same structure, with what a function makes of each path and leaf.

    Args:
        func: takes a path, and a leaf of each tree.
        tree: the containers.
        rests: others of the same structure.
        is_leaf: tells of which containers not to go into.

    Returns:
        The containers.
    """
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    rows = zip(leaves, *columns, strict=True)
    return spec.unflatten(func(path, leaf, *peers) for (path, leaf), *peers in rows)
