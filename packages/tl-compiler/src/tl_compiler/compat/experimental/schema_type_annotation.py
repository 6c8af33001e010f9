"""Annotations of values by what functions and modules say that they return."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import tl_core
import tl_nn
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.interpreter import Transformer
from tl_compiler.fx.node import Argument, Target
from tl_core.base.name_table import NATIVE_NAMESPACES
from tl_core.operators import packets as ops
from tl_core.schemas.signatures import has_tensor_arg

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Annotates the nodes of a graph.

    Args:
        module: the module.
        annotate_functionals: whether calls of functions are annotated.
        annotate_modules: whether calls of modules are.
        annotate_get_attrs: whether attributes are.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> made = AnnotateTypesWithSchema(symbolic_trace(lambda x: tl_core.relu(x))).transform()
        >>> made.graph.find_nodes(op="call_function")[0].type is tl_core.Tensor
        True
    """

    def __init__(
        self,
        module: GraphModule,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records a call, annotated with what the function says.

        Args:
            target: the function.
            args, kwargs: the arguments.

        Returns:
            The proxy.
        """
        proxy = super().call_function(target, args, kwargs)
        if self.annotate_functionals and callable(target):
            proxy.node.type = proxy.node.type or _return_type(target)
        return proxy

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records a call, annotated with what the module's forward says.

        Args:
            target: the module's path.
            args, kwargs: the arguments.

        Returns:
            The proxy.
        """
        proxy = super().call_module(target, args, kwargs)
        if self.annotate_modules:
            module = self.fetch_attr(str(target))
            if isinstance(module, tl_nn.Module):
                proxy.node.type = proxy.node.type or _return_type(type(module).forward)
        return proxy

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records an attribute, annotated with its class.

        Args:
            target: its path.
            args, kwargs: nothing.

        Returns:
            The proxy.
        """
        proxy = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            value = self.fetch_attr(str(target))
            if isinstance(value, tl_core.Tensor):
                proxy.node.type = proxy.node.type or type(value)
        return proxy

    def _extract_python_return_type(self, target: Target) -> Any:
        return _return_type(target)


def _return_type(function: Any) -> Any:
    """What a function says that it returns, if it is a class that code can name."""
    try:
        kind = get_type_hints(inspect.unwrap(function)).get("return")
    except (NameError, TypeError, AttributeError):
        kind = None
    if kind is None:
        kind = _of_operator(function)
    return kind if isinstance(kind, type) else None


def _of_operator(function: Any) -> Any:
    """What an operator of the core gives: a tensor, if its schemas say one."""
    if getattr(function, "__module__", "") not in ("tl_core", *NATIVE_NAMESPACES):
        return None
    try:
        packet = getattr(ops.aten, function.__name__)
    except AttributeError:
        return None
    schemas = [getattr(packet, name)._schema for name in packet.overloads()]
    returned = [schema.returns for schema in schemas if has_tensor_arg(schema)]
    single = all(len(values) == 1 and str(values[0].type) == "Tensor" for values in returned)
    return tl_core.Tensor if single else None
