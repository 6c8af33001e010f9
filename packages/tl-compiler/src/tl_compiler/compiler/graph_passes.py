"""Passes of other packages over graph modules, which `compile` runs instead of the modules."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import tl_core
import tl_nn
from tl_core.base import backend_registry
from tl_core.operators.packets import OpOverload

from ..fx.graph_module import GraphModule

__all__ = ["PassedModule", "graph_passes", "has_graph_pass", "register_graph_pass"]

GraphPass = Callable[[GraphModule], GraphModule]

_passes: dict[str, GraphPass] = {}
_OWN = frozenset({"aten", "prim", "prims"})  # namespaces without passes


def register_graph_pass(namespace: str, graph_pass: GraphPass) -> GraphPass:
    """Registers a pass for graph modules that call operators of a namespace.

    `compile` with the default backend runs the pass when such a module is called without gradients. A package that is
    imported late registers a loader with `tl_core.base.backend_registry`, under the name "graph pass of NAMESPACE".

    Args:
        namespace: the namespace of operators.
        graph_pass: takes a graph module and returns another one with the same arguments and results. It must not change
            its argument.

    Returns:
        The pass.

    Raises:
        TypeError: `graph_pass` can't be called.
        ValueError: the namespace has another pass, or is one of tl's own.

    Example:
        >>> def unchanged(module):
        ...     return module
        >>> register_graph_pass("my_operators", unchanged) is unchanged
        True
        >>> del _passes["my_operators"]
    """
    if not callable(graph_pass):
        raise TypeError(f"graph_pass must be a function, but got {type(graph_pass).__name__}")
    if namespace in _OWN:
        raise ValueError(f"namespace must be one of a program's own operators, but got {namespace!r}")
    if _passes.setdefault(namespace, graph_pass) is not graph_pass:
        raise ValueError(f"the namespace {namespace!r} has a graph pass already")
    return graph_pass


def graph_passes(module: GraphModule) -> list[GraphPass]:
    """The passes for the operators that a graph module calls, in the order of the namespaces' names.

    Args:
        module: the graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> graph_passes(symbolic_trace(lambda x: x + 1))
        []
    """
    spaces = {
        node.target.namespace
        for node in module.graph.nodes
        if node.op == "call_function" and isinstance(node.target, OpOverload)
    }
    result = []
    for space in sorted(spaces - _OWN):
        if space not in _passes:
            backend_registry.load(f"graph pass of {space}")
        if space in _passes:
            result.append(_passes[space])
    return result


def has_graph_pass(function: Any) -> bool:
    """Whether a function is the call of a graph module for which there is a pass.

    Args:
        function: the function.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> has_graph_pass(symbolic_trace(lambda x: x + 1).__call__), has_graph_pass(len)
        (False, False)
    """
    owner = getattr(function, "__self__", None)
    return isinstance(owner, GraphModule) and bool(graph_passes(owner))


class PassedModule:
    """The call of a graph module, in whose place the result of its passes runs when gradients are off.

    The passes run again after a change of the graph, of a parameter or of a buffer. Versions count the changes of
    elements, so writes through `Tensor.data` are not seen.

    Args:
        function: the call of the graph module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> module = symbolic_trace(lambda x: x + 1)
        >>> PassedModule(module.__call__)(tl_core.ones(1))
        tensor([2.])
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.result: GraphModule | None = None
        self.sources: list[tuple[dict[str, Any], str, Any, int]] = []
        self.code: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner: GraphModule = self.function.__self__
        if tl_core.is_grad_enabled() or _has_hooks(owner):
            return self.function(*args, **kwargs)
        result = self.result
        if result is None or not self._is_current(owner):
            result = self._compute(owner)
        return result(*args, **kwargs)

    def _compute(self, owner: GraphModule) -> GraphModule:
        result = owner
        for graph_pass in graph_passes(owner):
            result = graph_pass(result)
        self.code, self.sources, self.result = type(owner).forward, list(_tensors(owner)), result
        return result

    def _is_current(self, owner: GraphModule) -> bool:
        if type(owner).forward is not self.code:
            return False
        for table, name, reference, version in self.sources:
            tensor = table.get(name)
            if reference() is not tensor or _version(tensor) != version:
                return False
        return True


def _version(tensor: Any) -> int:
    # Tensors of inference mode count no changes.
    return -1 if tensor is None or tensor.is_inference() else tensor._version


def _tensors(owner: tl_nn.Module) -> Iterator[tuple[dict[str, Any], str, Any, int]]:
    for module in owner.modules():
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is not None:
                    yield table, name, weakref.ref(tensor), _version(tensor)


def _has_hooks(owner: tl_nn.Module) -> bool:
    return bool(owner._forward_hooks or owner._forward_pre_hooks)
