"""Proxies: what stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import copy
import dataclasses
import enum
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload
from tl_core.overrides import is_tensor_method_or_property
from tl_core.symbolic.numbers import SymBool, SymFloat, SymInt

from . import traceback as fx_traceback
from .code_generation import inplace_methods, magic_methods, reflectable_magic_methods
from .full_call import full_call
from .graph import Graph
from .immutable_collections import immutable_dict, immutable_list
from .node import Argument, Node, Target, map_aggregate
from .scopes import Scope
from .scopes import ScopeContextManager as ScopeContextManager

__all__ = ["Attribute", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]

_PLAIN = (
    *(str, int, float, complex, bool, bytes, range, type(None), type(Ellipsis)),
    *(tl_core.dtype, tl_core.device, tl_core.layout, tl_core.memory_format, tl_core.Tensor),
)


# The types whose values are constants of a graph as they are.
base_types = (
    *(str, int, float, bool, complex),
    *(tl_core.dtype, tl_core.Tensor, tl_core.device, tl_core.memory_format, tl_core.layout, OpOverload),
    *(SymInt, SymBool, SymFloat),
)


class TraceError(ValueError):
    """What a program does can't be recorded: control flow that depends on a value, or a number that must be known."""


class TracerBase:
    """What makes nodes and proxies; `Tracer` says which modules are looked into.

    Example:
        >>> from tl_compiler.fx import Tracer
        >>> issubclass(Tracer, TracerBase)
        True
    """

    graph: Graph
    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    module_stack: dict[str, Any] = {}  # noqa: RUF012 - empty until a tracer sets its own
    scope: Scope | None = None
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node to the graph; a subclass may look at it or change it.

        Args:
            kind: the kind of node.
            target: what it calls or names.
            args, kwargs: its arguments, of nodes and constants.
            name: the name of its value.
            type_expr: an annotation.

        Returns:
            The node.
        """
        if self.check_mutable_operations:
            _refuse_writes(kind, target, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.record_stack_traces:
            node.stack_trace = "".join(_lines_of_user())
        if self.scope is not None:
            self.node_name_to_scope[node.name] = self.scope.module_path, self.scope.module_type
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        if fx_traceback.should_preserve_node_meta:
            _inherit_meta(node)
        return node

    def proxy(self, node: Node) -> Proxy:
        """The proxy that stands for a node's value.

        Args:
            node: the node.

        Returns:
            The proxy.
        """
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any | None = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Records a call: a node, and the proxy for its value.

        Args:
            kind: the kind of node.
            target: what is called or named.
            args, kwargs: the arguments, with proxies among them.
            name: the name of the value.
            type_expr: an annotation.
            proxy_factory_fn: what makes the proxy, in place of `proxy`.

        Returns:
            The proxy.
        """
        arguments, keywords = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, arguments, keywords, name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Argument:
        """What stands for a value among the arguments of a node.

        Args:
            a: a proxy, a constant, or a container of them.

        Returns:
            A node, the constant, or the container with nodes for proxies.

        Raises:
            NotImplementedError: nothing can stand for it.
        """
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            proxy = self.create_proxy("call_function", type(a), tuple(a), {})
            return proxy.node
        if isinstance(a, (tuple, list)):
            items = [self.create_arg(item) for item in a]
            return tuple(items) if isinstance(a, tuple) else immutable_list(items)
        if isinstance(a, dict):
            return immutable_dict((self._key(key), self.create_arg(value)) for key, value in a.items())
        if isinstance(a, slice):
            return slice(*(self.create_arg(part) for part in (a.start, a.stop, a.step)))
        if dataclasses.is_dataclass(a) and not isinstance(a, type):
            fields = {f.name: getattr(a, f.name) for f in dataclasses.fields(a)}
            return self.create_proxy("call_function", type(a), (), fields).node
        if isinstance(a, (Node, enum.Enum, *_PLAIN)) or callable(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        def refuse(leaf: Any) -> Any:
            if isinstance(leaf, (Node, Proxy)):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
                )
            return leaf

        return map_aggregate(key, refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Called where a program asks whether a proxy is true.

        Args:
            obj: the proxy.

        Raises:
            TraceError: always, unless a subclass answers.
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow: "
            f"'{obj.node.name}' has no value while the program is traced; torch.where chooses by value"
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Called where a program goes through a proxy; unpacking into several names works.

        Args:
            obj: the proxy.

        Returns:
            As many items as are unpacked.

        Raises:
            TraceError: the number of items isn't known.
        """
        count = _unpacked_names()
        if count is None:
            raise TraceError(
                f"Proxy object cannot be iterated: while '{obj.node.name}' is traced, nobody knows how many items it "
                "has. Unpacking into names works; a loop needs a number from elsewhere"
            )
        return iter(
            [self.create_proxy("call_function", operator.getitem, (obj, i), {}) for i in range(count)]
        )

    def keys(self, obj: Proxy) -> Any:
        """Called where a program unpacks a proxy with two stars.

        Args:
            obj: the proxy.

        Returns:
            A proxy for its keys.
        """
        return Attribute(obj, "keys")()


def _inherit_meta(node: Node) -> None:
    """Gives a node what is known of the one that it is made from."""
    meta = fx_traceback.get_current_meta()
    if meta.get("stack_trace"):
        node.stack_trace = meta["stack_trace"]
    for key in fx_traceback._COPY_META_FIELDS:
        if key in meta:
            node.meta[key] = copy.copy(meta[key])
    if "in_grad_fn" in meta:
        node.meta["seq_nr"] = meta["grad_fn_seq_nr"][-1]


def _refuse_writes(kind: str, target: Target, kwargs: dict[str, Argument]) -> None:
    """Raises for a call that writes to an argument, where the tracer is asked to."""
    name = getattr(target, "__name__", str(target))
    if kind == "call_function" and "out" in kwargs and not _may_be_none(kwargs["out"]):
        raise RuntimeError(
            f"Tried to trace mutable operation aten::{name}.out. FX only supports functional code"
        )
    may_write = getattr(target, "__module__", "") != "_operator"  # and_ and or_ write nothing
    if kind == "call_function" and may_write and name.endswith("_") and not name.startswith("_"):
        raise RuntimeError(f"Tried to trace mutable operation aten::{name}. FX only supports functional code")


def _may_be_none(out: Argument) -> bool:
    """Whether a call may write nothing: it is given an input that is None unless the caller says otherwise."""
    return isinstance(out, Node) and out.op == "placeholder" and out.args == (None,)


def _lines_of_user() -> list[str]:
    frame = inspect.currentframe()
    lines: list[str] = []
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("tl_compiler.fx", "tl_nn.modules")):
            lines.insert(
                0, f'  File "{frame.f_code.co_filename}", line {frame.f_lineno}, in {frame.f_code.co_name}\n'
            )
        frame = frame.f_back
    return lines


def _unpacked_names() -> int | None:
    """How many names the statement that iterates a proxy unpacks it into, from the bytecode that runs it."""
    import dis

    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    if frame is None:
        return None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.arg if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


class Proxy:
    """Stands for a value that a traced program computes: what is done with it becomes nodes.

    Args:
        node: the node whose value it stands for.
        tracer: what records; None: a tracer for the node's graph.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> seen = []
        >>> _ = symbolic_trace(lambda x: seen.append(type(x).__name__) or x)
        >>> seen
        ['Proxy']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer = tracer
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        proxy = Proxy(copy.deepcopy(self.node, memo), copy.deepcopy(self.tracer, memo))
        memo[id(self)] = proxy
        return proxy

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __index__(self) -> int:
        raise TraceError(f"'{self.node.name}' has no value while the program is traced: it can't be an index")

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default: fx.wrap('len') at the top of the module records it"
        )

    def __contains__(self, item: Any) -> bool:
        raise TraceError(f"'in' is not supported in symbolic tracing: '{self.node.name}' has no value")

    def keys(self) -> Any:
        """The keys, where the value is unpacked with two stars."""
        return self.tracer.keys(self)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}

        def find(a: Any) -> Any:
            if isinstance(a, Proxy):
                tracers[a.tracer] = None
            return a

        map_aggregate((args, kwargs), find)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        (tracer,) = tracers
        if is_tensor_method_or_property(orig_method):
            if getattr(orig_method, "__name__", "") == "__get__":
                return getattr(args[0], orig_method.__self__.__name__)
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        args, kwargs = full_call(orig_method, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=getattr(orig_method, "__name__", None)
        )


class Attribute(Proxy):
    """An attribute of a proxy: a node only if its value is used; called, it is a call of a method.

    Args:
        root: the proxy.
        attr: the attribute's name.

    Example:
        >>> from tl_compiler.fx import symbolic_trace
        >>> seen = []
        >>> _ = symbolic_trace(lambda x: seen.append(type(x.T).__name__) or x)
        >>> seen
        ['Attribute']
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root = root
        self.attr = attr
        self.tracer = root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter, whose shape is known.

    Args:
        tracer: what records.
        node: the node that reads it.
        name: its dotted path.
        param: the parameter.

    Example:
        >>> issubclass(ParameterProxy, Proxy)
        True
    """

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param = param
        self.name = name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The parameter's shape."""
        return self.param.shape

    def size(self) -> Any:
        """The parameter's shape."""
        return self.param.size()

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.param.ndim

    def numel(self) -> int:
        """The number of its elements."""
        return self.param.numel()

    def nelement(self) -> int:
        """The number of its elements."""
        return self.param.nelement()


class GraphAppendingTracer(TracerBase):
    """Records what is done with proxies at the insert point of a graph.

    Args:
        graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph


def _recording(function: Any, reflected: bool = False) -> Any:
    def method(self: Proxy, *operands: Any) -> Proxy:
        args = (*operands, self) if reflected else (self, *operands)
        return self.tracer.create_proxy("call_function", function, args, {})

    return method


for _name in (*magic_methods, *inplace_methods):
    _function = getattr(operator, _name, None)
    if _function is not None:
        _special = f"__{_name.strip('_')}__"
        _method = _recording(_function)
        _method.__name__ = _special
        setattr(Proxy, _special, _method)
for _name in reflectable_magic_methods:
    _function = getattr(operator, _name, None)
    if _function is not None and _name != "getitem":
        _special = f"__r{_name.strip('_')}__"
        _method = _recording(_function, reflected=True)
        _method.__name__ = _special
        setattr(Proxy, _special, _method)
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]  # a class that defines __eq__ has none
