"""What may be made while a file is read as data: the table of names, what users add to it, and how state is set."""

from __future__ import annotations

import argparse
import collections
import datetime
import functools
import pathlib
import pickle
import threading
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING  # names of Python 2, which protocol 2 writes
from collections.abc import Callable, Iterable
from typing import Any

import tl_core

from . import rebuild
from .class_names import STORAGES, ours
from .unfinished import Unfinished

__all__ = [
    "Global",
    "Inert",
    "add_safe_globals",
    "allowed",
    "clear_safe_globals",
    "get_safe_globals",
    "known_global",
    "restore",
    "safe_globals",
]


class Global:
    """A name in a pickle that stands for an allowed class or function."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make

    def __call__(self, *args: Any) -> Any:
        return self.make(*args)


class Inert:
    """What a pickle describes and nothing runs: the name of a class or function, and what it would be called with.

    `functools.partial` objects are read as one, and so are values of enumerations nobody has declared safe.
    """

    def __init__(self, name: str, args: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None) -> None:
        self.name, self.args, self.keywords = name, args, keywords or {}
        self.state: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inert) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        parts = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.keywords.items())]
        return f"Inert({self.name}: {', '.join(parts)})"


def _default_dict(factory: Any = None, *items: Any) -> Any:
    make = getattr(factory, "make", None)
    kind = make.args[0] if isinstance(make, functools.partial) else make
    if kind not in (None, list, dict, set, tuple, int, float, str, bool) or (kind is None) != (
        factory is None
    ):
        raise pickle.UnpicklingError("a defaultdict's factory may be a builtin container or number only")
    return collections.defaultdict(kind, *items)


def _text_to_bytes(text: str, encoding: str = "latin1") -> bytes:
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError("bytes are read from text in latin-1 only")
    return text.encode("latin-1")


def _namespace() -> argparse.Namespace:
    return argparse.Namespace()


def _partial(*args: Any) -> Inert:
    return Inert("functools.partial", tuple(getattr(a, "name", a) for a in args))


def _plain(kind: type) -> Callable[..., Any]:
    return functools.partial(_made, kind)


def _made(kind: type, *args: Any) -> Any:
    if not all(type(a) in (str, int, float, bytes, bool, tuple, list, dict, type(None)) for a in args):
        raise pickle.UnpicklingError(f"{kind.__name__} is made of plain values only")
    return kind(*args)


_TENSORS: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuild.tensor,
    "torch._utils._rebuild_tensor_v2": rebuild.tensor,
    "torch._utils._rebuild_tensor_v3": rebuild.tensor_of_dtype,
    "torch._utils._rebuild_parameter": rebuild.parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild.parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild.meta_tensor,
    "torch._tensor._rebuild_from_type_v2": rebuild.from_type,
    "torch.nn.parameter.Parameter": tl_core.Parameter,
    "torch.nn.parameter.Buffer": tl_core.Buffer,
    "torch.Tensor": tl_core.Tensor,
    "torch.Size": tl_core.Size,
    "torch.device": tl_core.device,
    "torch.serialization._get_layout": rebuild.layout,
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": collections.OrderedDict,
    "collections.Counter": collections.Counter,
    "collections.defaultdict": _default_dict,
    "collections.deque": collections.deque,
    "argparse.Namespace": _namespace,
    "functools.partial": _partial,
    "_codecs.encode": _text_to_bytes,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "builtins.bytearray": _plain(bytearray),
    "builtins.complex": complex,
    "builtins.slice": slice,
    "builtins.range": range,
    **{
        f"builtins.{kind.__name__}": _plain(kind)
        for kind in (int, float, bool, str, list, dict, tuple, bytes)
    },
    **{f"pathlib.{name}": pathlib.PurePosixPath for name in ("PurePosixPath", "PurePath")},
    **{f"pathlib.{name}": pathlib.Path for name in ("PosixPath", "Path")},
    **{f"pathlib.{name}": pathlib.PureWindowsPath for name in ("WindowsPath", "PureWindowsPath")},
    "datetime.datetime": datetime.datetime,
    "datetime.date": datetime.date,
    "datetime.timedelta": datetime.timedelta,
    "datetime.timezone": datetime.timezone,
}
_added: list[Any] = []
_lock = threading.Lock()


def known_global(module: str, name: str) -> Any:
    """What stands for a global that is allowed: a callable, a value such as a dtype; None if it isn't allowed."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    full = f"{module}.{name}"
    for entry in _added:
        made, path = (
            entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
        )
        if path == full or ours(path) == ours(full):
            return made
    if full in STORAGES:
        return STORAGES[full]
    if module == "torch" and isinstance(getattr(tl_core, name, None), tl_core.dtype):
        return getattr(tl_core, name)
    if full in _TENSORS:
        return _TENSORS[full]
    if full in _PLAIN:
        return _PLAIN[full]
    if module.split(".")[0] == "numpy":
        from . import numpy_data

        return numpy_data.known(full)
    return None


def allowed(module: str, name: str) -> Any:
    """What stands for a global of a file; raises UnpicklingError, with what to do, if it isn't allowed."""
    found = known_global(module, name)
    if found is None:
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
    return Global(f"{module}.{name}", found) if callable(found) else found


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow classes and functions in files that are read as data; each is given alone or with the name files use.

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
    """What users have allowed, in the order in which they did."""
    return list(_added)


def clear_safe_globals() -> None:
    """Take back all that users have allowed."""
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
    """Sets the state that a pickle gives an object, where the object is one that may have any, and returns it.

    For objects that are made in two steps another one stands on the stack until then.
    """
    kind = type(target)
    if isinstance(target, Unfinished):
        return target.finished(state)
    if isinstance(target, Inert):
        target.state = state
    elif kind is argparse.Namespace or kind is collections.OrderedDict:
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
