"""Containers flattened by a structure that is known, as generated code does with its arguments."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from tl_core.pytree import PyTree, TreeSpec

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

FlattenSpec = Callable[[PyTree, TreeSpec], list[Any]]
FlattenSpecExact = Callable[[PyTree, TreeSpec], bool]

SUPPORTED_NODES: dict[Any, FlattenSpec] = {}
SUPPORTED_NODES_EXACT_MATCH: dict[Any, FlattenSpecExact | None] = {}


def register_pytree_flatten_spec(
    cls: Any, flatten_fn_spec: FlattenSpec, flatten_fn_exact_match_spec: FlattenSpecExact | None = None
) -> None:
    """Says how a class of containers gives its children where their structure is known.

    Args:
        cls: the class.
        flatten_fn_spec: takes a container and its structure, and gives the children in order.
        flatten_fn_exact_match_spec: whether a container has exactly that structure.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree_: PyTree, spec: TreeSpec) -> list[Any]:
    """The leaves of nested containers, as a structure says where they are.

    What stands at a leaf of the structure is a leaf, even a container.

    Args:
        pytree_: the containers.
        spec: the structure.

    Returns:
        The leaves from left to right.

    Raises:
        RuntimeError: a container is of a class that isn't registered.

    Example:
        >>> from tl_core import pytree
        >>> spec = pytree.tree_structure({"a": 1, "b": [2, 3]})
        >>> tree_flatten_spec({"b": [5, [6]], "a": 4}, spec)
        [4, 5, [6]]
    """
    if spec.is_leaf():
        return [pytree_]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree_)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec. If you have serialized your model, make sure that any "
            "custom pytrees have been registered before loading it."
        )
    children = SUPPORTED_NODES[spec.type](pytree_, spec)
    return [
        leaf
        for child, inner in zip(children, spec.children_specs, strict=False)
        for leaf in tree_flatten_spec(child, inner)
    ]


def _of_keys(mapping: dict[Any, Any], spec: TreeSpec) -> list[Any]:
    return [mapping[key] for key in spec.context]


def _of_sequence(values: Any, spec: TreeSpec) -> list[Any]:
    return [values[i] for i in range(spec.num_children)]


def _same_length(values: Any, spec: TreeSpec) -> bool:
    return len(values) == spec.num_children


register_pytree_flatten_spec(dict, _of_keys, _same_length)
register_pytree_flatten_spec(OrderedDict, _of_keys, _same_length)
register_pytree_flatten_spec(list, _of_sequence, _same_length)
register_pytree_flatten_spec(tuple, _of_sequence)
register_pytree_flatten_spec(namedtuple, _of_sequence, _same_length)
