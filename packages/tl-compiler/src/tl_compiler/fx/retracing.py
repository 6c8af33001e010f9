"""Graph modules made by running and tracing their code again."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import tl_nn

from ._symbolic_trace import Tracer
from .code_imports import builtins_of_block
from .graph_module import _DERIVED, GraphModule

__all__ = ["reduce_graph_module", "reduce_package_graph_module"]

_number = itertools.count()


class _CodeOnlyModule(tl_nn.Module):
    """Holds the attributes that code names while it is traced again."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def reduce_graph_module(body: dict[str, Any], import_block: str) -> GraphModule:
    """Makes a graph module from a pickle that holds code: the code is run and traced.

    Args:
        body: the module's `__dict__`, with its code.
        import_block: the imports that the code needs.

    Returns:
        The module.
    """
    namespace: dict[str, Any] = {"__builtins__": builtins_of_block()}
    text = import_block + (body.get("_code") or body["code"])
    exec(compile(text, f"<retraced>.{next(_number)}", "exec"), namespace)
    return _traced_again(namespace["forward"], body)


def reduce_package_graph_module(
    importer: Any, body: dict[str, Any], generated_module_name: str
) -> GraphModule:
    """Makes a graph module from a package: its code is imported and traced.

    Args:
        importer: what imports from the package.
        body: the module's `__dict__`.
        generated_module_name: the module that holds the code.

    Returns:
        The module.
    """
    return _traced_again(importer.import_module(generated_module_name).forward, body)


def _traced_again(forward: Callable[..., Any], body: dict[str, Any]) -> GraphModule:
    _CodeOnlyModule.forward = forward  # type: ignore[method-assign]
    tracer_cls = body.get("_tracer_cls") or Tracer
    name = body.pop("_graphmodule_cls_name", "GraphModule")
    holder = _CodeOnlyModule(body)

    class KeepModules(tracer_cls):  # type: ignore[misc, valid-type]
        """Records each submodule as one call."""

        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            """Every one is a leaf: those that weren't are part of the code."""
            return True

    graph = KeepModules().trace(holder, **body.get("_tracer_extras", {}))
    graph._tracer_cls = body.get("_tracer_cls")
    module = GraphModule(holder, graph, name)
    for key, value in holder.__dict__.items():
        if not hasattr(module, key) and key not in _DERIVED:
            setattr(module, key, value)
    return module
