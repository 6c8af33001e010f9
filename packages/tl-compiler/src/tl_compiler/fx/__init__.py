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

from importlib import import_module
from typing import Any

from . import graph, graph_module, immutable_collections, interpreter, node, proxy
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy

# Modules that are imported when somebody asks for them.
_LAZY = (
    *("annotate", "config", "experimental", "operator_schemas", "passes", "subgraph_rewriter"),
    *("tensor_type", "traceback", "_compatibility", "_lazy_graph_module", "_pytree", "_utils"),
)

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
        >>> import tl_core
        >>> made = symbolic_trace(lambda x: (x + 1).relu())
        >>> len(replace_pattern(made, lambda x: x.relu(), lambda x: x.sigmoid()))
        1
    """
    from .subgraph_rewriter import replace_pattern as replace

    return replace(gm, pattern, replacement)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
