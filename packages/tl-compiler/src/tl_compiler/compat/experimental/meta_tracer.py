"""Symbolic tracing with sizes: proxies know shapes and dtypes, found on the meta device."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tl_core
import tl_nn
from tl_compiler.fx._symbolic_trace import Tracer
from tl_compiler.fx.graph import Graph
from tl_compiler.fx.graph_module import GraphModule
from tl_compiler.fx.method_hook import MODULE_CALLS, MODULE_READS
from tl_compiler.fx.names import root_namespace
from tl_compiler.fx.node import Target, map_aggregate
from tl_compiler.fx.proxy import Attribute, Proxy
from tl_nn.func import functional_call

__all__ = ["MetaAttribute", "MetaDeviceAttribute", "MetaProxy", "MetaTracer", "symbolic_trace"]

# Functions that make tensors: with a proxy among their arguments, they are recorded.
_FACTORIES = ("arange", "zeros", "ones", "full", "empty", "rand", "randn", "eye", "tensor")
_ORIGINALS = {name: getattr(tl_core, name) for name in _FACTORIES}


def _meta_of(value: Any) -> Any:
    """A value on the meta device: what is known of a proxy, tensors without elements."""

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, MetaProxy):
            if leaf._tensor_meta is None:
                raise _UnknownError(f"nothing is known of {leaf.node.name}")
            return leaf._tensor_meta
        if isinstance(leaf, MetaDeviceAttribute):
            return tl_core.device("meta")
        if isinstance(leaf, Proxy):
            raise _UnknownError(f"nothing is known of {leaf.node.name}")
        return leaf.detach().to("meta") if isinstance(leaf, tl_core.Tensor) else leaf

    return map_aggregate(value, convert)


class _UnknownError(Exception):
    """What a proxy stands for isn't known."""


class MetaProxy(Proxy):
    """A proxy that knows the shape and dtype of its value, where they could be found."""

    _tensor_meta: Any = None

    def install_tensor_meta(self, tensor_meta: Any) -> None:
        """Sets what is known.

        Args:
            tensor_meta: a tensor on the meta device, or another value.
        """
        self._tensor_meta = tensor_meta

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one size.

        Args:
            dim: which one; None: all.

        Returns:
            What is known, or a proxy.
        """
        if self._tensor_meta is not None:
            return self._tensor_meta.size() if dim is None else self._tensor_meta.size(dim)
        return self.tracer.create_proxy("call_method", "size", (self,) if dim is None else (self, dim), {})

    def dim(self) -> Any:
        """The number of dimensions.

        Returns:
            What is known, or a proxy.
        """
        if self._tensor_meta is not None:
            return self._tensor_meta.dim()
        return self.tracer.create_proxy("call_method", "dim", (self,), {})

    @property
    def shape(self) -> Any:
        """The shape, where it is known."""
        return self.size() if self._tensor_meta is not None else Attribute(self, "shape")

    @property
    def ndim(self) -> Any:
        """The number of dimensions, where it is known."""
        return self.dim()

    @property
    def dtype(self) -> Any:
        """The dtype, where it is known."""
        return self._tensor_meta.dtype if self._tensor_meta is not None else Attribute(self, "dtype")

    @property
    def device(self) -> Any:
        """A proxy for the device."""
        return MetaDeviceAttribute(self, "device")

    def __len__(self) -> int:
        if self._tensor_meta is not None:
            return len(self._tensor_meta)
        return super().__len__()

    def __bool__(self) -> bool:
        if isinstance(self._tensor_meta, (bool, int, float)):
            return bool(self._tensor_meta)
        return super().__bool__()

    def __getattr__(self, k: str) -> Any:
        if k == "_tensor_meta":
            return None
        return MetaAttribute(self, k)

    def __setitem__(self, indices: Any, values: Any) -> Any:
        return self.tracer.create_proxy("call_function", operator.setitem, (self, indices, values), {})

    def __contains__(self, key: Any) -> bool:
        if isinstance(self._tensor_meta, (dict, list, tuple)):
            return key in self._tensor_meta
        return super().__contains__(key)


class MetaAttribute(Attribute):
    """An attribute of a proxy; called, a method, whose result is known where the proxy's value is."""

    _tensor_meta: Any = None


class MetaDeviceAttribute(Attribute):
    """The device of a proxy."""


class MetaTracer(Tracer):
    """Traces with shapes: control flow by sizes goes the way of the given inputs.

    Args:
        autowrap_modules, autowrap_functions, param_shapes_constant: as for `Tracer`.
    """

    allow_insert_stateless_mods = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.meta_args: dict[str, Any] = {}

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[..., Proxy] | None = None,
    ) -> Proxy:
        """Records a call and finds out what its result looks like.

        Args:
            kind: the kind of node.
            target: what is called or named.
            args, kwargs: the arguments.
            name: the name of the value.
            type_expr: an annotation.
            proxy_factory_fn: what makes the proxy.

        Returns:
            The proxy.
        """
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if isinstance(proxy, MetaProxy):
            try:
                proxy.install_tensor_meta(self._meta_result(kind, target, args, kwargs))
            except _UnknownError:
                proxy.install_tensor_meta(None)
        return proxy

    def _meta_result(self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kind == "placeholder":
            if target in self.meta_args:
                return self.meta_args[target]
            raise _UnknownError(f"no meta_args for {target}")
        if kind == "get_attr":
            value: Any = self.root
            for part in str(target).split("."):
                value = getattr(value, part)
            return _meta_of(value)
        if kind == "call_module":
            module = self.root.get_submodule(target)
            state = {k: v.detach().to("meta") for k, v in module.state_dict(keep_vars=True).items()}
            with MODULE_CALLS.handle(None), MODULE_READS.handle(None):  # modules run as usual
                return functional_call(module, state, tuple(_meta_of(args)), dict(_meta_of(kwargs)))
        if kind == "call_function":
            keywords = dict(_meta_of(kwargs))
            if target in _ORIGINALS.values():
                keywords["device"] = "meta"
            return target(*_meta_of(args), **keywords)
        if kind == "call_method":
            owner, *rest = _meta_of(args)
            return getattr(owner, target)(*rest, **dict(_meta_of(kwargs)))
        raise _UnknownError(kind)

    def proxy(self, node: Any) -> MetaProxy:
        """The proxy that stands for a node's value.

        Args:
            node: the node.

        Returns:
            The proxy.
        """
        return MetaProxy(node, self)

    def trace(  # type: ignore[override]
        self, root: Any, meta_args: dict[str, Any] | None = None, concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """Runs a module or function with proxies and records what it does.

        Args:
            root: the module or function.
            meta_args: tensors on the meta device by the names of inputs.
            concrete_args: arguments that are no inputs.

        Returns:
            The graph.
        """
        self.meta_args = meta_args or {}
        with _recorded_factories():
            graph = super().trace(root, concrete_args)
        graph._tracer_extras = {"meta_args": meta_args}
        return graph


@contextmanager
def _recorded_factories() -> Iterator[None]:
    """Inside, functions that make tensors are recorded where they meet a proxy."""
    holders = [tl_core] if root_namespace() is tl_core else [tl_core, root_namespace()]
    before = [(holder, name, holder.__dict__.get(name)) for holder in holders for name in _FACTORIES]

    def recorder(function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                if isinstance(value, Proxy):
                    return value.tracer.create_proxy("call_function", function, args, kwargs)
            return function(*args, **kwargs)

        return call

    try:
        for holder, name, _ in before:
            setattr(holder, name, recorder(_ORIGINALS[name]))
        yield
    finally:
        for holder, name, value in before:
            if value is None:
                delattr(holder, name)
            else:
                setattr(holder, name, value)


def symbolic_trace(
    root: Any, meta_args: dict[str, Any] | None = None, concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """Traces a module or function for inputs of some shapes.

    Args:
        root: the module or function.
        meta_args: tensors on the meta device by the names of inputs.
        concrete_args: arguments that are no inputs.

    Returns:
        A module that does the same for inputs of these shapes.

    Example:
        >>> made = symbolic_trace(lambda x: x + 1 if x.shape[0] > 2 else x - 1, {"x": tl_core.ones(3, device="meta")})
        >>> made(tl_core.ones(3))
        tensor([2., 2., 2.])
    """
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args, concrete_args)
    name = type(root).__name__ if isinstance(root, tl_nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
