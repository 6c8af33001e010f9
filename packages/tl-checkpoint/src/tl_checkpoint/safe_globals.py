"""Allowed globals of files that are read as data: the table of names, additions by users, and the setting of state."""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import io
import pathlib
import pickle
import threading
import types
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING  # names of Python 2, which protocol 2 writes
from collections.abc import Callable, Iterable
from typing import Any

import tl_core

from . import distributed_tensors, nested, quantized, rebuild
from .class_names import STORAGES, own_path
from .enumerations import imported_enum
from .globals import Global, RefusedGlobal
from .inert import Inert
from .keys import check_keys
from .unfinished import Unfinished

__all__ = [
    "Global",
    "Inert",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "find_user_global",
    "known_global",
    "require_global",
    "restore",
    "safe_globals",
]


_CONTAINERS = (list, tuple, set, frozenset, dict)


def _default_dict(factory: Any = None, *items: Any) -> Any:
    if factory is None or factory in _FACTORIES:
        return collections.defaultdict(factory, *_check_items(items))
    kind = _FACTORY_OF.get(getattr(factory, "name", None))
    if kind is None:
        raise pickle.UnpicklingError("a defaultdict's factory may be a builtin container or number only")
    return collections.defaultdict(kind, *_check_items(items))


def _check_items(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a container's constructor, which must be containers."""
    for items in args:
        if type(items) not in _CONTAINERS:
            raise pickle.UnpicklingError(f"a container isn't made of {type(items).__name__!r}")
    return args


def _with_keys(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(*args: Any) -> Any:
        for items in _check_items(args):
            check_keys(items)
        return kind(*args)

    return make


def _with_pairs(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make(*args: Any) -> Any:
        for items in _check_items(args):
            check_keys(items if type(items) is dict else [pair[0] for pair in items])
        return kind(*args)

    return make


def _deque(items: Any = (), maxlen: Any = None) -> Any:
    return collections.deque(_check_items((items,))[0], maxlen)


def _text_to_bytes(text: str, encoding: str = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("bytes are read from text in latin-1 only")
    return text.encode("latin-1")


def _bytes(kind: type) -> Callable[..., Any]:
    def make(data: Any = b"", encoding: Any = None) -> Any:
        if type(data) is str and encoding in ("latin1", "latin-1"):
            return kind(data, "latin-1")
        if type(data) not in (bytes, bytearray, list) or encoding is not None:
            raise pickle.UnpicklingError(f"{kind.__name__} is made of bytes only")
        return kind(data)

    return make


def _without_arguments(kind: Callable[..., Any]) -> Callable[..., Any]:
    def make() -> Any:
        return kind()

    return make


def _plain(kind: Callable[..., Any], *types: type) -> Callable[..., Any]:
    """A constructor that takes only values of these types, of limited size."""

    def make(*args: Any) -> Any:
        for value in args:
            if type(value) not in types or (type(value) is int and value.bit_length() > 64):
                raise pickle.UnpicklingError(f"it isn't made of {type(value).__name__!r}")
        return kind(*args)

    return make


class _Partial(Unfinished):
    """Placeholder of a `functools.partial`."""

    def __init__(self, function: Any, *args: Any) -> None:
        self._function, self._args = function, args

    def finish(self, state: Any) -> Inert:
        """An inert record of the partial."""
        if type(state) is not tuple or len(state) != 4 or type(state[1]) is not tuple:
            raise pickle.UnpicklingError("a functools.partial is damaged")
        keywords = state[2] if type(state[2]) is dict else {}
        if not all(type(key) is str for key in keywords):
            raise pickle.UnpicklingError("a functools.partial is damaged")
        args = tuple(map(_to_record, (state[0], *state[1])))
        return Inert("functools.partial", args, {k: _to_record(v) for k, v in keywords.items()})


class _BytesIO(Unfinished):
    """Placeholder of an `io.BytesIO`."""

    def finish(self, state: Any) -> io.BytesIO:
        """The bytes, read and written from the stored position on."""
        if type(state) is not tuple or [type(part) for part in state[:2]] != [bytes, int] or state[1] < 0:
            raise pickle.UnpicklingError("an io.BytesIO is damaged")
        file = io.BytesIO(state[0])
        file.seek(min(state[1], len(state[0])))
        return file


def _to_record(value: Any) -> Any:
    """A value for an inert record: the name of a class or function, or the value."""
    if isinstance(value, RefusedGlobal):
        return value.record()
    if isinstance(value, Global):
        return Inert(value.name)
    return Inert(f"{value.__module__}.{value.__qualname__}") if isinstance(value, type) else value


_TENSORS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuild.tensor,
    "torch._utils._rebuild_tensor_v2": rebuild.tensor,
    "torch._utils._rebuild_tensor_v3": rebuild.tensor_of_dtype,
    "torch._utils._rebuild_parameter": rebuild.parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild.parameter_with_state,
    "torch._utils._rebuild_qtensor": quantized.tensor,
    "torch._utils._rebuild_sparse_tensor": rebuild.sparse,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild.meta_tensor,
    "torch._tensor._rebuild_from_type_v2": rebuild.from_type,
    "torch._utils._rebuild_wrapper_subclass": rebuild.wrapper_subclass,
    "torch.Size": tl_core.Size,
    "torch.device": tl_core.device,
    "torch.serialization._get_layout": rebuild.layout,
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _with_pairs(collections.OrderedDict),
    "collections.Counter": _with_pairs(lambda items=(): collections.Counter(dict(items))),
    "collections.defaultdict": _default_dict,
    "collections.deque": _deque,
    "argparse.Namespace": _without_arguments(argparse.Namespace),
    "types.SimpleNamespace": _without_arguments(types.SimpleNamespace),
    "functools.partial": _Partial,
    "_codecs.encode": _text_to_bytes,
    "_io.BytesIO": _without_arguments(_BytesIO),
    "builtins.set": _with_keys(set),
    "builtins.frozenset": _with_keys(frozenset),
    "builtins.bytearray": _bytes(bytearray),
    "builtins.bytes": _bytes(bytes),
    "builtins.complex": _plain(complex, float, int),
    "builtins.slice": slice,
    "builtins.range": _plain(range, int),
    **{f"pathlib.{name}": _plain(pathlib.PurePosixPath, str) for name in ("PurePosixPath", "PurePath")},
    **{f"pathlib.{name}": _plain(pathlib.Path, str) for name in ("PosixPath", "Path")},
    **{
        f"pathlib.{name}": _plain(pathlib.PureWindowsPath, str) for name in ("WindowsPath", "PureWindowsPath")
    },
    "datetime.datetime": datetime.datetime,
    "datetime.date": datetime.date,
    "datetime.time": datetime.time,
    "datetime.timedelta": _plain(datetime.timedelta, int),
    "datetime.timezone": datetime.timezone,
}
# Classes that files refer to without a call: factories of defaultdicts, classes of tensors.
_NAMED: dict[str, Any] = {
    "torch.Tensor": tl_core.Tensor,
    "torch.nn.parameter.Parameter": tl_core.Parameter,
    "torch.nn.parameter.Buffer": tl_core.Buffer,
    **{f"builtins.{kind.__name__}": kind for kind in (int, float, bool, str, list, dict, tuple)},
}
_FACTORIES = (int, float, bool, str, list, dict, tuple)
_FACTORY_OF: dict[str | None, Any] = {"builtins.set": set, "collections.OrderedDict": collections.OrderedDict}
_added: list[Any] = []
_lock = threading.Lock()


def known_global(module: str, name: str) -> Any:
    """The entry for an allowed global: a Global, or a value such as a dtype; None if it isn't allowed.

    Example:
        >>> from tl_checkpoint import safe_globals
        >>> safe_globals.known_global("os", "system") is None
        True
    """
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    full = f"{module}.{name}"
    for entry in _added:
        target, path = (
            entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
        )
        if path == full or own_path(path) == own_path(full):
            return target
    if full in STORAGES:
        return STORAGES[full]
    if module == "torch" and isinstance(getattr(tl_core, name, None), tl_core.dtype):
        return getattr(tl_core, name)
    for table in (_TENSORS, _PLAIN):
        if full in table:
            return Global(full, table[full])
    if full in _NAMED:
        return _NAMED[full]
    if module.split(".")[0] == "numpy":
        from . import numpy_data

        return numpy_data.find(full)
    return (
        nested.find(full)
        or quantized.scheme(full)
        or quantized.script_object(full)
        or distributed_tensors.find(full)
        or imported_enum(module, name)
    )


def require_global(module: str, name: str) -> Any:
    """The entry for a global of a file; raises UnpicklingError with instructions if it isn't allowed.

    Example:
        >>> from tl_checkpoint import safe_globals
        >>> from collections import OrderedDict
        >>> safe_globals.require_global("collections", "OrderedDict") is not None
        True
    """
    entry = known_global(module, name)
    if entry is None:
        raise pickle.UnpicklingError(
            "This file can still be loaded, to do so you have two options, do those steps only if you trust the source "
            "of the checkpoint.\n"
            "\t(1) Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result "
            "in arbitrary code execution.\n"
            "\t(2) Alternatively, to load with `weights_only=True` allow what the file names:\n"
            f"\tWeightsUnpickler error: Unsupported global: GLOBAL {module}.{name} was not an allowed global by "
            f"default. Please use `torch.serialization.add_safe_globals([{name}])` or the "
            f"`torch.serialization.safe_globals([{name}])` context manager to allowlist this global if you trust this "
            "class/function."
        )
    return entry


def find_user_global(function: Any) -> Global | None:
    """The Global of a class or function that users have allowed; None for all others.

    Example:
        >>> from tl_checkpoint import safe_globals
        >>> safe_globals.find_user_global(print) is None
        True
    """
    for entry in _added:
        target = entry[0] if isinstance(entry, tuple) else entry
        if target is function:
            create = functools.partial(target.__new__, target) if isinstance(target, type) else target
            return Global(getattr(target, "__qualname__", repr(target)), target, create)
    return None


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow classes and functions in files that are read as data; an element may be a pair with its name in files.

    >>> class Point:
    ...     pass
    >>> add_safe_globals([Point])
    >>> get_safe_globals() == [Point]
    True
    >>> clear_safe_globals()
    """
    with _lock:
        for entry in safe_globals:
            if isinstance(entry, tuple) and (len(entry) != 2 or not isinstance(entry[1], str)):
                raise ValueError(
                    "add_safe_globals() takes functions and classes, or pairs of one and its full name"
                )
            if entry not in _added:
                _added.append(entry)


def get_safe_globals() -> list[Any]:
    """The classes and functions that users have allowed, in order.

    Example:
        >>> from tl_checkpoint import safe_globals
        >>> safe_globals.get_safe_globals()
        []
    """
    return list(_added)


def clear_safe_globals() -> None:
    """Remove all classes and functions that users have allowed.

    Example:
        >>> from tl_checkpoint import safe_globals
        >>> safe_globals.clear_safe_globals()
        >>> safe_globals.get_safe_globals()
        []
    """
    with _lock:
        _added.clear()


class safe_globals:
    """A `with` block in which more classes and functions are allowed.

    >>> with safe_globals([complex]):
    ...     get_safe_globals()
    [<class 'complex'>]
    >>> get_safe_globals()
    []
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error: object) -> None:
        with _lock:
            _added[:] = self._before


def restore(target: Any, state: Any) -> Any:
    """Sets the state of an object that may have one, and returns the object.

    For a placeholder it returns the finished object.
    """
    kind = type(target)
    if isinstance(target, Unfinished):
        return target.finish(state)
    if kind in (argparse.Namespace, types.SimpleNamespace, collections.OrderedDict):
        if type(state) is not dict or not all(type(key) is str for key in state):
            raise pickle.UnpicklingError(f"the state of {kind.__name__} must be a dict of names")
        vars(target).update(state)
    elif isinstance(target, tl_core.Tensor):
        rebuild.set_tensor_state(target, state)
    elif any((entry[0] if isinstance(entry, tuple) else entry) is kind for entry in _added):
        rebuild.set_object_state(target, state)
    else:
        raise pickle.UnpicklingError(f"the pickle sets the state of {kind.__name__!r}, which isn't allowed")
    return target
