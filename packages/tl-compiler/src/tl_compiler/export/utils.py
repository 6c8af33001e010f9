"""Which inputs of a program are parameters, buffers and constants."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tl_core.dispatch.keys import DispatchKey
from tl_core.pytree import register_pytree_node
from tl_core.pytree.kinds import by_fields

from ..fx._pytree import register_pytree_flatten_spec
from .graph_parts import node_inline_, node_replace_, sequential_split
from .node_lists import nodes_count, nodes_filter, nodes_first, nodes_map

__all__ = [
    "get_buffer",
    "get_lifted_tensor_constant",
    "get_param",
    "is_buffer",
    "is_lifted_tensor_constant",
    "is_param",
    "node_inline_",
    "node_replace_",
    "nodes_count",
    "nodes_filter",
    "nodes_first",
    "nodes_map",
    "register_dataclass_as_pytree_node",
    "sequential_split",
]


def register_dataclass_as_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], Any] | None = None,
    unflatten_fn: Callable[[Any, Any], Any] | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Callable[[Any], Any] | None = None,
    from_dumpable_context: Callable[[Any], Any] | None = None,
    return_none_fields: bool = False,
) -> None:
    """Makes a dataclass a container, as `export.register_dataclass`, in a way of one's own.

    Args:
        cls: the class.
        flatten_fn: gives the values of an object, and what else tells it; by default those of its fields.
        unflatten_fn: makes an object of both.
        serialized_type_name: the name by which files call the class.
        to_dumpable_context, from_dumpable_context: what tells an object as JSON has it, and back.
        return_none_fields: whether fields that are None count as values.

    Raises:
        AssertionError: it is no dataclass.
    """
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = [f.name for f in dataclasses.fields(cls)]

    flatten, unflatten = by_fields(cls, names, return_none_fields)
    register_pytree_node(
        cls,
        flatten_fn or flatten,
        unflatten_fn or unflatten,
        serialized_type_name=serialized_type_name or f"{cls.__module__}.{cls.__qualname__}",
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
    )
    register_pytree_flatten_spec(cls, lambda x, spec: [getattr(x, n) for n in spec.context[0]])


@contextlib.contextmanager
def _disable_load_state_dict_hooks(mod: Any) -> Iterator[None]:
    """A region in which a module's own hooks of `state_dict` do not run."""
    before = mod._state_dict_hooks, mod._state_dict_pre_hooks
    mod._state_dict_hooks, mod._state_dict_pre_hooks = type(before[0])(), type(before[1])()
    try:
        yield
    finally:
        mod._state_dict_hooks, mod._state_dict_pre_hooks = before


def _is_aten_op(op: Any) -> bool:
    """Whether an operator is one of the library's own."""
    return bool(op.name().partition("::")[0] == "aten")


def _is_cia_op(op: Any) -> bool:
    """Whether an operator is made of others, which give it its derivative."""
    key = DispatchKey.CompositeImplicitAutograd  # type: ignore[attr-defined]
    return bool(op.has_kernel_for_dispatch_key(key))


@contextlib.contextmanager
def _disable_aten_to_metadata_assertions() -> Iterator[None]:
    """A region in which graphs get no nodes that check what `to` is given: they never do."""
    yield


def is_param(program: Any, node: Any) -> bool:
    """Whether a node is the input of a parameter.

    Args:
        program: the program.
        node: the node.
    """
    return node.name in program.graph_signature.inputs_to_parameters


def get_param(program: Any, node: Any) -> Any:
    """The parameter of a node; None if it is none.

    Args:
        program: the program.
        node: the node.
    """
    return (
        program.state_dict[program.graph_signature.inputs_to_parameters[node.name]]
        if is_param(program, node)
        else None
    )


def is_buffer(program: Any, node: Any) -> bool:
    """Whether a node is the input of a buffer.

    Args:
        program: the program.
        node: the node.
    """
    return node.name in program.graph_signature.inputs_to_buffers


def get_buffer(program: Any, node: Any) -> Any:
    """The buffer of a node; None if it is none.

    Args:
        program: the program.
        node: the node.
    """
    if not is_buffer(program, node):
        return None
    name = program.graph_signature.inputs_to_buffers[node.name]
    absent = name in program.graph_signature.non_persistent_buffers
    return program.constants[name] if absent else program.state_dict[name]


def is_lifted_tensor_constant(program: Any, node: Any) -> bool:
    """Whether a node is the input of a constant.

    Args:
        program: the program.
        node: the node.
    """
    return node.name in program.graph_signature.inputs_to_lifted_tensor_constants


def get_lifted_tensor_constant(program: Any, node: Any) -> Any:
    """The constant of a node; None if it is none.

    Args:
        program: the program.
        node: the node.
    """
    if not is_lifted_tensor_constant(program, node):
        return None
    return program.constants[program.graph_signature.inputs_to_lifted_tensor_constants[node.name]]
