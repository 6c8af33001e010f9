"""Graphs of programs: recorded by running them with proxies, changed as data, and turned back into Python.

>>> import tl_core
>>> from tl_compiler.fx import symbolic_trace
>>> made = symbolic_trace(lambda x: tl_core.relu(x) + 1)
>>> print(made.code.strip())
def forward(self, x):
    relu = torch.relu(x);  x = None
    add = relu + 1;  relu = None
    return add
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tl_core.base.lazy_attributes import attach

if TYPE_CHECKING:
    from . import (
        annotate,
        config,
        experimental,
        graph,
        graph_module,
        immutable_collections,
        interpreter,
        node,
        operator_schemas,
        passes,
        proxy,
        subgraph_rewriter,
        tensor_type,
        traceback,
    )
    from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace
    from .graph import CodeGen, Graph
    from .graph_module import GraphModule
    from .interpreter import Interpreter, Transformer
    from .node import Node, has_side_effect, map_arg
    from .proxy import Proxy
    from .wrapping import wrap

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "Tracer",
    "Transformer",
    "annotate",
    "config",
    "experimental",
    "graph",
    "graph_module",
    "has_side_effect",
    "immutable_collections",
    "interpreter",
    "map_arg",
    "node",
    "operator_schemas",
    "passes",
    "proxy",
    "replace_pattern",
    "subgraph_rewriter",
    "symbolic_trace",
    "tensor_type",
    "traceback",
    "wrap",
]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Any]:
    """Puts a replacement where a pattern occurs, in place. Occurrences don't overlap: the first from the end wins.

    Args:
        gm: the module whose graph is changed.
        pattern: what is looked for: a function, module or graph; its arguments stand for any value.
        replacement: what comes instead, with the same arguments in the same order.

    Returns:
        The occurrences, each with the node that its result was and the nodes by those of the pattern.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = symbolic_trace(lambda x: (x + 1).relu())
        >>> len(replace_pattern(made, lambda x: x.relu(), lambda x: x.sigmoid()))
        1
    """
    from .subgraph_rewriter import replace_pattern as replace

    return replace(gm, pattern, replacement)


# Models mark functions with `wrap` when they are imported, and are seldom traced.
__getattr__, __dir__, _ = attach(
    __name__,
    {
        "_symbolic_trace": ("PH", "ProxyableClassMeta", "Tracer", "symbolic_trace"),
        "graph": ("CodeGen", "Graph"),
        "graph_module": ["GraphModule"],
        "interpreter": ("Interpreter", "Transformer"),
        "node": ("Node", "has_side_effect", "map_arg"),
        "proxy": ["Proxy"],
        "wrapping": ["wrap"],
    },
    (
        *("annotate", "config", "experimental", "immutable_collections", "operator_schemas", "passes"),
        *("subgraph_rewriter", "tensor_type", "traceback"),
        *("_compatibility", "_lazy_graph_module", "_pytree", "_utils"),
    ),
)
