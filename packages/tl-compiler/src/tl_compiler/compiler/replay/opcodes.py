"""The instructions of Python 3.11 and what each reads and writes. An instruction without a rule is refused."""

from __future__ import annotations

import builtins
import collections
import importlib.util
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

import tl_core

from ..object_parts import is_python_class
from .attributes import load_attribute, look_up, read_instance, store_attribute
from .callables import COMPARISONS, OPERATORS
from .calls import call
from .observer import NULL, Observer, Pending
from .operands import makes_iterator, read_deep, read_key, read_operand
from .refusal import Refusal
from .tensor_rules import refusal_of
from .world import ABSENT, is_plain

__all__ = ["RULES"]

Tensor = tl_core.Tensor
Rule = Callable[[Observer, Any, Any], None]
RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


@_rule(
    "CACHE", "POP_TOP", "PUSH_NULL", "NOP", "LOAD_CONST", "LOAD_FAST", "STORE_FAST", "DELETE_FAST", "SWAP", "COPY",
    "RESUME", "PRECALL", "POP_EXCEPT", "PUSH_EXC_INFO", "RERAISE", "CHECK_EXC_MATCH", "LOAD_ASSERTION_ERROR",
    "RETURN_VALUE", "MAKE_CELL", "COPY_FREE_VARS", "RETURN_GENERATOR", "JUMP_FORWARD", "JUMP_BACKWARD",
    "JUMP_BACKWARD_NO_INTERRUPT", "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "LIST_TO_TUPLE",
    "POP_JUMP_BACKWARD_IF_NONE", "POP_JUMP_BACKWARD_IF_NOT_NONE", "BUILD_TUPLE", "BUILD_SLICE", "BUILD_STRING",
    "WITH_EXCEPT_START", "RAISE_VARARGS", "MAKE_FUNCTION", "EXTENDED_ARG",
)  # fmt: skip
def _move(observer: Observer, activation: Any, instruction: Any) -> None:
    """These move values, or make objects that nobody can change."""


@_rule("KW_NAMES")
def _names(observer: Observer, activation: Any, instruction: Any) -> None:
    activation.names = activation.code.co_consts[instruction.arg]


@_rule("IS_OP")
def _identity(observer: Observer, activation: Any, instruction: Any) -> None:
    values = observer.top(activation, 2)
    if all(type(x) in (int, float, complex, str, bytes, tuple, tl_core.Size) for x in values):
        raise Refusal("the identity of numbers, texts or tuples is compared")
    for x in values:
        if isinstance(x, Tensor):
            observer.recorder.touch(x)
        elif observer.world.is_argument(x):
            raise Refusal("the identity of a container among the arguments is compared")


# ---- variables
@_rule("LOAD_GLOBAL")
def _load_global(observer: Observer, activation: Any, instruction: Any) -> None:
    frame, name = activation.frame, instruction.argval
    if type(frame.f_globals) is not dict or type(frame.f_builtins) is not dict:
        raise Refusal("global variables are in a dictionary of another type")
    observer.world.read_key(frame.f_globals, name)
    if name not in frame.f_globals:
        observer.world.read_key(frame.f_builtins, name)


@_rule("STORE_GLOBAL", "DELETE_GLOBAL")
def _store_global(observer: Observer, activation: Any, instruction: Any) -> None:
    variables = activation.frame.f_globals
    is_stored = instruction.opname == "STORE_GLOBAL" and type(variables) is dict
    if is_stored and observer.world.change_key(variables, instruction.argval):
        return
    raise Refusal(f"the global variable {instruction.argval} is written")


def _own_cell(observer: Observer, activation: Any, instruction: Any) -> Any:
    cell = observer.variable(activation, instruction.arg)
    if type(cell) is types.CellType and instruction.argval not in activation.code.co_freevars:
        observer.world.mark_fresh(cell)
    return cell


@_rule("LOAD_CLOSURE")
def _load_closure(observer: Observer, activation: Any, instruction: Any) -> None:
    _own_cell(observer, activation, instruction)


@_rule("LOAD_DEREF")
def _load_cell(observer: Observer, activation: Any, instruction: Any) -> None:
    cell = _own_cell(observer, activation, instruction)
    if type(cell) is not types.CellType:
        raise Refusal("a variable of an enclosing function has no cell")
    observer.world.read_cell(cell)


@_rule("STORE_DEREF", "DELETE_DEREF")
def _store_cell(observer: Observer, activation: Any, instruction: Any) -> None:
    if not observer.world.is_fresh(_own_cell(observer, activation, instruction)):
        raise Refusal(f"the variable {instruction.argval} of an enclosing function is written")


@_rule("IMPORT_NAME")
def _import(observer: Observer, activation: Any, instruction: Any) -> None:
    level, _ = observer.top(activation, 2)
    frame = activation.frame
    name = instruction.argval
    observer.world.read_key(frame.f_builtins, "__import__")
    if frame.f_builtins.get("__import__") is not builtins.__import__:
        raise Refusal("the import of modules is replaced")
    if level:
        package = frame.f_globals.get("__package__")
        name = importlib.util.resolve_name("." * level + name, package)
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        each = ".".join(parts[:i])
        if each not in sys.modules:
            raise Refusal(f"{name} is imported")
        observer.world.read_key(sys.modules, each)
    activation.pending = Pending("pure", None, builtins.__import__)


@_rule("IMPORT_FROM")
def _import_from(observer: Observer, activation: Any, instruction: Any) -> None:
    load_attribute(observer, activation, observer.top(activation, 1)[0], instruction.argval)


# ---- attributes and items
@_rule("LOAD_ATTR", "LOAD_METHOD")
def _load_attr(observer: Observer, activation: Any, instruction: Any) -> None:
    load_attribute(observer, activation, observer.top(activation, 1)[0], instruction.argval)
    if activation.pending is None:
        activation.pending = Pending("pure", None, getattr)


@_rule("STORE_ATTR")
def _store_attr(observer: Observer, activation: Any, instruction: Any) -> None:
    value, x = observer.top(activation, 2)
    store_attribute(observer, activation, x, instruction.argval, value)


@_rule("DELETE_ATTR")
def _delete_attr(observer: Observer, activation: Any, instruction: Any) -> None:
    store_attribute(observer, activation, observer.top(activation, 1)[0], instruction.argval, ABSENT)


@_rule("BINARY_SUBSCR")
def _load_item(observer: Observer, activation: Any, instruction: Any) -> None:
    x, key = observer.top(activation, 2)
    if isinstance(x, Tensor) or isinstance(key, Tensor):
        if not isinstance(x, Tensor) and not isinstance(x, dict):
            raise Refusal("a tensor is an index of a container: its value decides")
        if isinstance(x, Tensor):
            reason = refusal_of(operator.getitem, (x, key), {})
            if reason is not None:
                raise Refusal(reason)
            observer.operator(activation, operator.getitem, (x, key), {})
            return
    if isinstance(x, dict):
        _load_from_dict(observer, x, key)
    else:
        read_operand(observer, x)
        if not is_plain(key):
            raise Refusal(f"an index is an object of the type {type(key).__name__}")
    activation.pending = Pending("pure", None, operator.getitem)


def _load_from_dict(observer: Observer, x: Any, key: Any) -> None:
    kind = type(x)
    if kind not in (dict, collections.OrderedDict, collections.defaultdict):
        if not is_python_class(kind):
            raise Refusal(f"an item of a {kind.__name__} is read")
        read_instance(observer, x)
        if isinstance(look_up(kind, "__getitem__"), types.FunctionType):
            return
    if key not in x and hasattr(kind, "__missing__") and not observer.world.is_fresh(x):
        raise Refusal("a missing item of a dictionary is created")
    read_key(observer, x, key)


@_rule("STORE_SUBSCR")
def _store_item(observer: Observer, activation: Any, instruction: Any) -> None:
    value, x, key = observer.top(activation, 3)
    if isinstance(x, Tensor):
        observer.operator(activation, operator.setitem, (x, key, value), {}, what="store")
        return
    if type(x) is dict and type(key) is str and observer.world.change_key(x, key):
        return
    _check_written(observer, x, "an item")
    activation.pending = Pending("none", None, operator.setitem)


@_rule("DELETE_SUBSCR")
def _delete_item(observer: Observer, activation: Any, instruction: Any) -> None:
    _check_written(observer, observer.top(activation, 2)[0], "an item")


def _check_written(observer: Observer, x: Any, what: str) -> None:
    if isinstance(x, (dict, list, set)) and observer.world.is_fresh(x):
        if type(x) not in (dict, list, set):
            read_instance(observer, x)
        return
    if is_python_class(type(x)) and isinstance(look_up(type(x), "__setitem__"), types.FunctionType):
        read_instance(observer, x)
        return
    raise Refusal(f"{what} of a {type(x).__name__} is written that was there before")


# ---- operators
@_rule("BINARY_OP")
def _binary(observer: Observer, activation: Any, instruction: Any) -> None:
    a, b = observer.top(activation, 2)
    symbol = instruction.argrepr
    in_place = symbol.endswith("=")
    function = OPERATORS[symbol.removesuffix("=")][in_place]
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        if not all(isinstance(x, Tensor) or is_plain(x) for x in (a, b)):
            raise Refusal(f"{symbol} of a tensor and a {type(b if isinstance(a, Tensor) else a).__name__}")
        observer.operator(activation, function, (a, b), {})
        return
    for x in (a, b):
        read_operand(observer, x)
    if symbol[0] == "%" and type(a) in (str, bytes) and not is_plain(b):
        raise Refusal("the text of an object is made")
    if in_place and isinstance(a, (list, set, dict)) and not observer.world.is_fresh(a):
        raise Refusal(f"a {type(a).__name__} is extended that was there before")
    activation.pending = Pending("fresh" if type(a) is dict and type(b) is dict else "pure", None, function)


@_rule("COMPARE_OP")
def _compare(observer: Observer, activation: Any, instruction: Any) -> None:
    a, b = observer.top(activation, 2)
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        observer.operator(activation, COMPARISONS[instruction.argval], (a, b), {})
        return
    for x in (a, b):
        read_deep(observer, x)
    activation.pending = Pending("pure", None, COMPARISONS[instruction.argval])


@_rule("CONTAINS_OP")
def _contains(observer: Observer, activation: Any, instruction: Any) -> None:
    x, container = observer.top(activation, 2)
    if isinstance(container, Tensor) or (isinstance(x, Tensor) and not isinstance(container, (dict, set))):
        raise Refusal("whether a container holds a tensor decides")
    if isinstance(container, dict) and type(container) in (
        dict,
        collections.OrderedDict,
        collections.defaultdict,
    ):
        read_key(observer, container, x)
    elif isinstance(container, (dict, set, frozenset)):
        if isinstance(x, Tensor) and not (observer.recorder.touch(x) or observer.world.is_fresh(container)):
            raise Refusal("whether a container holds a tensor decides")
        read_operand(observer, container)
    else:
        read_deep(observer, container)
    if not isinstance(x, Tensor):
        read_operand(observer, x)
    activation.pending = Pending("pure", None, operator.contains)


_UNARY = {"UNARY_NEGATIVE": operator.neg, "UNARY_POSITIVE": operator.pos, "UNARY_INVERT": operator.invert}


@_rule(*_UNARY)
def _unary(observer: Observer, activation: Any, instruction: Any) -> None:
    x = observer.top(activation, 1)[0]
    if isinstance(x, Tensor):
        observer.operator(activation, _UNARY[instruction.opname], (x,), {})
        return
    read_operand(observer, x)
    activation.pending = Pending("pure", None, _UNARY[instruction.opname])


@_rule(
    "UNARY_NOT", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE", "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE", "JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP",
)  # fmt: skip
def _truth(observer: Observer, activation: Any, instruction: Any) -> None:
    x = observer.top(activation, 1)[0]
    if isinstance(x, Tensor):
        observer.ask(activation, operator.truth, x)
        return
    read_operand(observer, x)
    activation.pending = Pending("none", None, bool)


# ---- containers
@_rule("BUILD_LIST", "BUILD_MAP", "BUILD_SET", "BUILD_CONST_KEY_MAP")
def _build(observer: Observer, activation: Any, instruction: Any) -> None:
    activation.pending = Pending("fresh", None, list)


@_rule("LIST_APPEND", "SET_ADD", "MAP_ADD")
def _append(observer: Observer, activation: Any, instruction: Any) -> None:
    """The container is that of a comprehension, or of a display."""


def _read_container(observer: Observer, activation: Any) -> Any:
    """The container on top of the stack, whose content the instruction reads."""
    x = observer.top(activation, 1)[0]
    if isinstance(x, Tensor):
        raise Refusal("a tensor is walked through")
    read_operand(observer, x)
    return x


@_rule("LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE", "DICT_MERGE")
def _extend(observer: Observer, activation: Any, instruction: Any) -> None:
    _read_container(observer, activation)
    activation.pending = Pending("none", None, list.extend)


@_rule("UNPACK_SEQUENCE", "UNPACK_EX", "GET_ITER", "GET_LEN")
def _walk(observer: Observer, activation: Any, instruction: Any) -> None:
    x = _read_container(observer, activation)
    is_new = instruction.opname == "GET_ITER" and makes_iterator(x)
    activation.pending = Pending("fresh" if is_new else "none", None, iter)


@_rule("FOR_ITER")
def _next(observer: Observer, activation: Any, instruction: Any) -> None:
    iterator = observer.top(activation, 1)[0]
    if not observer.world.is_fresh(iterator):
        if not is_python_class(type(iterator)):
            raise Refusal("an iterator that was there before moves on")
        read_instance(observer, iterator)
    activation.pending = Pending("none", None, next)


_CONSUMERS = (next, iter, list.extend, list, tuple, dict, set)


@_rule("YIELD_VALUE")
def _yield(observer: Observer, activation: Any, instruction: Any) -> None:
    value = observer.top(activation, 1)[0]
    if observer.recorder.tensors_in(value) and observer.consumer(activation) not in _CONSUMERS:
        raise Refusal("a generator hands tensors to a function of C")


@_rule("GET_YIELD_FROM_ITER")
def _delegate(observer: Observer, activation: Any, instruction: Any) -> None:
    if type(observer.top(activation, 1)[0]) is not types.GeneratorType:
        _walk(observer, activation, instruction)


@_rule("SEND")
def _send(observer: Observer, activation: Any, instruction: Any) -> None:
    iterator, value = observer.top(activation, 2)
    if value is not None or not observer.world.is_fresh(iterator):
        raise Refusal("a generator hands on what it doesn't own")
    activation.pending = Pending("none", None, next)


@_rule("FORMAT_VALUE")
def _format(observer: Observer, activation: Any, instruction: Any) -> None:
    values = observer.top(activation, 2 if instruction.arg & 4 else 1)
    if not all(map(is_plain, values)):
        raise Refusal("the text of an object is made")


# ---- calls
@_rule("CALL")
def _call(observer: Observer, activation: Any, instruction: Any) -> None:
    n = instruction.arg
    method, function, *args = observer.top(activation, n + 2)
    if method is not NULL:
        function, args = method, [function, *args]
    names, activation.names = activation.names, ()
    split = len(args) - len(names)
    call(observer, activation, function, tuple(args[:split]), dict(zip(names, args[split:], strict=True)))


@_rule("CALL_FUNCTION_EX")
def _call_with(observer: Observer, activation: Any, instruction: Any) -> None:
    values = observer.top(activation, 2 + (instruction.arg & 1))
    function, args, kwargs = values[0], values[1], values[2] if instruction.arg & 1 else {}
    read_operand(observer, args)
    read_operand(observer, kwargs)
    if type(args) is not tuple:
        if type(args) is not list:
            raise Refusal("a call unpacks an iterator")
        args = tuple(args)
    if type(kwargs) is not dict:
        raise Refusal("a call unpacks a mapping of a class of its own")
    call(observer, activation, function, args, kwargs)


@_rule("BEFORE_WITH")
def _enter(observer: Observer, activation: Any, instruction: Any) -> None:
    manager = observer.top(activation, 1)[0]
    if not is_python_class(type(manager)):
        raise Refusal(f"a with block enters a {type(manager).__qualname__}")
    read_instance(observer, manager)
    for name in ("__enter__", "__exit__"):
        if not isinstance(look_up(type(manager), name), types.FunctionType):
            raise Refusal(
                f"a with block enters a {type(manager).__qualname__}, whose {name} is a function of C"
            )
    activation.pending = Pending("pure", None, type(manager))
