"""Symbolic tracing: a module or function runs once with proxies for its inputs, and what it does becomes a graph."""

from __future__ import annotations

import builtins
import copy
import functools
import inspect
import math
import operator
import os
import threading
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import tl_core
import tl_nn
from tl_core import pytree
from tl_core.functions.checks import recordable_assert
from tl_core.overrides import made_of_others
from tl_nn import functional

from ._lazy_graph_module import _LazyGraphModule, _make_graph_module
from .full_call import full_call, is_operator
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .method_hook import MODULE_CALLS, MODULE_READS
from .node import Argument, Node, has_side_effect
from .node import map_aggregate as map_aggregate
from .patching import HAS_VARSTUFF as HAS_VARSTUFF
from .patching import Patcher, without_stars
from .proxy import ParameterProxy, Proxy, TracerBase
from .proxy import base_types as base_types
from .scopes import Scope, ScopeContextManager
from .wrapping import wrap, wrapped_names

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]


class _Thread(threading.local):
    traces = 0  # in progress


_thread = _Thread()
# Globals of modules are replaced for all threads. One thread traces at a time, so that each trace restores them.
_patches = threading.RLock()
# The stubs of the standard library lack the method, which `threading` itself calls after a fork.
os.register_at_fork(after_in_child=_patches._at_fork_reinit)  # type: ignore[attr-defined]
# The names under which tracers of other libraries find the parts of this one.
_Patcher, _patch_function, _wrapped_fns_to_patch = Patcher, without_stars, wrapped_names
_orig_module_call, _orig_module_getattr = tl_nn.Module.__call__, tl_nn.Module.__getattr__
_MISSING: Any = object()
_SIMPLE = frozenset((bool, int, float, str, type(None)))


def __getattr__(name: str) -> Any:
    if name == "_is_fx_tracing_flag":
        return is_fx_tracing()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class PHBase:
    """Marks an argument among concrete ones, or in a container of them, that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A mark whose attributes the placeholder's node gets.

    Args:
        ph_key: what the input is called elsewhere.
    """

    def __init__(self, ph_key: str | None = None) -> None:
        super().__init__()
        self.ph_key = ph_key


def _transfer_attrs(fr: PHBase, to: Node) -> None:
    for name, value in vars(fr).items():
        if not name.startswith("__") and not hasattr(to, name):
            setattr(to, name, value)


# Classes and names of methods that are recorded while a program is traced; tests of other libraries append to it.
_wrapped_methods_to_patch: list[tuple[type, str]] = []
# Classes whose instances may be constants of a graph.
_proxyable_classes: dict[type, None] = {}


def is_fx_tracing() -> bool:
    """Whether this thread is tracing a program.

    Returns:
        True inside `Tracer.trace`.
    """
    return _thread.traces > 0


def _inside(value: Any) -> tuple[Any, ...]:
    """What a container holds; nothing for other values."""
    if isinstance(value, (list, tuple)):
        return tuple(value)
    if isinstance(value, dict):
        return tuple(value.values())
    return (value.start, value.stop, value.step) if isinstance(value, slice) else ()


def _find_proxy(*objects: Any) -> Proxy | None:
    """The first proxy among objects and in containers of them."""
    return _first_proxy(objects, {})


def _first_proxy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy | None:
    for value in (*args, *kwargs.values()):
        if isinstance(value, Proxy):
            return value
        inner = _inside(value)
        if inner and (proxy := _first_proxy(inner, {})) is not None:
            return proxy
    return None


@functools.cache
def _recorder(function: Callable[..., Any], marked: bool) -> Callable[..., Any]:
    """The function as it is called while a program is traced: recorded if a proxy is among its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        args, kwargs = (args, kwargs) if marked else full_call(function, args, kwargs)
        recorded = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        recorded.node.meta["is_wrapped"] = marked
        return recorded

    return call


def _method_recorder(kind: type, name: str) -> Callable[..., Any]:
    method = getattr(kind, name)

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy(args, kwargs)
        if proxy is None:
            return method(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return call


class ProxyableClassMeta(type):
    """The metaclass of classes whose construction with proxies is recorded as a call.

    Args:
        name: the name.
        bases: the base classes.
        attrs: the attributes.

    Example:
        >>> class Pair(metaclass=ProxyableClassMeta):
        ...     def __init__(self, first, second):
        ...         self.first, self.second = first, second
        ...
        >>> Pair(1, 2).second
        2
    """

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _first_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


class Tracer(TracerBase):
    """Records what a module does as a graph.

    A subclass says which modules are looked into (`is_leaf_module`), what stands for arguments (`create_arg`), and
    how nodes are made.

    Args:
        autowrap_modules: modules whose functions are recorded where they meet a proxy.
        autowrap_functions: further such functions.
        param_shapes_constant: whether the shape of a parameter is a constant rather than a value of the program.

    Example:
        >>> graph = Tracer().trace(lambda x: x.neg())
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_method', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        public = (
            v
            for m in autowrap_modules
            for k, v in m.__dict__.items()
            if not k.startswith("_") and callable(v)
        )
        self._autowrapped = {id(function): function for function in (*public, *autowrap_functions)}
        self._autowrap_modules = autowrap_modules
        self.param_shapes_constant = param_shapes_constant
        self.root: Any = None
        self.submodule_paths: dict[Any, str] | None = None
        self.tensor_attrs: dict[int, str] = {}
        self._annotations: dict[str, Any] = {}
        self.scope, self.node_name_to_scope = Scope("", None), {}

    # ---- what a subclass may change
    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        """Whether a module is recorded as one call; others are traced through.

        Args:
            m: the module.
            module_qualified_name: its dotted path.

        Returns:
            True for the modules of the library but Sequential, unless a subclass says otherwise.
        """
        is_layer = m.__module__.startswith(("tl_nn.modules", "tl_quantization.nn", "torch.ao.nn", "torch.nn"))
        return is_layer and not isinstance(m, tl_nn.Sequential)

    def path_of_module(self, mod: Any) -> str:
        """The dotted path of a submodule of the root.

        Args:
            mod: the module.

        Returns:
            Its path.

        Raises:
            NameError: it is no submodule of the root.
        """
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Runs or records a call of a module.

        Args:
            m: the module.
            forward: runs it.
            args, kwargs: the arguments of the call.

        Returns:
            The result: a proxy for a leaf, what `forward` returns for others.
        """
        path = self.path_of_module(m)
        self.scope = self.scope or Scope("", None)
        outer, self.module_stack = self.module_stack, {**self.module_stack, path: (path, type(m))}
        try:
            with ScopeContextManager(self.scope, Scope(path, type(m))):
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
        finally:
            self.module_stack = outer

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module is while it is traced.

        Args:
            attr: the attribute.
            attr_val: its value.
            parameter_proxy_cache: the proxies of parameters that were made, by path.

        Returns:
            A proxy for a parameter, the value for others.
        """
        kinds: list[tuple[type, Any]] = [(tl_nn.Parameter, self.root.named_parameters)]
        if self.proxy_buffer_attributes:
            kinds.append((tl_core.Tensor, self.root.named_buffers))
        for kind, named in kinds:
            if isinstance(attr_val, kind):
                for name, value in named():
                    if value is attr_val:
                        if name not in parameter_proxy_cache:
                            parameter_proxy_cache[name] = self._attribute_proxy(name, attr_val)
                        return parameter_proxy_cache[name]
        return attr_val

    def _attribute_proxy(self, name: str, value: Any) -> Proxy:
        shaped = self.param_shapes_constant and isinstance(value, tl_nn.Parameter)
        factory = (lambda node: ParameterProxy(self, node, name, value)) if shaped else None
        return self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)

    def create_arg(self, a: Any) -> Argument:
        """What stands for a value among the arguments of a node: parameters, buffers and modules by their path.

        Args:
            a: the value.

        Returns:
            The argument.

        Raises:
            NameError: a parameter or module is not one of the root's.
        """
        if type(a) in _SIMPLE:
            return a
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tl_core.Tensor):
            if isinstance(a, tl_nn.Parameter):
                for name, parameter in self.root.named_parameters():
                    if parameter is a:
                        return self.create_node("get_attr", name, (), {})
                raise NameError("parameter is not a member of this module")
            for name, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", name, (), {})
            return self._constant(a)
        if isinstance(a, tl_nn.Module):
            for name, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            return self._constant(a, f"_{type(a).__name__}_constant_")
        return super().create_arg(a)

    def _constant(self, value: Any, prefix: str = "_tensor_constant") -> Argument:
        """A tensor that the program made, or an object of another class: an attribute of the root."""
        name = self.tensor_attrs.get(id(value))
        if name is None:
            name = self.get_fresh_qualname(prefix)
            self.tensor_attrs[id(value)] = name
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        tracer = type(self).__new__(type(self))
        memo[id(self)] = tracer
        shared = ("_autowrap_modules", "_autowrapped", "root", "submodule_paths", "tensor_attrs")
        for key, value in self.__dict__.items():
            tracer.__dict__[key] = value if key in shared else copy.deepcopy(value, memo)
        return tracer

    def get_fresh_qualname(self, prefix: str) -> str:
        """A name that no attribute of the root has.

        Args:
            prefix: how it begins; a number follows.

        Returns:
            The name.
        """
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    # ---- tracing
    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: dict[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Makes the placeholders for the arguments of a function.

        Args:
            root_fn: the function.
            is_module: whether its first argument is the module.
            concrete_args: values of arguments that the graph is specialized to.

        Returns:
            The function, and what it is called with.
        """
        function = inspect.unwrap(root_fn)
        code = getattr(function, "__code__", None)
        if code is None or is_operator(root_fn):
            raise AssertionError(
                f"{root_fn!r} is one operator or not written in Python: there is nothing to trace"
            )
        names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        total = len(names)
        if is_module and not names:
            raise RuntimeError("``self`` argument cannot be part of *args expansion!")
        own = names[1:] if is_module else names
        if isinstance(concrete_args, tuple):
            extra = concrete_args[len(own) :] if code.co_flags & inspect.CO_VARARGS else ()
            if any(value is not PH for value in extra):
                raise RuntimeError("concrete_args: only PH may stand for what *args takes")
            concrete_args = concrete_args[: len(concrete_args) - len(extra)]
            if len(own) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        parameters = inspect.signature(function).parameters
        args: list[Any] = [self.root] if is_module else []
        args += [self._input(name, parameters[name].default, concrete_args or {}) for name in own]
        rest = iter(code.co_varnames[total:])
        stars = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
        if code.co_flags & inspect.CO_VARARGS:
            args.append(self._rest("*" + next(rest)))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            args.append(self._rest("**" + next(rest)))
        if stars:
            root_fn = without_stars(function, total)
        elif code.co_kwonlyargcount:
            root_fn = _positional(function, names[code.co_argcount :])
        if concrete_args is None:
            return root_fn, args
        return self._flatten(root_fn, names, args)

    def _flatten(
        self, root_fn: Callable[..., Any], names: list[str], args: list[Any]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The function of the leaves of its arguments, where containers are among these."""
        leaves, in_spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in in_spec.children_specs):
            return root_fn, args
        self.graph._codegen = codegen = _PyTreeCodeGen(_PyTreeInfo(names, in_spec, None))

        def call(*inputs: Any) -> Any:
            result = root_fn(*pytree.tree_unflatten(list(inputs), in_spec))
            out_leaves, out_spec = pytree.tree_flatten(result)
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out_leaves

        return call, leaves

    def _rest(self, name: str) -> Proxy:
        return self.create_proxy("placeholder", name, (), {}, name=name.lstrip("*"))

    def _input(self, name: str, default: Any, concrete: dict[str, Any]) -> Any:
        defaults = () if default is inspect.Parameter.empty else (default,)
        if name not in concrete:
            return self.create_proxy("placeholder", name, defaults, {}, type_expr=self._annotation_of(name))
        count = 0

        def mark(value: Any) -> Any:
            nonlocal count
            count += 1
            if value is PH:
                return self.create_proxy("placeholder", f"{name}_{count}", (), {})
            proxy = self.create_proxy(
                "placeholder", f"{name}_{count}", () if isinstance(value, PHBase) else defaults, {}
            )
            if isinstance(value, PHBase):
                _transfer_attrs(value, proxy.node)
                return proxy
            self._specialize(name, proxy, value)
            return value

        return pytree.tree_map(mark, concrete[name])

    def _specialize(self, name: str, proxy: Proxy, value: Any) -> None:
        """Records that an argument must have the value that the graph is specialized to."""
        message = f"{name} has been specialized to have value {value} but got another value"
        if value is None:
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        elif isinstance(value, (bool, int, float, complex, str, tl_core.dtype, tl_core.device)):
            same = self.create_proxy("call_function", operator.eq, (proxy, value), {})
            self.create_proxy("call_function", recordable_assert, (same, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up "
                "to the user to make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=2,
            )

    def _annotation_of(self, name: str) -> Any:
        kind = self._annotations.get(name)
        return None if isinstance(kind, str) else kind

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """Runs a module or function with proxies and records what it does.

        Args:
            root: the module or function.
            concrete_args: arguments that are no inputs: the graph is specialized to their values.

        Returns:
            The graph.

        Raises:
            TraceError: the program asks for a value that isn't there while it is traced.
        """
        if isinstance(root, tl_nn.Module):
            for module in root.modules():
                _LazyGraphModule.force_recompile(module)
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            forward = getattr(type(root), self.traced_func_name)
            self.root = root
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, forward = tl_nn.Module(), root
            self.submodule_paths = None
        self.tensor_attrs = {}
        self.graph = Graph(tracer_cls=type(self) if type(self) is not Tracer else None)
        code = getattr(inspect.unwrap(forward), "__code__", None)
        if code is not None:
            self.graph._source = f" from {code.co_filename}:{code.co_firstlineno} in {code.co_name}"
        self._annotations = getattr(inspect.unwrap(forward), "__annotations__", {})
        self.module_stack, self.scope, self.node_name_to_scope = {}, Scope("", None), {}
        function, args = self.create_args_for_root(forward, isinstance(root, tl_nn.Module), concrete_args)
        if function is forward and not functional.has_torch_function(tuple(args)):
            function = (
                made_of_others(forward) or function
            )  # who replaces that question wants a function's parts
        _thread.traces += 1
        try:
            with _patches, self._patch(inspect.unwrap(forward).__globals__):
                result = function(*args)
            self.create_node(
                "output", "output", (self.create_arg(result),), {}, type_expr=_return_type(forward)
            )
        finally:
            _thread.traces -= 1
            self.submodule_paths = None
        return self.graph

    @contextmanager
    def _patch(self, names: dict[str, Any]) -> Iterator[None]:
        """While a program is traced: calls and attributes of modules, and the functions that are recorded."""
        cache = dict[str, Any]()

        def call(method: Callable[..., Any], module: Any, *args: Any, **kwargs: Any) -> Any:
            self._autowrap(patcher, getattr(type(module).forward, "__globals__", {}))
            return self.call_module(module, lambda *a, **k: method(module, *a, **k), args, kwargs)

        def read(method: Callable[..., Any], module: Any, attr: str) -> Any:
            return self.getattr(attr, method(module, attr), cache)

        with Patcher() as patcher, MODULE_CALLS.handle(call), MODULE_READS.handle(read):
            for kind, name in _wrapped_methods_to_patch:
                patcher.patch_method(kind, name, _method_recorder(kind, name), deduplicate=False)
            for (_, name), mapping in list(wrapped_names.items()):
                function = mapping.get(name, getattr(builtins, name, _MISSING))
                if function is not _MISSING:
                    patcher.patch(mapping, name, _recorder(function, marked=True))
            self._autowrap(patcher, names)
            for module in self._autowrap_modules:
                self._autowrap(patcher, module.__dict__)
            yield

    def _autowrap(self, patcher: Patcher, names: dict[str, Any]) -> None:
        _autowrap_check(patcher, names, self._autowrapped)


def _autowrap_check(patcher: Patcher, frame_dict: dict[str, Any], function_ids: Container[int]) -> None:
    """Lets the globals of a module that are among these functions be recorded; once for each module."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _recorder(value, marked=False))


@has_side_effect
def _assert_is_none(value: Any, msg: str) -> None:
    """Raises unless an argument is None, as a graph that is specialized to it needs."""
    assert value is None, msg


def _return_type(function: Callable[..., Any]) -> Any:
    """The annotation of the result; text, which the generated code could not resolve, is left out."""
    kind = getattr(function, "__annotations__", {}).get("return")
    return None if isinstance(kind, str) else kind


def _positional(function: Callable[..., Any], keyword_only: list[str]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        count = len(args) - len(keyword_only)
        return function(*args[:count], **dict(zip(keyword_only, args[count:], strict=True)))

    return call


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | tuple[Any, ...] | None = None) -> GraphModule:
    """Traces a module or function, and makes a module of the graph.

    Args:
        root: the module or function.
        concrete_args: arguments that are no inputs: the graph is specialized to their values.

    Returns:
        A module that does the same, for every input for which the program goes the same way.

    Raises:
        TraceError: the program asks for a value that isn't there while it is traced.

    Example:
        >>> made = symbolic_trace(lambda x, y: x + y * 2)
        >>> print(made.graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %y : [num_users=1] = placeholder[target=y]
            %mul : [num_users=1] = call_function[target=operator.mul](args = (%y, 2), kwargs = {})
            %add : [num_users=1] = call_function[target=operator.add](args = (%x, %mul), kwargs = {})
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)  # type: ignore[arg-type]
    name = type(root).__name__ if isinstance(root, tl_nn.Module) else getattr(root, "__name__", "GraphModule")
    return _make_graph_module(tracer.root, graph, name)
