"""Calls written in one way: arguments by name, operators by their signs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tl_core
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.interpreter import Transformer
from tl_compiler.fx.node import Argument, Node, Target, map_aggregate
from tl_compiler.fx.operator_schemas import create_type_hint, normalize_function, normalize_module
from tl_compiler.fx.proxy import Proxy

from .schema_type_annotation import AnnotateTypesWithSchema

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Writes the arguments of calls by their names, with the defaults that were left out.

    Args:
        module: the module.
        normalize_to_only_use_kwargs: whether all become keyword arguments.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> from tl_nn import functional
        >>> made = symbolic_trace(lambda x: functional.relu(x))
        >>> NormalizeArgs(made).transform().graph.find_nodes(op="call_function")[0].kwargs
        {'input': x, 'inplace': False}
    """

    def __init__(self, module: GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """Transforms a node.

        Args:
            n: the node.

        Returns:
            The proxy.
        """
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind_of(value: Any) -> Any:
            if isinstance(value, Node):
                return value.meta.get("type")
            return type(value)

        if n.op == "call_function":
            arg_types = tuple(create_type_hint(map_aggregate(a, kind_of)) for a in n.args)
            kwarg_types = {k: kind_of(v) for k, v in n.kwargs.items()}
            out = self.call_function(n.target, args, kwargs, arg_types, kwarg_types)
        else:
            out = super().run_node(n)
        if isinstance(out, Proxy) and n.op != "output":
            self.node_map[out] = n
            out.node.meta = n.meta
            out.node.type = n.type
        return out

    def call_function(
        self,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Any],
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
    ) -> Any:
        """Records a call of a function.

        Args:
            target: the function.
            args, kwargs: the arguments.
            arg_types, kwarg_types: their types, to tell overloads apart.

        Returns:
            The proxy.
        """
        normal = None
        if callable(target) and getattr(target, "__module__", "") != "_operator":
            normal = normalize_function(
                target, args, kwargs, arg_types, kwarg_types, self.normalize_to_only_use_kwargs
            )
        if not normal:
            return super().call_function(target, args, kwargs)
        return self.tracer.create_proxy("call_function", target, normal.args, normal.kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records a call of a module.

        Args:
            target: its path.
            args, kwargs: the arguments.

        Returns:
            The proxy.
        """
        normal = normalize_module(self.module, str(target), args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(normal or (args, kwargs)))


_BINARY: dict[Callable[..., Any], Callable[..., Any]] = {
    tl_core.add: operator.add,
    tl_core.mul: operator.mul,
    tl_core.sub: operator.sub,
    tl_core.div: operator.truediv,
    tl_core.floor_divide: operator.floordiv,
    tl_core.remainder: operator.mod,
    tl_core.eq: operator.eq,
    tl_core.ne: operator.ne,
    tl_core.lt: operator.lt,
    tl_core.le: operator.le,
    tl_core.gt: operator.gt,
    tl_core.ge: operator.ge,
}


class NormalizeOperators(AnnotateTypesWithSchema):
    """Writes functions that have a sign in Python by it: `torch.add(x, y)` as `x + y`.

    Args:
        module: the module.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> print(NormalizeOperators(symbolic_trace(lambda x: tl_core.add(x, 1))).transform().code.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
    """

    binary_magic_method_remap = _BINARY

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module, annotate_functionals=False, annotate_modules=False, annotate_get_attrs=False)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Records a call.

        Args:
            target: the function.
            args, kwargs: the arguments.

        Returns:
            The proxy.
        """
        sign = _BINARY.get(target) if callable(target) else None
        if sign is None or len(args) != 2 or kwargs:
            return super().call_function(target, args, kwargs)
        return super().call_function(sign, args, {})
