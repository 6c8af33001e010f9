"""Unpickler of data: a small interpreter of pickle opcodes that calls only the globals of a table.

It supports the opcodes of protocols 2 to 5 (see pickletools). It imports nothing. A global outside of the table raises
an error with its name. Only containers of exact types are filled.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from .globals import Global, RefusedGlobal
from .keys import check_key
from .safe_globals import find_user_global, restore
from .unfinished import Unfinished

__all__ = ["CutOff", "DataUnpickler"]

_MARK = object()
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_SIZED = frozenset((bytes, bytearray, str, list, tuple, dict, set, frozenset))
_LONGEST_NUMBER = 1 << 16  # in bytes
_UINT16, _INT32, _UINT32, _UINT64 = map(struct.Struct, ("<H", "<i", "<I", "<Q"))
_FLOAT64 = struct.Struct(">d")


class CutOff(pickle.UnpicklingError):
    """The bytes end before the pickle does."""


class DataUnpickler:
    """One pass over pickled bytes.

    Args:
        data (bytes): The pickle; bytes behind its STOP are ignored.
        find (callable): Takes module and name of a global and returns its entry; raises UnpicklingError if it isn't
            allowed.
        persistent (callable): Takes the description of a storage and returns the storage.
        restore (callable): Takes an object and its pickled state, and returns the object with that state.
        start: offset of the pickle in the bytes.
    """

    def __init__(
        self,
        data: bytes,
        find: Callable[[str, str], Any],
        persistent: Callable[[Any], Any],
        start: int = 0,
        restore: Callable[[Any, Any], Any] = restore,
    ) -> None:
        self._data, self.position = data, start
        self._find, self._persistent, self._restore = find, persistent, restore
        self._stack: list[Any] = []
        self._push = self._stack.append
        self._memo: dict[int, Any] = {}
        self._refused: list[RefusedGlobal] = []
        self._budget = 4 * len(data) + (1 << 20)  # limit of elements in the arguments of all calls

    def load(self) -> Any:
        """The object of the pickle. Raises UnpicklingError if it is damaged or has a global that isn't allowed."""
        try:
            return self._run()
        except (
            ValueError,
            OverflowError,
            RecursionError,
        ) as error:  # for example from texts that aren't UTF-8
            raise pickle.UnpicklingError(f"the pickle is damaged: {error}") from error

    def _run(self) -> Any:
        data, operations, size = self._data, _OPERATIONS, len(self._data)
        push, memo = self._push, self._memo
        while self.position < size:
            code = data[self.position]
            self.position += 1
            if code == 0x2E:  # STOP
                if len(self._stack) != 1 or self._stack[0] is _MARK:
                    raise pickle.UnpicklingError("the pickle doesn't end with one object")
                return self._check_refused(self._stack[0])
            if (
                code == 0x4B and self.position < size
            ):  # fast path of BININT1 and BINGET, the most frequent opcodes
                push(data[self.position])
                self.position += 1
                continue
            if code == 0x68 and self.position < size and data[self.position] in memo:
                push(memo[data[self.position]])
                self.position += 1
                continue
            operation = operations[code]
            if operation is None:
                raise pickle.UnpicklingError(
                    f"the pickle has an opcode that isn't read as data: 0x{code:02x}"
                )
            operation(self)
        raise CutOff("the pickle is cut off")

    # ---- bytes and stack

    def _take(self, count: int) -> bytes:
        end = self.position + count
        if count < 0 or end > len(self._data):
            raise CutOff("the pickle is cut off")
        part = self._data[self.position : end]
        self.position = end
        return part

    def _number(self, form: struct.Struct) -> Any:
        return form.unpack(self._take(form.size))[0]

    def _line(self) -> str:
        end = self._data.find(b"\n", self.position)
        if end < 0 or end - self.position > 4096:
            raise pickle.UnpicklingError("the pickle has a line without an end")
        text = self._data[self.position : end].decode("utf-8", "strict")
        self.position = end + 1
        return text

    def _pop(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise pickle.UnpicklingError("the pickle takes an object that isn't there")
        return self._stack.pop()

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise pickle.UnpicklingError("the pickle changes an object that isn't there")
        return self._stack[-1]

    def _since_mark(self) -> list[Any]:
        for at in range(len(self._stack) - 1, -1, -1):
            if self._stack[at] is _MARK:
                items = self._stack[at + 1 :]
                del self._stack[at:]
                return items
        raise pickle.UnpicklingError("the pickle closes what it didn't open")

    # ---- globals and calls

    def _global(self) -> None:
        module = self._line()
        self._name(module, self._line())

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str:
            raise pickle.UnpicklingError("the pickle names a global by something else than text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        try:
            self._push(self._find(module, name))
        except pickle.UnpicklingError as error:
            self._refused.append(RefusedGlobal(f"{module}.{name}", error))
            self._push(self._refused[-1])

    def _check_refused(self, result: Any) -> Any:
        """The result; raises UnpicklingError for a refused global outside of inert records."""
        for refused in self._refused:
            if not refused.is_inert:
                raise refused.error
        return result

    def _reduce(self) -> None:
        args, function = self._pop(), self._pop()
        if type(function) is Global and function.takes_value and type(args) is not tuple:
            args = (args,)
        self._call(function, args, {}, "make")

    def _new_object(self) -> None:
        args, kind = self._pop(), self._pop()
        self._call(kind, args, {}, "create")

    def _new_object_with_keywords(self) -> None:
        keywords, args, kind = self._pop(), self._pop(), self._pop()
        self._call(kind, args, keywords, "create")

    def _call(self, function: Any, args: Any, keywords: Any, how: str) -> None:
        if type(function) is RefusedGlobal:
            raise function.error
        called = function if type(function) is Global else find_user_global(function)
        if called is None or type(args) is not tuple or type(keywords) is not dict:
            raise pickle.UnpicklingError(f"the pickle calls {_describe(function)}, which isn't allowed")
        self._spend(args)
        self._spend(keywords.values())
        try:
            self._push(getattr(called, how)(*args, **keywords))
        except pickle.UnpicklingError:
            raise
        except Exception as error:
            raise pickle.UnpicklingError(
                f"{called.name} can't be made of what the pickle says: {error}"
            ) from error

    def _spend(self, values: Any) -> None:
        """Counts the elements in arguments of calls, so that a pickle can't copy a large object repeatedly."""
        for value in values:
            if type(value) in _SIZED:
                self._budget -= len(value)
        if self._budget < 0:
            raise pickle.UnpicklingError("the pickle makes objects of the same large one over and over")

    def _build(self) -> None:
        state, target = self._pop(), self._top()
        if type(target) is RefusedGlobal:
            raise target.error
        self._spend(state if type(state) is tuple else (state,))
        result = self._restore(target, state)
        if result is not target:  # the target was a placeholder
            self._stack[-1] = result
            for index in target.remembered:
                if self._memo[index] is target:
                    self._memo[index] = result

    def _persistent_id(self) -> None:
        self._push(self._persistent(self._pop()))

    # ---- containers

    def _set_items(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in _DICTS or len(items) % 2:
            raise pickle.UnpicklingError(
                f"the pickle sets items of {type(target).__name__!r}, which is no dict"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) is not str:
                check_key(key)
            target[key] = value

    def _extend(self, items: list[Any]) -> None:
        target = self._top()
        if type(target) not in (list, deque):
            raise pickle.UnpicklingError(f"the pickle appends to {type(target).__name__!r}, which is no list")
        target.extend(items)

    def _add_items(self) -> None:
        items, target = self._since_mark(), self._top()
        if type(target) is not set:
            raise pickle.UnpicklingError(f"the pickle adds to {type(target).__name__!r}, which is no set")
        for item in items:
            check_key(item)
        target.update(items)

    def _frozen_set(self) -> None:
        items = self._since_mark()
        for item in items:
            check_key(item)
        self._push(frozenset(items))

    def _set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_items([key, value])

    def _dict(self) -> None:
        items = self._since_mark()
        self._push({})
        self._set_items(items)

    # ---- memo

    def _put(self, index: int) -> None:
        if index > len(self._data):
            raise pickle.UnpicklingError("the pickle remembers under a number it can't have")
        top = self._memo[index] = self._top()
        if isinstance(top, Unfinished):
            top.remembered.append(index)

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise pickle.UnpicklingError(f"the pickle recalls number {index}, which it didn't remember")
        self._push(self._memo[index])

    # ---- numbers and texts

    def _protocol(self) -> None:
        version = self._take(1)[0]
        if not 2 <= version <= 5:
            raise pickle.UnpicklingError(f"the pickle has protocol {version}; 2 to 5 are read")

    def _long(self, size: int) -> None:
        if size > _LONGEST_NUMBER:
            raise pickle.UnpicklingError(f"the pickle has a whole number of {size} bytes")
        self._push(int.from_bytes(self._take(size), "little", signed=True))

    def _text(self, size: int) -> None:
        self._push(str(self._take(size), "utf-8", "surrogatepass"))

    def _old_text(self, size: int) -> None:
        self._push(str(self._take(size), "latin-1"))


def _describe(function: Any) -> str:
    if isinstance(function, type):
        return f"{function.__module__}.{function.__qualname__}"
    return f"an object of {type(function).__name__!r}"


U = DataUnpickler  # short name for the table
_BY_CODE: dict[bytes, Callable[[DataUnpickler], Any]] = {
    pickle.PROTO: U._protocol,
    pickle.FRAME: lambda u: u._take(8),
    pickle.MARK: lambda u: u._push(_MARK),
    pickle.POP: lambda u: u._stack.pop() if u._stack else u._pop(),
    pickle.POP_MARK: U._since_mark,
    pickle.NONE: lambda u: u._push(None),
    pickle.NEWTRUE: lambda u: u._push(True),
    pickle.NEWFALSE: lambda u: u._push(False),
    pickle.BININT: lambda u: u._push(u._number(_INT32)),
    pickle.BININT1: lambda u: u._push(u._take(1)[0]),
    pickle.BININT2: lambda u: u._push(u._number(_UINT16)),
    pickle.LONG1: lambda u: u._long(u._take(1)[0]),
    pickle.LONG4: lambda u: u._long(u._number(_INT32)),
    pickle.BINFLOAT: lambda u: u._push(u._number(_FLOAT64)),
    pickle.SHORT_BINUNICODE: lambda u: u._text(u._take(1)[0]),
    pickle.BINUNICODE: lambda u: u._text(u._number(_UINT32)),
    pickle.BINUNICODE8: lambda u: u._text(u._number(_UINT64)),
    pickle.SHORT_BINSTRING: lambda u: u._old_text(u._take(1)[0]),
    pickle.BINSTRING: lambda u: u._old_text(u._number(_INT32)),
    pickle.SHORT_BINBYTES: lambda u: u._push(u._take(u._take(1)[0])),
    pickle.BINBYTES: lambda u: u._push(u._take(u._number(_UINT32))),
    pickle.BINBYTES8: lambda u: u._push(u._take(u._number(_UINT64))),
    pickle.BYTEARRAY8: lambda u: u._push(bytearray(u._take(u._number(_UINT64)))),
    pickle.EMPTY_LIST: lambda u: u._push([]),
    pickle.APPEND: lambda u: u._extend([u._pop()]),
    pickle.APPENDS: lambda u: u._extend(u._since_mark()),
    pickle.LIST: lambda u: u._push(u._since_mark()),
    pickle.EMPTY_TUPLE: lambda u: u._push(()),
    pickle.TUPLE1: lambda u: u._push((u._pop(),)),
    pickle.TUPLE2: lambda u: u._push((u._pop(), u._pop())[::-1]),
    pickle.TUPLE3: lambda u: u._push((u._pop(), u._pop(), u._pop())[::-1]),
    pickle.TUPLE: lambda u: u._push(tuple(u._since_mark())),
    pickle.EMPTY_DICT: lambda u: u._push({}),
    pickle.DICT: U._dict,
    pickle.SETITEM: U._set_item,
    pickle.SETITEMS: lambda u: u._set_items(u._since_mark()),
    pickle.EMPTY_SET: lambda u: u._push(set()),
    pickle.ADDITEMS: U._add_items,
    pickle.FROZENSET: U._frozen_set,
    pickle.GLOBAL: U._global,
    pickle.STACK_GLOBAL: U._stack_global,
    pickle.REDUCE: U._reduce,
    pickle.NEWOBJ: U._new_object,
    pickle.NEWOBJ_EX: U._new_object_with_keywords,
    pickle.BUILD: U._build,
    pickle.BINPERSID: U._persistent_id,
    pickle.BINPUT: lambda u: u._put(u._take(1)[0]),
    pickle.LONG_BINPUT: lambda u: u._put(u._number(_UINT32)),
    pickle.MEMOIZE: lambda u: u._put(len(u._memo)),
    pickle.BINGET: lambda u: u._get(u._take(1)[0]),
    pickle.LONG_BINGET: lambda u: u._get(u._number(_UINT32)),
}
_OPERATIONS: list[Callable[[DataUnpickler], Any] | None] = [_BY_CODE.get(bytes([c])) for c in range(256)]
