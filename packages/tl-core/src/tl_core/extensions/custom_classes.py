"""Classes of objects in schemas: `torch.classes.namespace.Name`.

Extensions in C++ register them with `torch::class_`, and packages in Python with `register`. The header
`tl/torch/custom_class.hpp` calls `define`, `_add` and `_wrap`. An object of a class of an extension has a capsule with
the object of C++, and methods are functions that take a tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

from tl_core.base import backend_registry
from tl_core.operators.packets import load_library, loaded_libraries

__all__ = [
    "Method",
    "ScriptObject",
    "class_of",
    "define",
    "load_library",
    "loaded_libraries",
    "method_of",
    "register",
]

_PREFIX = "__torch__.torch.classes."
_QUANTIZED = tuple(f"{_PREFIX}{space}." for space in ("quantized", "rnn", "sparse"))  # of packed weights
_classes: dict[str, type[ScriptObject]] = {}  # by the name in schemas


@dataclass(eq=False)
class Method:
    """A function of C++ with the names and defaults of its arguments.

    Args:
        name (str): Its name.
        function (Callable[..., Any]): The function, which takes all arguments by position.
        names (list[str]): The names of its arguments after the object, or [] if the extension does not tell them.
        defaults (dict[str, Any]): The defaults by name.
        owner (type): The class.
        schema (str): Types as `(__torch__.torch.classes.mine.Stack _0, str _1) -> int`, or "" where one has no name.
        is_static (bool): Whether the first argument is not the object.

    Example:
        >>> from tl_core.extensions.custom_classes import Method, ScriptObject
        >>> Method("push", print, ["word"], {}, ScriptObject).arguments((), {"word": "a"})
        ('a',)
    """

    name: str
    function: Callable[..., Any]
    names: list[str]
    defaults: dict[str, Any]
    owner: type[ScriptObject]
    schema: str = ""
    is_static: bool = False

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call by position.

        Args:
            args (tuple[Any, ...]): Those that have no name.
            kwargs (dict[str, Any]): Those with a name.

        Returns:
            tuple[Any, ...]: All arguments.

        Raises:
            TypeError: An argument is unknown, absent, or there twice.
        """
        if not kwargs and len(args) >= len(self.names):
            return args
        values = dict(zip(self.names, args, strict=False))
        if len(args) > len(self.names):
            raise TypeError(f"{self.name}() takes {len(self.names)} named arguments, got {len(args)} values")
        for name, value in kwargs.items():
            if name not in self.names:
                raise TypeError(f"{self.name}() got an unexpected keyword argument {name!r}")
            if name in values:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
            values[name] = value
        absent = [name for name in self.names if name not in values and name not in self.defaults]
        if absent:
            raise TypeError(f"{self.name}() is missing value for argument {absent[0]!r}")
        return tuple(values[name] if name in values else self.defaults[name] for name in self.names)


class ScriptObject:
    """An object of a class that an extension or a package registers.

    Args:
        *args: the arguments of the constructor.
        **kwargs: those by name, if the extension tells the names.

    Raises:
        RuntimeError: the class has no constructor.

    Example:
        >>> from tl_core.extensions.custom_classes import ScriptObject
        >>> try:
        ...     ScriptObject()
        ... except RuntimeError as error:
        ...     print(error)
        ScriptObject has no constructor: the extension defines none
    """

    _object: Any  # a capsule with the object
    _qualified_name = "ScriptObject"
    _methods: ClassVar[dict[str, Method]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        method = self._methods.get("__init__")
        if method is None:
            raise RuntimeError(f"{type(self).__name__} has no constructor: the extension defines none")
        self._object = method.function(*method.arguments(args, kwargs))._object

    @classmethod
    def _wrap(cls, capsule: Any) -> ScriptObject:
        """The object of a capsule."""
        wrapper = object.__new__(cls)
        wrapper._object = capsule
        return wrapper

    @classmethod
    def _add(
        cls,
        kind: str,
        name: str,
        doc: str,
        function: Callable[..., Any],
        names: list[str],
        defaults: dict[str, Any],
        schema: str = "",
    ) -> None:
        """Adds a method or an attribute.

        Args:
            kind: "method", "static", "getter" or "setter".
            name: its name.
            doc: its documentation.
            function: the function of C++.
            names: the names of the arguments.
            defaults: their defaults.
            schema: the types of the arguments and the result.
        """
        own = f"{name}_{kind}" if kind in ("getter", "setter") else name
        method = Method(own, function, names, defaults, cls, schema, kind == "static")
        cls._methods[own] = method
        if kind == "getter":
            setattr(cls, name, property(lambda self: function(self), doc=doc))
            return
        if kind == "setter":
            getter = vars(cls)[name]
            setattr(cls, name, getter.setter(lambda self, value: function(self, value)))
            return
        if name in ("__init__", "__getstate__", "__setstate__"):
            return
        if kind == "static":

            def call_static(*args: Any, **kwargs: Any) -> Any:
                return function(*method.arguments(args, kwargs))

            call: Any = call_static
        else:

            def call_method(self: ScriptObject, *args: Any, **kwargs: Any) -> Any:
                return function(self, *method.arguments(args, kwargs))

            call = call_method
        call.__name__, call.__qualname__, call.__doc__ = name, f"{cls.__name__}.{name}", doc
        setattr(cls, name, staticmethod(call) if kind == "static" else call)

    def _type(self) -> Any:
        """The type in schemas."""
        from tl_core.schemas.types import ClassType

        return ClassType(self._qualified_name)

    def _method_names(self) -> list[str]:
        return list(self._methods)

    def _has_method(self, name: str) -> bool:
        return name in self._methods

    def _state(self) -> Any:
        """The state that pickles have.

        Raises:
            RuntimeError: the class has no method for it.
        """
        get = self._methods.get("__getstate__")
        if get is None:
            raise RuntimeError(
                f"Tried to serialize object {self._qualified_name} which does not have a __getstate__ method defined!"
            )
        return get.function(self)

    @classmethod
    def _of_state(cls, state: Any) -> ScriptObject:
        """The object of a state.

        Raises:
            RuntimeError: the class has no method for it.
        """
        put = cls._methods.get("__setstate__")
        if put is None:
            raise RuntimeError(f"{cls._qualified_name} has no __setstate__ method for objects in files")
        restored: ScriptObject = put.function(state)
        return restored

    def __getstate__(self) -> Any:
        return self._state(), self._qualified_name

    def __setstate__(self, state: Any) -> None:
        """Turns an object without a class of its own into the object of a file.

        Args:
            state: the state of the object, and the name of its class in schemas.
        """
        if type(state) is not tuple or len(state) != 2 or type(state[1]) is not str:
            raise RuntimeError(
                "the state of a ScriptObject must be a pair of a state and the name of a class"
            )
        restored = _restore(state[1], state[0])
        self.__class__ = type(restored)
        vars(self).update(vars(restored))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _restore, (self._qualified_name, self._state())


def _restore(name: str, state: Any) -> ScriptObject:
    """The object of a state that pickles have."""
    return class_of(name)._of_state(state)


def register(cls: type[ScriptObject]) -> type[ScriptObject]:
    """Enters a class under its name in schemas, for files and for `torch.classes`.

    Args:
        cls: the class, with a `_qualified_name`, `_state` and `_of_state`.

    Example:
        >>> from tl_core.extensions.custom_classes import ScriptObject, class_of, register
        >>> @register
        ... class Counter(ScriptObject):
        ...     _qualified_name = "__torch__.torch.classes.documented.Counter"
        >>> class_of("__torch__.torch.classes.documented.Counter") is Counter
        True
    """
    _classes[cls._qualified_name] = cls
    return cls


def class_of(name: str) -> type[ScriptObject]:
    """Returns a class by its name in schemas, such as `__torch__.torch.classes.mine.Stack`.

    Args:
        name: the name.

    Raises:
        RuntimeError: there is none.

    Example:
        >>> from tl_core.extensions.custom_classes import class_of
        >>> try:
        ...     class_of("__torch__.torch.classes.mine.Stack")
        ... except RuntimeError as error:
        ...     print(str(error).partition("!")[0])
        Tried to instantiate class 'mine.Stack', but it does not exist
    """
    cls = _classes.get(name)
    if cls is None and name.startswith(_QUANTIZED) and backend_registry.load("packed weights"):
        cls = _classes.get(name)
    if cls is None:
        raise RuntimeError(
            f"Tried to instantiate class {name.removeprefix(_PREFIX)!r}, but it does not exist! Ensure that it is "
            "registered via torch::class_"
        )
    return cls


def method_of(owner: str, name: str) -> Method | None:
    """Returns a method of a class of an extension. Attributes have the methods `name_getter` and `name_setter`.

    Args:
        owner (str): The name of the class in schemas.
        name (str): The name of the method.

    Returns:
        Method | None: The method, or None if there is no such class or method.

    Example:
        >>> from tl_core.extensions.custom_classes import method_of
        >>> method_of("__torch__.torch.classes.mine.Stack", "push") is None
        True
    """
    cls = _classes.get(owner)
    return None if cls is None else cls._methods.get(name)


def define(space: str, name: str, doc: str) -> type[ScriptObject]:
    """Defines a class. An extension calls this function.

    Args:
        space: the namespace.
        name: the name of the class.
        doc: its documentation.

    Raises:
        RuntimeError: there is a class of this name.

    Example:
        >>> from tl_core.extensions.custom_classes import define
        >>> define("documented", "Stack", "A stack.").__name__
        'Stack'
    """
    full = f"{_PREFIX}{space}.{name}"
    if full in _classes:
        raise RuntimeError(f"torch::class_: the class {space}.{name} is registered already")
    members = {
        "__doc__": doc,
        "__module__": f"torch.classes.{space}",
        "_qualified_name": full,
        "_methods": {},
    }
    cls = type(name, (ScriptObject,), members)
    _classes[full] = cls
    return cls


class _ClassNamespace(ModuleType):
    """The classes of a namespace."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"torch.classes has no attribute {name!r}")
        return class_of(f"{_PREFIX}{self.__name__.rpartition('.')[2]}.{name}")


_namespaces: dict[str, _ClassNamespace] = {}


def __getattr__(name: str) -> _ClassNamespace:
    """The classes of a namespace: `torch.classes.name`."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _namespaces.setdefault(name, _ClassNamespace(f"torch.classes.{name}"))
