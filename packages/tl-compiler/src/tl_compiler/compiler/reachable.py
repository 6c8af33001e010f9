"""The state that a call can read: what its function reaches by name, through closures, attributes and arguments.

The state is described by a key, which is equal for two calls that would record the same operators, and by the tensors
in it, which are inputs of the graph. What the walk can't describe refuses the capture: a call runs eagerly where its
state isn't known in full.
"""

from __future__ import annotations

import collections
import enum
import functools
import re
import sys
import types
import weakref
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_autograd import Function
from tl_core.base.public_names import own_module_of

from .annotations import say_without_effect
from .code_facts import facts_of
from .purity import is_ours, is_pure, is_standard, root_of

__all__ = ["State", "Unprovable", "state_of"]

Tensor = tl_core.Tensor
_LIMIT = 200_000  # tokens of a key; beyond that it would take longer to compare than to run
_ABSENT = object()


class Unprovable(Exception):
    """The state of a call can't be described in full.

    Args:
        reason: why.
        file, line: where the program says so; None where no line does.
    """

    def __init__(self, reason: str, file: str | None = None, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.file, self.line = reason, file, line


class State(NamedTuple):
    """What a call can read.

    Args:
        key: equal where two calls would record the same operators.
        tensors: the tensors, in the order of the key.
        names: what to call them.
        sizes: the sizes and strides of each, which the key leaves out.
        numbers: the arguments that are ints, and what to call them; the key leaves out their values.
        argument_names: how the names of tensors begin that are reached through the arguments.
        ids: the number of each object in the order of the walk, by its id.
        codes: the code that may run.
        refused: of code that can't be captured where it runs, why, and the line.
        contents: containers and copies of their contents.
        attributes: objects with named attributes, and the attributes.
        objects: the visited objects, whose ids stay in use.
        pinned: those of them whose ids the key has.
    """

    key: tuple[Any, ...]
    tensors: list[Any]
    names: list[str]
    sizes: list[tuple[tuple[int, ...], tuple[int, ...]]]
    numbers: list[tuple[str, int]]
    argument_names: tuple[str, ...]
    ids: dict[int, int]
    codes: set[CodeType]
    refused: dict[CodeType, tuple[str, int]]
    contents: list[tuple[Any, Any]]
    attributes: list[tuple[Any, str, Any]]
    objects: list[Any]
    pinned: list[Any]

    @property
    def facts(self) -> tuple[Any, ...]:
        """All that tells calls apart: the key, the sizes and the numbers."""
        return self.key, tuple(self.sizes), tuple(n for _, n in self.numbers)

    def restore(self) -> None:
        """Gives containers and attributes back what they held."""
        for container, before in self.contents:
            _restore(container, before)
        for owner, name, value in self.attributes:
            if vars(owner).get(name, _ABSENT) is not value:
                setattr(owner, name, value)


def _restore(container: Any, before: Any) -> None:
    now = list(container.items()) if isinstance(container, dict) else list(container)
    if len(now) == len(before) and all(_same(a, b) for a, b in zip(now, before, strict=True)):
        return
    container.clear()
    if isinstance(container, dict):
        dict.update(container, before)
    elif isinstance(container, set):
        container.update(before)
    else:
        container.extend(before)


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is tuple and len(a) == 2 and a[0] is b[0] and a[1] is b[1])


def state_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> State:
    """The state that a call can read.

    Args:
        function: what is called.
        args, kwargs: its arguments.

    Raises:
        Unprovable: something in it is of a kind that the walk doesn't know.
    """
    walk = _Walk()
    walk.visit(function, "self" if isinstance(function, (tl_nn.Module, types.MethodType)) else "fn")
    for i, value in enumerate(args):
        walk.argument(value, f"args_{i}")
    walk.tokens.append(len(args))
    for name, value in kwargs.items():
        walk.tokens.append(name)
        walk.argument(value, name)
    walk.settle()
    return walk.state(("args_", *kwargs))


_SIMPLE = (bool, int, str, range, bytes, type(None), type(Ellipsis), type(NotImplemented), tl_core.dtype,
           tl_core.device, tl_core.layout, tl_core.memory_format)  # fmt: skip
_FIXED: tuple[type, ...] = (
    re.Pattern, types.GenericAlias, types.UnionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.ClassMethodDescriptorType, types.CodeType,
    enum.Enum, types.MethodWrapperType, type(vars(collections.namedtuple("_Named", "field"))["field"]),
)  # fmt: skip
_PLAIN_TENSORS = (Tensor, tl_nn.Parameter)


class _Walk:
    """Visits objects and describes them."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []
        self.ids: dict[int, int] = {}
        self.objects: list[Any] = []
        self.pinned: list[Any] = []
        self.tensors: list[Any] = []
        self.names: list[str] = []
        self.sizes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.numbers: list[tuple[str, int]] = []
        self.codes: set[CodeType] = set()
        self.refused: dict[CodeType, tuple[str, int]] = {}
        self.unknown: dict[int, Unprovable] = {}  # objects that can't be described, by their id
        self.unknown_words: dict[str, Unprovable] = {}  # attributes with such objects
        self.contents: list[tuple[Any, Any]] = []
        self.attributes: list[tuple[Any, str, Any]] = []
        self.words: dict[str, None] = {"forward": None}  # names of attributes that the code has
        self.owners: list[
            tuple[Any, str]
        ] = []  # modules and classes, of which only attributes with such names count
        self.builtins: list[Any] = []
        self.calls_back = False

    def state(self, argument_names: tuple[str, ...]) -> State:
        """What has been found.

        Args:
            argument_names: how the names of tensors begin that the walk called by arguments.
        """
        for code in self.codes:
            self._refuse_words(code)
        key, contents, attributes = tuple(self.tokens), self.contents, self.attributes
        return State(
            key, self.tensors, self.names, self.sizes, self.numbers, argument_names, self.ids, self.codes, self.refused,
            contents, attributes, self.objects, self.pinned,
        )  # fmt: skip

    def _refuse_words(self, code: CodeType) -> None:
        """Refuses code that names an attribute with an object that can't be described."""
        words = facts_of(code).names
        for word, error in self.unknown_words.items():
            if word in words or "getattr" in words or "__dict__" in words:
                self.refused.setdefault(code, (error.reason, code.co_firstlineno))

    # ---- one object
    def argument(self, x: Any, path: str) -> None:
        """Describes an argument.

        Args:
            x: the argument.
            path: what to call it.
        """
        if type(x) is int:
            self.tokens.append("number")
            self.numbers.append((path, x))
        else:
            self.visit(x, path)

    def visit(self, x: Any, path: str) -> None:
        """Describes an object.

        Args:
            x: the object.
            path: what to call it.
        """
        kind = type(x)
        if kind in _SIMPLE:
            self.tokens += (kind, x)
            return
        if kind is float or kind is complex:
            self.tokens += (kind, repr(x))
            return
        number = self.ids.get(id(x))
        if number is not None:
            self.tokens += ("again", number)
            if id(x) in self.unknown:
                raise self.unknown[id(x)]
            return
        self.ids[id(x)] = len(self.ids)
        self.objects.append(x)
        if len(self.tokens) > _LIMIT:
            raise Unprovable(
                f"its state is too large to be compared at each call: more than {_LIMIT:,} objects"
            )
        handler = _HANDLERS.get(kind, _Walk._other)
        try:
            handler(self, x, path)
        except Unprovable as error:
            self.unknown[id(x)] = error
            raise

    def _identity(self, x: Any, path: str = "") -> None:
        self.tokens += (type(x), id(x))
        self.pinned.append(x)

    def _tensor(self, x: Any, path: str) -> None:
        if x.layout is not tl_core.strided or x.is_quantized:
            raise Unprovable(f"{path} is a tensor of the layout {x.layout}")
        state = x.is_conj(), x.is_neg(), x.is_inference(), x.names if x.has_names() else None
        self.tokens += (
            type(x),
            x.dtype,
            x.ndim,
            x.device,
            x.requires_grad,
            x.is_leaf,
            *state,
        )
        self.tensors.append(x)
        self.names.append(path)
        self.sizes.append((tuple(x.shape), x.stride()))
        if x.__dict__:
            self.tokens += tuple(sorted(name for name in x.__dict__ if not name.startswith("_dynamo")))

    def _slice(self, x: Any, path: str) -> None:
        self.tokens.append(slice)
        for part in (x.start, x.stop, x.step):
            self.visit(part, path)

    def _sequence(self, x: Any, path: str) -> None:
        self.tokens += (type(x), len(x))
        if not isinstance(x, tuple):
            self.contents.append((x, list(x)))
        for i, item in enumerate(x):
            self.visit(item, f"{path}_{i}")

    def _set(self, x: Any, path: str) -> None:
        self.tokens += (type(x), len(x))
        if not isinstance(x, frozenset):
            self.contents.append((x, list(x)))
        for item in sorted(x, key=repr):
            self.visit(item, path)

    def _mapping(self, x: Any, path: str) -> None:
        self.tokens += (type(x), len(x))
        items = list(x.items())
        if not isinstance(x, types.MappingProxyType):
            self.contents.append((x, items))
        if isinstance(x, collections.defaultdict):
            self.visit(x.default_factory, f"{path}_default")
        for key, value in items:
            self.visit(key, path)
            self.visit(value, f"{path}_{key}" if isinstance(key, (str, int)) else path)

    # ---- code
    def code(self, code: CodeType, namespace: dict[str, Any]) -> None:
        """Describes what a function's code reads.

        Args:
            code: the code.
            namespace: its global variables.
        """
        if code in self.codes:
            return
        facts = facts_of(code)
        self.codes.update(facts.codes)
        self.refused.update(facts.refused)
        self.calls_back |= facts.calls_back
        for name in facts.names:
            self.words[name] = None
            value = namespace.get(name, _ABSENT)
            if value is not _ABSENT:
                self.tokens.append(name)
                self._visit_for(code, value, name)
        for name in facts.imports:
            module = sys.modules.get(name)
            if module is None:
                self._refuse(code, f"{name} is imported")
            else:
                self.visit(module, name)

    def _refuse(self, code: CodeType, reason: str) -> None:
        """Refuses a function, and those inside of it, where they run."""
        for each in facts_of(code).codes:
            self.refused.setdefault(each, (reason, code.co_firstlineno))

    def _visit_for(self, code: CodeType, value: Any, path: str) -> None:
        """Describes what a function reads; where that can't be described, the function is refused."""
        try:
            self.visit(value, path)
        except Unprovable as error:
            self._refuse(code, error.reason)

    def _function(self, x: Any, path: str) -> None:
        if hasattr(x, "_torchdynamo_orig_callable"):
            self.tokens.append("wrapped")
            if hasattr(x, "_torchdynamo_disable"):
                self._identity(x)  # its call stops the capture
            else:
                self.visit(x._torchdynamo_orig_callable, path)
            return
        if is_ours(x.__module__) and is_ours(x.__globals__.get("__name__")):
            self._identity(x)
            self._cells(x, path)
            return
        say_without_effect(x)
        self.tokens += (type(x), id(x.__code__))
        self.pinned.append(x.__code__)
        self._cells(x, path)
        self.visit(x.__defaults__, f"{path}_defaults")
        self.visit(x.__kwdefaults__, f"{path}_defaults")
        if x.__dict__:
            self.visit(x.__dict__, path)
        if not is_standard(x.__module__):
            self.code(x.__code__, x.__globals__)

    def _cells(self, x: Any, path: str) -> None:
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                self.tokens.append("empty")
                continue
            self._visit_for(x.__code__, value, name)

    def _method(self, x: Any, path: str) -> None:
        self.tokens.append(type(x))
        self.visit(x.__self__, path)
        self.visit(x.__func__, path)

    def _builtin(self, x: Any, path: str) -> None:
        owner = None if is_ours(x.__module__) else x.__self__
        if owner is not None and not isinstance(owner, (ModuleType, type)):
            self.tokens += (type(x), x.__name__)
            self.visit(owner, path)
        else:
            self._identity(x)
        self.builtins.append(x)

    def _partial(self, x: Any, path: str) -> None:
        self.tokens.append(type(x))
        self.calls_back = True
        self.visit(x.func, path)
        self.visit(x.args, path)
        self.visit(x.keywords, path)

    def _property(self, x: Any, path: str) -> None:
        self.tokens.append(type(x))
        for function in (x.fget, x.fset):
            self.visit(function, path)

    def _wrapped(self, x: Any, path: str) -> None:
        self.tokens.append(type(x))
        self.visit(x.__func__, path)

    def _cached_property(self, x: Any, path: str) -> None:
        self.tokens.append(type(x))
        self.visit(x.func, path)

    # ---- modules, classes, instances
    def _module(self, x: Any, path: str) -> None:
        self._identity(x)
        self.owners.append((x, path))

    def _class(self, x: type, path: str) -> None:
        self._identity(x)
        if is_ours(x.__module__) or is_standard(x.__module__) or issubclass(x, enum.Enum):
            return
        if root_of(x.__module__) == "numpy":
            return
        if issubclass(x, Function):  # a graph calls it: its derivative reads what it finds then
            self.words.update(dict.fromkeys(("setup_context", "_forward_cls")))
        if issubclass(x, Tensor):
            raise Unprovable(f"{x.__name__} is a class of tensors")
        metaclass = type(x).__module__
        if metaclass not in ("builtins", "abc", "typing") and not is_ours(metaclass):
            raise Unprovable(f"{x.__name__} has a metaclass, {type(x).__name__}")
        self.owners.append((x, path))
        for base in x.__mro__[1:]:
            self.visit(base, path)

    def settle(self) -> None:
        """Describes the attributes of modules and classes that the code may name."""
        counts: dict[int, int] = {}
        again = True
        while again:
            again = False
            for owner, path in list(self.owners):
                words, first = list(self.words), counts.get(id(owner), 0)
                counts[id(owner)] = len(words)
                if first == 0 and isinstance(owner, type):
                    words += [n for n, v in vars(owner).items() if _is_special(n, v) and n not in self.words]
                for name in words[first:]:
                    again = True
                    self._attribute(owner, name, path)
            again = again and any(counts.get(id(o)) != len(self.words) for o, _ in self.owners)
        for function in self.builtins if self.calls_back else ():
            if not is_pure(function):
                raise Unprovable(f"{function.__qualname__} may be called where nobody sees it")

    def _attribute(self, owner: Any, name: str, path: str) -> None:
        value = vars(owner).get(name, _ABSENT)
        if value is _ABSENT or name in (
            "__dict__",
            "__weakref__",
            "__doc__",
            "__module__",
            "__annotations__",
        ):
            return
        self.tokens.append(name)
        if isinstance(owner, ModuleType) and (is_ours(owner.__name__) or is_standard(owner.__name__)):
            if type(value) in _SIMPLE:
                self.visit(value, name)
            elif isinstance(value, ModuleType):
                self.visit(value, f"{path}_{name}")
            else:
                self._identity(value)
                if isinstance(value, types.BuiltinFunctionType):
                    self.builtins.append(value)
            return
        self.attributes.append((owner, name, value))
        self._visit_attribute(name, value, path)

    def _visit_attribute(self, name: str, value: Any, path: str) -> None:
        try:
            self.visit(value, f"{path}_{name}")
        except Unprovable as error:
            self.unknown_words[name] = error

    def _other(self, x: Any, path: str) -> None:
        kind = type(x)
        if isinstance(x, Tensor):
            if kind not in _PLAIN_TENSORS and not is_ours(kind.__module__):
                raise Unprovable(f"{path} is a tensor of the class {kind.__name__}")
            raise Unprovable(f"{path} is a {kind.__name__}")
        if isinstance(x, ModuleType):
            self._module(x, path)
        elif isinstance(x, type):
            self._class(x, path)
        elif isinstance(x, _FIXED):
            self._identity(x)
        elif isinstance(x, tl_nn.Module):
            self._instance(x, path)
        elif hasattr(x, "_torchdynamo_orig_callable") and is_ours(kind.__module__):
            self.visit(x._torchdynamo_orig_callable, path)
        elif is_ours(kind.__module__):
            self._own(x, path)
        elif root_of(kind.__module__) == "numpy":
            self._numpy(x, path)
        elif is_standard(kind.__module__):
            self._standard(x, path)
        else:
            self._instance(x, path)

    def _own(self, x: Any, path: str) -> None:
        """An object of one of this library's classes: functions, operators and regions, not what keeps state."""
        kind = type(x)
        if (
            (
                callable(x)
                and (
                    not hasattr(x, "__dict__")
                    or own_module_of(kind).startswith(("tl_core._C", "tl_core.operators.packets"))
                )
            )
            or own_module_of(kind).startswith("tl_core._C")
            or issubclass(kind, (tl_core.Generator,))
        ):
            self._identity(x)
        elif own_module_of(kind).startswith("tl_nn.modules") and hasattr(x, "__dict__"):
            self._instance(x, path)
        else:
            raise Unprovable(
                f"{path} is an object of {kind.__module__}.{kind.__qualname__}, which keeps state"
            )

    def _numpy(self, x: Any, path: str) -> None:
        kind = type(x)
        if kind.__name__ in ("ufunc",) or (hasattr(x, "newbyteorder") and not hasattr(x, "shape")):
            self._identity(x)
        elif hasattr(x, "tobytes") and not hasattr(x, "__setitem__"):
            self.tokens += (kind, x.tobytes())
        else:
            raise Unprovable(f"{path} is a NumPy {kind.__name__}")

    def _standard(self, x: Any, path: str) -> None:
        """An object of Python's own classes: those written in Python are told by their identity, as no code of theirs
        may run while a call is captured."""
        kind = type(x)
        if (
            kind.__flags__ & (1 << 9)
            and not isinstance(x, (dict, list, set))
            and kind is not weakref.ReferenceType
        ):
            self._identity(x)
        else:
            raise Unprovable(f"{path} is a {kind.__module__}.{kind.__qualname__}")

    def _attributes_of(self, x: Any, path: str) -> None:
        """Describes an object's own attributes; those that can't be described refuse only the code that names them."""
        members = x.__dict__
        items = list(members.items())
        self.contents.append((members, items))
        self.tokens.append(len(items))
        for name, value in items:
            self.tokens.append(name)
            if name in _PARTS or "_hooks" in str(name):
                self.visit(value, f"{path}{name}")  # this library's own code reads them
            else:
                self._visit_attribute(str(name), value, path)

    def _instance(self, x: Any, path: str) -> None:
        kind = type(x)
        self.tokens.append(kind)
        self.visit(kind, path)
        described = False
        for base, handler in (
            (dict, _Walk._mapping),
            ((list, tuple), _Walk._sequence),
            ((set, frozenset), _Walk._set),
        ):
            if isinstance(x, base):
                handler(self, x, path)
                described = True
        for name in _slots(kind):  # type: ignore[arg-type]  # mypy doubts that a type is hashable
            value = getattr(x, name, _ABSENT)
            if value is not _ABSENT:
                self.tokens.append(name)
                self._visit_attribute(name, value, path)
            described = True
        if hasattr(x, "__dict__"):
            self._attributes_of(x, path)
            described = True
        if not described:
            raise Unprovable(f"{path} is a {kind.__module__}.{kind.__qualname__}")


_PARTS = frozenset(["_parameters", "_buffers", "_modules"])  # of modules


def _is_special(name: str, value: Any) -> bool:
    return name.startswith("__") and isinstance(
        value, (types.FunctionType, staticmethod, classmethod, property)
    )


@functools.lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[str, ...]:
    names: list[str] = []
    for base in kind.__mro__:
        if is_standard(base.__module__):
            continue
        named = base.__dict__.get("__slots__", ())
        names += [named] if isinstance(named, str) else list(named)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


_HANDLERS: dict[type, Callable[[_Walk, Any, str], None]] = {
    Tensor: _Walk._tensor,
    tl_nn.Parameter: _Walk._tensor,
    list: _Walk._sequence,
    tuple: _Walk._sequence,
    tl_core.Size: _Walk._sequence,
    collections.deque: _Walk._sequence,
    set: _Walk._set,
    frozenset: _Walk._set,
    dict: _Walk._mapping,
    collections.OrderedDict: _Walk._mapping,
    collections.defaultdict: _Walk._mapping,
    types.MappingProxyType: _Walk._mapping,
    types.SimpleNamespace: _Walk._instance,
    types.FunctionType: _Walk._function,
    types.MethodType: _Walk._method,
    types.BuiltinFunctionType: _Walk._builtin,
    types.ModuleType: _Walk._module,
    functools.partial: _Walk._partial,
    functools.cached_property: _Walk._cached_property,
    property: _Walk._property,
    staticmethod: _Walk._wrapped,
    classmethod: _Walk._wrapped,
    type: _Walk._class,
    slice: _Walk._slice,
}
