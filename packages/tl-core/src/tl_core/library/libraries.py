"""Operators by hand: `Library` with its schemas and functions, `define`, `impl`."""

from __future__ import annotations

import contextlib
import functools
import re
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tl_core import _C
from tl_core.dispatch import fallbacks, registrations
from tl_core.dispatch.keys import DispatchKey
from tl_core.dispatch.layers import EVERY_KEY, device_key
from tl_core.dispatch.registrations import Registration, fallthrough_kernel
from tl_core.operators import packets as ops
from tl_core.operators.names import native_name, parse_namespace, qualified_name
from tl_core.schemas import tags
from tl_core.schemas.parser import parse_schema
from tl_core.subclasses import fake_impl

__all__ = ["Library", "define", "impl"]

_RESERVED = ("prim",)
_KINDS = ("IMPL", "DEF", "FRAGMENT")
# Where each namespace has been defined, and by whom functions have been registered, in all libraries.
_defined: set[str] = set()
_impls: set[str] = set()
_keep_alive: list[Library] = []


class Library:
    """Operators of one namespace: their schemas and functions. They go when the library goes.

    Args:
        ns: the namespace.
        kind: "DEF" where it is new, "FRAGMENT" for operators more, "IMPL" for functions of operators that exist.
        dispatch_key: the key of functions that name none.

    Raises:
        ValueError: the kind is another, or the namespace is reserved.
        RuntimeError: the namespace is defined already.

    Example:
        >>> import tl_core as tl
        >>> lib = Library("shapes", "DEF")
        >>> lib.define("area(Tensor sides) -> Tensor")
        'area'
        >>> lib.impl("area", lambda sides: sides.prod(), "CompositeImplicitAutograd")
        >>> tl.ops.shapes.area(tl.tensor([2.0, 3.0]))
        tensor(6.)
        >>> lib._destroy()
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError("Unsupported kind: ", kind)
        if ns in _RESERVED and kind in ("DEF", "FRAGMENT"):
            raise ValueError(ns, " is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                "definitions in a single TORCH_LIBRARY block. If you were trying to specify implementations, consider "
                "using kind 'IMPL', or 'FRAGMENT' for operators more."
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._state = _State()
        self._op_impls = self._state.impls
        if kind == "DEF":
            _defined.add(ns)
            self._state.namespace = ns
        self._finalizer = weakref.finalize(self, _State.destroy, self._state)

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Defines an operator.

        Args:
            schema: its name, arguments and results: `sinc(Tensor x) -> Tensor`.
            alias_analysis: "FROM_SCHEMA" or "CONSERVATIVE", which say how far the schema is trusted; tl trusts it.
            tags: what else is known of it, one or several of `Tag`.

        Returns:
            The name with the overload.

        Raises:
            RuntimeError: it is no schema, or the operator is defined already.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = parse_schema(schema.strip())
        space, _, name = parsed.full_name.rpartition("::")
        if space and space != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({space}) in schema string does not match namespace of enclosing "
                f"library ({self.ns})"
            )
        if self.kind == "IMPL":
            raise RuntimeError(
                f"{name}: operators cannot be defined in a library of the kind IMPL; use FRAGMENT"
            )
        self._add(f"{self.ns}::{name}", schema.strip().removeprefix(f"{space}::"), parsed)
        _set_tags(f"{self.ns}::{name}", tags)
        return name

    def _add(self, full: str, schema: str, parsed: Any) -> None:
        if _C._is_operator(full) or _C._is_operator(native_name(full)):
            raise RuntimeError(
                f"Tried to register an operator ({self.ns}::{parsed.full_name}) with the same name and overload name "
                "multiple times. Each overload's schema should only be registered with a single call to def()."
            )
        if len({a.name for a in parsed.arguments}) != len(parsed.arguments):
            raise RuntimeError(f"two arguments have one name in the schema: {schema}")
        defaults = {a.name: a.real_default for a in parsed.arguments if a.has_default_value()}
        _C._register_operator(f"{self.ns}::{schema}", defaults)
        registrations.refresh(full)
        self._state.operators.append(full)
        ops._forget(full)

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Registers the function of an operator for a key.

        Args:
            op_name: its name with the overload, or the operator itself.
            fn: the function, or `fallthrough_kernel`.
            dispatch_key: the key, by default the library's, or else `CompositeImplicitAutograd`.
            with_keyset: whether the function gets, ahead of all arguments, the keys that a call may still meet.
            allow_override: whether it may take the place of a function that Python has registered before.

        Raises:
            TypeError: `fn` cannot be called.
            RuntimeError: Python has registered a function for this key and operator in a library already.

        The operator may be defined later: a library's functions and its definitions come from different files, and a
        file of compiled definitions may be missing.
        """
        self._register(op_name, fn, dispatch_key, with_keyset, allow_override=allow_override)

    def _register(
        self,
        op_name: Any,
        fn: Any,
        dispatch_key: str,
        with_keyset: bool = False,
        refuses_aliasing: bool = False,
        allow_override: bool = False,
    ) -> Registration:
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if dispatch_key and self.kind == "IMPL" and self.dispatch_key not in ("", dispatch_key):
            raise RuntimeError(
                f"Explicitly provided dispatch key ({dispatch_key}) is inconsistent with the dispatch key "
                f"({self.dispatch_key}) of the library"
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        full = self._full_name(op_name)
        mark = f"{self.ns}/{full.rpartition('::')[2]}/{key}"
        if mark in _impls and not allow_override:
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding "
                f"{full.rpartition('::')[2]}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        native = native_name(full)
        function = functools.partial(fn, EVERY_KEY) if with_keyset and fn is not fallthrough_kernel else fn
        registration = registrations.put(Registration(native, key, function, refuses_aliasing))
        _impls.add(mark)
        self._op_impls.add(mark)
        self._state.registrations.append((registration, mark))
        return registration

    def _withdraw(self, registration: Registration) -> None:
        """Takes one function away."""
        for item in [i for i in self._state.registrations if i[0] is registration]:
            self._state.registrations.remove(item)
            registrations.withdraw(registration)
            _impls.discard(item[1])
            self._op_impls.discard(item[1])

    def _full_name(self, op_name: Any) -> str:
        if isinstance(op_name, ops.OpOverload):
            name = op_name._name
        elif isinstance(op_name, str):
            name = op_name
        else:
            raise RuntimeError(
                "impl should be passed either a name or an OpOverload object as the first argument"
            )
        space, _, rest = name.rpartition("::")
        if space and space != self.ns:
            raise RuntimeError(
                f"{name} is not an operator of the namespace {self.ns}, which this library is for"
            )
        return f"{self.ns}::{rest.removesuffix('.default')}"

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Registers one function for every operator at a key. It takes a library of the namespace `_`.

        Args:
            fn: gets the operator, then its arguments, while the key is included; or `fallthrough_kernel`.
            dispatch_key: the key, by default the library's.
            with_keyset: whether the function gets the keys ahead of all.

        Raises:
            RuntimeError: the library is of another namespace, or there is no such key.
            NotImplementedError: the key is that of a device or layer, and the function not `fallthrough_kernel`.
        """
        key = dispatch_key or self.dispatch_key
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using library fragment on the global namespace "_" but it is '
                f"{self.ns}"
            )
        if key not in DispatchKey.__members__:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        if fn is fallthrough_kernel:
            fallbacks.put(key, None)
            return
        if not key.startswith("TESTING_ONLY"):
            raise NotImplementedError(
                f"fallback({key}): one function for all operators of a device or layer is not taken in tl; a "
                "TorchDispatchMode sees all"
            )
        fallbacks.put(key, fn, with_keyset)
        self._state.fallbacks.append(key)

    def _register_fake(
        self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1, *, allow_override: bool = False
    ) -> None:
        """Registers what sizes and types results have."""
        full = f"{self.ns}::{op_name.removesuffix('.default')}"
        if not allow_override:
            fake_impl.check(full)
        kernel = fake_impl.FakeKernel(full, fn, _stacklevel + 1)
        registration = self._register(op_name, kernel, "Meta", allow_override=allow_override)
        fake_impl.entries[full] = registration.function
        self._state.fakes.append(full)

    def _register_torch_dispatch_rule(
        self, op_name: str, torch_dispatch_class: Any, fn: Callable[..., Any]
    ) -> None:
        """Says what a mode or class with `__torch_dispatch__` does with an operator."""
        from tl_core.library import torch_dispatch

        torch_dispatch.install(self, ops._overload(self._full_name(op_name)), torch_dispatch_class, fn)

    def _destroy(self) -> None:
        """Takes away what the library has defined and registered."""
        self._finalizer()

    @property
    def m(self) -> Library:
        """What holds the registrations, the library itself. Programs end a library by `del library.m`."""
        return self

    @m.deleter
    def m(self) -> None:
        self._destroy()


def _mark(full: str) -> str:
    """How the marks of an operator's functions begin."""
    return full.replace("::", "/") + "/"


class _State:
    """What goes with a library."""

    def __init__(self) -> None:
        self.namespace: str | None = None
        self.operators: list[str] = []
        self.registrations: list[tuple[Registration, str]] = []
        self.fakes: list[str] = []
        self.fallbacks: list[str] = []
        self.impls: set[str] = set()
        self.all_impls = _impls  # the module's name for it may be gone when the interpreter ends

    def destroy(self) -> None:
        for registration, mark in reversed(self.registrations):
            registrations.withdraw(registration)
            self.all_impls.discard(mark)
        for full in self.fakes:
            fake_impl.entries.pop(full, None)
        for key in self.fallbacks:
            fallbacks.put(key, None)
        for full in self.operators:
            registrations.forget(full)
            tags.forget(full)
            _C._remove_operator(full)
            self.all_impls.difference_update([m for m in self.all_impls if m.startswith(_mark(full))])
            ops._forget(full)
        if self.namespace is not None:
            _defined.discard(self.namespace)
        self.registrations, self.operators, self.fakes, self.fallbacks = [], [], [], []
        self.impls.clear()


def _set_tags(full: str, value: Any) -> None:
    tags.by_operator[full] = [value] if isinstance(value, tags.Tag) else list(value)


@contextlib.contextmanager
def _scoped_library(ns: str, kind: str, dispatch_key: str = "") -> Iterator[Library]:
    """A library that ends with the region."""
    lib = Library(ns, kind, dispatch_key)
    try:
        yield lib
    finally:
        lib._destroy()


def kept_library(ns: str, lib: Library | None = None) -> Library:
    """A library for the rest of the process, if none is given."""
    if lib is not None:
        return lib
    library = Library(ns, "FRAGMENT")
    _keep_alive.append(library)
    return library


# ---- functions -----------------------------------------------------------------------------------------------------
_NAMELESS = re.compile(r"\(.*\) -> .*", re.DOTALL)


def define(
    qualname: Any, schema: str = "", alias_analysis: str = "", *, lib: Library | None = None, tags: Any = ()
) -> Any:
    """Defines an operator.

    Args:
        qualname: its name with the namespace. A library in its place makes this a decorator, of the function for
            `CompositeImplicitAutograd`; the schema then has the name.
        schema: its arguments and results: `(Tensor x) -> Tensor`.
        alias_analysis: see `Library.define`.
        lib: the library with which the operator goes; without one it stays.
        tags: what else is known of it, one or several of `Tag`.

    Raises:
        ValueError: the name has no namespace, or the schema is none.

    Example:
        >>> import tl_core as tl
        >>> define("plane::norm", "(Tensor x) -> Tensor")
        >>> @impl("plane::norm", "cpu")
        ... def norm(x):
        ...     return x.square().sum().sqrt()
        >>> tl.ops.plane.norm(tl.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if isinstance(qualname, Library):
        return _defined_in(qualname, schema, alias_analysis)
    if not isinstance(qualname, str):
        raise ValueError(
            f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}"
        )
    namespace, name = parse_namespace(qualname)
    if not _NAMELESS.fullmatch(schema):
        raise ValueError(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    kept_library(namespace, lib).define(name + schema, alias_analysis="", tags=tags)
    return None


def _defined_in(lib: Library, schema: str, alias_analysis: str) -> Callable[[Any], Any]:
    def decorate(f: Any) -> Any:
        lib.impl(lib.define(schema, alias_analysis), f)
        return f

    return decorate


def impl(
    qualname: Any, types: Any = "", func: Callable[..., Any] | None = None, *, lib: Library | None = None
) -> Any:
    """Registers the function of an operator for types of devices; a decorator without `func`.

    Args:
        qualname: the operator's name with the namespace. A library in its place takes, as `types`, the operator's
            name, and as `func` a dispatch key.
        types: types of devices, one or several; "default" for all.
        func: the function.
        lib: the library with which the function goes.

    Raises:
        RuntimeError: no device is called so, or there is no such operator.

    Example:
        >>> import tl_core as tl
        >>> define("plane::scale", "(Tensor x, float by) -> Tensor")
        >>> impl("plane::scale", "default", lambda x, by: x * by)
        >>> tl.ops.plane.scale(tl.tensor([3.0, 4.0]), 2.0)
        tensor([6., 8.])
    """
    if isinstance(qualname, Library):
        return _implemented_in(qualname, types, func or "")
    keys = dict.fromkeys(keys_of_devices(types))
    if func is None:
        return lambda f: (impl(qualname, types, f, lib=lib), f)[1]
    for key in keys:
        namespace, _ = parse_namespace(qualname)
        kept_library(namespace, lib).impl(qualname, func, key)
    return None


def _implemented_in(lib: Library, name: Any, dispatch_key: Any) -> Callable[[Any], Any]:
    def decorate(f: Any) -> Any:
        lib.impl(name, f, dispatch_key)
        return f

    return decorate


def keys_of_devices(types: str | Sequence[str] | None) -> list[str]:
    """The dispatch keys of types of devices; of None and "default", the key for all."""
    names = [types] if types is None or isinstance(types, str) else types
    return [_key_of(t) for t in names]


def _key_of(name: str | None) -> str:
    if name in (None, "default"):
        return "CompositeExplicitAutograd"
    return name if name in DispatchKey.__members__ else device_key(name)


def operator_of(op: Any, caller: str) -> tuple[str, str]:
    """(namespace, name) of an operator that is given in one of several ways."""
    return parse_namespace(qualified_name(op, caller))
