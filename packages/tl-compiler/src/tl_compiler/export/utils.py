"""Which inputs of a program are parameters, buffers and constants."""

from __future__ import annotations

from typing import Any

from . import register_dataclass

__all__ = [
    "get_buffer",
    "get_lifted_tensor_constant",
    "get_param",
    "is_buffer",
    "is_lifted_tensor_constant",
    "is_param",
    "register_dataclass_as_pytree_node",
]

register_dataclass_as_pytree_node = register_dataclass


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
