"""Nested containers, flattened into their leaves and rebuilt."""

from typing import Any

from tl_core.pytree.trees import *
from tl_core.pytree.trees import _FIELDS as _FIELDS
from tl_core.pytree.trees import _LEAF_SPEC as _LEAF_SPEC
from tl_core.pytree.trees import KEYED_CHILDREN as KEYED_CHILDREN
from tl_core.pytree.trees import SERIALIZED_NODES as SERIALIZED_NODES
from tl_core.pytree.trees import SUPPORTED_NODES as SUPPORTED_NODES
from tl_core.pytree.trees import Context as Context
from tl_core.pytree.trees import NodeDef as NodeDef
from tl_core.pytree.trees import SerializedNode as SerializedNode
from tl_core.pytree.trees import __all__ as __all__
from tl_core.pytree.trees import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from tl_core.pytree.trees import _gather as _gather
from tl_core.pytree.trees import _get_node_type as _get_node_type
from tl_core.pytree.trees import _is_namedtuple_instance as _is_namedtuple_instance
from tl_core.pytree.trees import _of_mapping as _of_mapping
from tl_core.pytree.trees import _register_pytree_node as _register_pytree_node
from tl_core.pytree.trees import broadcast_leaves as broadcast_leaves
from tl_core.pytree.trees import node_type as node_type
from tl_core.pytree.trees import tree_all_only as tree_all_only
from tl_core.pytree.trees import tree_any_only as tree_any_only

_PARTS = ("paths", "files", "containers", "kinds")


def __getattr__(name: str) -> Any:
    """Paths of leaves, files of structures and further kinds of nodes, which few programs need."""
    from importlib import import_module

    for part in _PARTS:
        module = import_module(f"{__name__}.{part}")
        if name in module.__all__:
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
