"""Nodes of symbolic numbers."""

from __future__ import annotations

from tl_compiler.symbolic.node import (
    METHOD_TO_OPERATOR,
    SymNode,
    magic_methods,
    method_to_operator,
    to_node,
    wrap_node,
)

__all__ = ["METHOD_TO_OPERATOR", "SymNode", "magic_methods", "method_to_operator", "to_node", "wrap_node"]
