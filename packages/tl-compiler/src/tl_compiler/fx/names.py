"""Names: of functions as users write them, and names of values that don't clash."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import tl_core
from tl_core.operators.packets import OpOverload, OpOverloadPacket

__all__ = ["Namespace", "function_named", "library_path", "qualified_name", "root_namespace", "snake_case"]

# Where public functions are looked for: the name that users write, the module that holds it.
_PUBLIC = (
    ("torch", "tl_core"),
    ("torch.nn.functional", "tl_nn.functional"),
    ("torch.linalg", "tl_core.linalg"),
    ("torch.fft", "tl_core.fft"),
    ("torch.special", "tl_core.special"),
    ("torch.sparse", "tl_core.sparse"),
    ("torch.nn.init", "tl_nn.init"),
)
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")


def root_namespace() -> Any:
    """What `torch` means in generated code: the façade where it is loaded, the core otherwise."""
    return sys.modules.get("tl", tl_core)


def _public_modules() -> Iterator[tuple[str, ModuleType]]:
    for path, name in _PUBLIC:
        yield path, sys.modules.get(name) or import_module(name)


def _name_in(path: str, holder: ModuleType, function: Callable[..., Any], name: str) -> str | None:
    """The name of a function in a public module: `torch.linalg` has `linalg_det` as `det`."""
    for public in (name, name.removeprefix(f"{path.rpartition('.')[2]}_")):
        if getattr(holder, public, None) is function:
            return public
    return None


def qualified_name(function: Callable[..., Any]) -> str:
    """The dotted name under which users find a function.

    Args:
        function: any callable with a `__name__`.

    Returns:
        Its name alone for builtins; `torch.relu`, `operator.add`; module and name for others.

    Example:
        >>> import operator
        >>> qualified_name(operator.add), qualified_name(len), qualified_name(tl_core.relu)
        ('operator.add', 'len', 'torch.relu')
    """
    if isinstance(function, (OpOverload, OpOverloadPacket)):
        return f"torch.ops.{function}"
    if getattr(function, "namespace", None) == "higher_order":
        return f"torch.ops.higher_order.{function.__name__}"
    name = getattr(function, "__name__", None) or type(function).__name__
    if getattr(builtins, name, None) is function:
        return name
    module = getattr(function, "__module__", None) or ""
    if module.partition(".")[0].startswith("tl") or not module:
        for path, holder in _public_modules():
            public = _name_in(path, holder, function, name)
            if public is not None:
                return f"{path}.{public}"
        if getattr(root_namespace(), name, None) is function:  # of a package that the façade assembles
            return f"torch.{name}"
    if module == "tl_core._C":  # native, with no public name; `torch` has the module by that name
        return f"torch._C.{name}"
    owner = getattr(function, "__objclass__", None)
    if owner is not None:
        return (
            f"torch.Tensor.{name}"
            if owner is tl_core.Tensor
            else f"{owner.__module__}.{owner.__qualname__}.{name}"
        )
    return f"{'operator' if module == '_operator' else module}.{name}"


def function_named(path: str) -> Any:
    """A public function of the library by the name under which users find it.

    Args:
        path: the name, as `qualified_name` gives it.

    Returns:
        The function.

    Raises:
        AttributeError: there is none.

    Example:
        >>> function_named("torch.relu") is tl_core.relu
        True
    """
    module, _, name = path.rpartition(".")
    for public_name, holder in _public_modules():
        if public_name == module and hasattr(holder, name):
            return getattr(holder, name)
    if module.startswith("tl_"):
        return getattr(import_module(module), name)
    if module == "torch" and hasattr(root_namespace(), name):
        return getattr(root_namespace(), name)
    raise AttributeError(f"there is no function {path}")


def library_path(function: Callable[..., Any]) -> str | None:
    """A name under which `function_named` finds a function of the library.

    Args:
        function: the function.

    Returns:
        The public name, or one of a module that has it; None for functions of others.
    """
    if not str(getattr(function, "__module__", "")).startswith("tl_"):
        return None
    name = function.__name__
    for path, holder in _public_modules():
        public = _name_in(path, holder, function, name)
        if public is not None:
            return f"{path}.{public}"
    # A native function is made in one module and used in another.
    holders = (
        m
        for m, module in list(sys.modules.items())
        if m.startswith("tl_") and vars(module).get(name) is function
    )
    holder_name = next(holders, None)
    return holder_name and f"{holder_name}.{name}"


def snake_case(text: str) -> str:
    """CamelCase in lower case with underscores between words.

    Example:
        >>> snake_case("MaxPool2d")
        'max_pool2d'
    """
    if text.islower():
        return text
    words = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", text)
    return words.lower()


class Namespace:
    """Hands out identifiers, each once.

    Example:
        >>> names = Namespace()
        >>> names.create_name("add", None), names.create_name("add", None), names.create_name("len", None)
        ('add', 'add_1', 'len_1')
    """

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}  # by object
        self._used: set[str] = set()
        self._next: dict[str, int] = {}  # by stem: the last number given

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """A free name like the candidate, which `obj` has from now on.

        Args:
            candidate: the name that is wanted; what can't stand in an identifier becomes an underscore.
            obj: what is named; asked for again, it keeps its name. None: nothing.

        Returns:
            The candidate, or the candidate with a number.
        """
        if obj is not None and obj in self._names:
            return self._names[obj]
        name = candidate if candidate.isidentifier() else _ILLEGAL.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        numbered = _NUMBERED.match(name) if name[-1].isdigit() else None
        stem, number = (numbered[1], int(numbered[2])) if numbered else (name, 0)
        name = f"{stem}_{number}" if numbered else name
        number = max(number, self._next.get(stem, 0)) if name in self._used else number
        while name in self._used or self._is_reserved(name, obj):
            number += 1
            name = f"{stem}_{number}"
        self._next[stem] = max(number, self._next.get(stem, 0))
        self._used.add(name)
        if obj is not None:
            self._names[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Says that `obj` has a name that was given before.

        Args:
            name: the name.
            obj: what has it.
        """
        self._names.setdefault(obj, name)

    def _rename_object(self, obj: Any, name: str) -> None:
        self._names[obj] = name
        self._used.add(name)

    @staticmethod
    def _is_reserved(name: str, obj: Any) -> bool:
        if keyword.iskeyword(name) or name in ("inf", "nan", "NoneType", "torch", "device", "dtype"):
            return True
        return name in builtins.__dict__ and builtins.__dict__[name] is not obj
