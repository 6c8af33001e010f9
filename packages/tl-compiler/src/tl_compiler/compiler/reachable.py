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
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

import tl_core
import tl_nn
from tl_autograd import Function
from tl_core.base.public_names import own_module_of

from ..higher_order.base import HigherOrderOperator
from .break_errors import error_on_graph_break
from .code_facts import facts_of
from .data_state import (
    describe_mapping,
    describe_numpy,
    describe_sequence,
    describe_set,
    describe_slice,
    describe_standard,
    describe_tensor,
)
from .function_annotations import REFUSE, SUBSTITUTE, Mark, mark_of
from .purity import is_ours, is_pure, is_standard, root_of
from .state import ABSENT, State, Unprovable

__all__ = ["state_of", "trail_of"]

Tensor = tl_core.Tensor
_LIMIT = 200_000  # tokens of a key; beyond that it would take longer to compare than to run


def state_of(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> State:
    """The state that a call can read.

    Args:
        function: what is called.
        args, kwargs: its arguments.

    Raises:
        Unprovable: something in it is of a kind that the walk doesn't know.
    """
    return _walk(function, args, kwargs).state(("args_", *kwargs))


def trail_of(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], list[tuple[int, str]]]:
    """The key of the state of a call, and which part of it describes which object.

    Args:
        function: what is called.
        args, kwargs: its arguments.

    Returns:
        The key, and for each object the index of its first token and its name.

    Raises:
        Unprovable: something in it is of a kind that the walk doesn't know.
    """
    trail: list[tuple[int, str]] = []
    walk = _walk(function, args, kwargs, trail)
    return tuple(walk.tokens), trail


def _walk(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], trail: list[tuple[int, str]] | None = None
) -> _Walk:
    walk = _Walk(trail)
    walk.visit(function, "self" if isinstance(function, (tl_nn.Module, types.MethodType)) else "fn")
    for i, value in enumerate(args):
        walk.argument(value, f"args_{i}")
    walk.tokens.append(len(args))
    for name, value in kwargs.items():
        walk.tokens.append(name)
        walk.argument(value, name)
    walk.settle()
    return walk


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

    def __init__(self, trail: list[tuple[int, str]] | None = None) -> None:
        self.trail = trail
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
        self.slots: list[tuple[Any, str, Any]] = []
        self.variables: list[tuple[dict[str, Any], str, Any]] = []
        self.cells: dict[int, tuple[Any, Any]] = {}
        self.stored: dict[str, None] = {}  # names of attributes that the code assigns
        self.words: dict[str, None] = {"forward": None}  # names of attributes that the code has
        # Modules and classes, of which only attributes with such names count.
        self.owners: list[tuple[Any, str]] = []
        self.builtins: list[Any] = []
        self.calls_back = False
        self.marked: dict[types.FunctionType, Mark] = {}

    def state(self, argument_names: tuple[str, ...]) -> State:
        """What has been found.

        Args:
            argument_names: how the names of tensors begin that the walk called by arguments.
        """
        for code in self.codes:
            self._refuse_words(code)
        key = tuple(self.tokens)
        return State(
            key, self.tensors, self.names, self.sizes, self.numbers, argument_names, self.ids, self.codes, self.refused,
            self.contents, self.attributes, self.slots, self.variables, list(self.cells.values()), self.objects,
            self.pinned, self.marked,
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
        if self.trail is not None:
            self.trail.append((len(self.tokens), path))
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
        mark = mark_of(x)
        try:
            if mark is not None and mark.kind == REFUSE and kind is not types.FunctionType:
                raise Unprovable(f"{path} is called, which disallow_in_graph marks")
            handler(self, x, path)
        except Unprovable as error:
            self.unknown[id(x)] = error
            raise

    def identity(self, x: Any, path: str = "") -> None:
        """Describes an object by its id.

        Args:
            x: the object.
            path: the name of the object, which its id replaces.
        """
        self.tokens += (type(x), id(x))
        self.pinned.append(x)

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
        self.stored.update(dict.fromkeys(facts.stored))
        self.variables += [(namespace, name, namespace.get(name, ABSENT)) for name in facts.assigned]
        for name in facts.names:
            self.words[name] = None
            value = namespace.get(name, ABSENT)
            if value is not ABSENT:
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
                self.identity(x)  # its call stops the capture
            else:
                self.visit(x._torchdynamo_orig_callable, path)
            return
        mark = mark_of(x)
        if mark is not None:
            self._visit_annotated(x, mark, path)
            return
        if is_ours(x.__module__) and is_ours(x.__globals__.get("__name__")):
            self.identity(x)
            self._cells(x, path)
            return
        self.tokens += (type(x), id(x.__code__))
        self.pinned.append(x.__code__)
        self._cells(x, path)
        self.visit(x.__defaults__, f"{path}_defaults")
        self.visit(x.__kwdefaults__, f"{path}_defaults")
        if x.__dict__:
            self.visit(x.__dict__, path)
        if not is_standard(x.__module__):
            self.code(x.__code__, x.__globals__)

    def _visit_annotated(self, x: types.FunctionType, mark: Mark, path: str) -> None:
        self.tokens.append(mark.kind)
        self.identity(x)
        self.marked[x] = mark
        if mark.kind == SUBSTITUTE:
            self.visit(mark.substitute, path)

    def _cells(self, x: Any, path: str) -> None:
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                self.tokens.append("empty")
                self.cells[id(cell)] = cell, ABSENT
                continue
            self.cells[id(cell)] = cell, value
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
            self.identity(x)
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
        self.identity(x)
        self.owners.append((x, path))

    def _class(self, x: type, path: str) -> None:
        self.identity(x)
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
        value = vars(owner).get(name, ABSENT)
        if name in ("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__"):
            return
        if value is ABSENT:
            if name in self.stored:
                self.attributes.append((owner, name, value))
            return
        self.tokens.append(name)
        if isinstance(owner, ModuleType) and (is_ours(owner.__name__) or is_standard(owner.__name__)):
            if type(value) in _SIMPLE:
                self.visit(value, name)
            elif isinstance(value, ModuleType):
                self.visit(value, f"{path}_{name}")
            elif (mark := mark_of(value)) is not None:
                self._visit_annotated_name(name, value, mark, path)
            else:
                self.identity(value)
                if isinstance(value, types.BuiltinFunctionType):
                    self.builtins.append(value)
            return
        self.attributes.append((owner, name, value))
        self._visit_attribute(name, value, path)

    def _visit_annotated_name(self, name: str, value: Any, mark: Mark, path: str) -> None:
        if isinstance(value, types.FunctionType):
            self._visit_annotated(value, mark, path)
        elif mark.kind == REFUSE:
            self.unknown_words[name] = Unprovable(f"{name} is called, which disallow_in_graph marks")

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
            self.identity(x)
        elif isinstance(x, tl_nn.Module):
            self._instance(x, path)
        elif is_ours(kind.__module__) and hasattr(x, "_torchdynamo_orig_callable"):
            self.visit(x._torchdynamo_orig_callable, path)
        elif is_ours(kind.__module__):
            self._own(x, path)
        elif root_of(kind.__module__) == "numpy":
            describe_numpy(self, x, path)
        elif is_standard(kind.__module__):
            describe_standard(self, x, path)
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
            or issubclass(kind, (tl_core.Generator, HigherOrderOperator))
        ):
            self.identity(x)
        elif issubclass(kind, error_on_graph_break) or (
            own_module_of(kind).startswith("tl_nn.modules") and hasattr(x, "__dict__")
        ):
            self._instance(x, path)
        else:
            raise Unprovable(
                f"{path} is an object of {kind.__module__}.{kind.__qualname__}, which keeps state"
            )

    def _attributes_of(self, x: Any, path: str) -> None:
        """Describes an object's own attributes; those that can't be described refuse only the code that names them."""
        members = x.__dict__
        if id(members) not in self.ids:
            self.ids[id(members)] = len(self.ids)
            self.objects.append(members)
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
            (dict, describe_mapping),
            ((list, tuple), describe_sequence),
            ((set, frozenset), describe_set),
        ):
            if isinstance(x, base):
                handler(self, x, path)
                described = True
        for name in _slots(kind):  # type: ignore[arg-type]  # mypy doubts that a type is hashable
            value = getattr(x, name, ABSENT)
            self.slots.append((x, name, value))
            if value is not ABSENT:
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
    Tensor: describe_tensor,
    tl_nn.Parameter: describe_tensor,
    list: describe_sequence,
    tuple: describe_sequence,
    tl_core.Size: describe_sequence,
    collections.deque: describe_sequence,
    set: describe_set,
    frozenset: describe_set,
    dict: describe_mapping,
    collections.OrderedDict: describe_mapping,
    collections.defaultdict: describe_mapping,
    types.MappingProxyType: describe_mapping,
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
    slice: describe_slice,
}
