"""A kind of device as its modules show it: functions and classes made from the rows of `device_names.py`.

Types and opening words of the errors are those that programs and their tests look for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NoReturn, Self

from tl_backends.device_examples import example
from tl_backends.device_names import CLASSES, FLAT, FUNCTIONS, LISTED, REFUSE, SAME, Class, Row

_PACKAGE = "tl_backends."
# What signatures name beside the classes of their module.
_TYPES = {"Any": Any, "Callable": Callable, "Iterable": Iterable, "Iterator": Iterator, "Self": Self}
_DECORATORS = {"property": property, "classmethod": classmethod, "staticmethod": staticmethod}
_TITLES = {"mps": "Metal"}


class DeviceKind:
    """A kind of device. It fills the modules of its package, such as `cuda` and `cuda.memory`.

    Args:
        kind: the device's type, which is the module's name as well.
        error: makes the error that a name raises, from the kind and the name.
    """

    def __init__(self, kind: str, error: Callable[[str, str], Exception]) -> None:
        self.kind, self._error = kind, error
        self.title = _TITLES.get(kind, kind.upper())

    def error(self, name: str) -> Exception:
        """The error of a name of the module."""
        return self.error_of(f"{self.kind}.{name}")

    def error_of(self, name: str) -> Exception:
        """The error of a name of another module, such as "backends.mps.get_name"."""
        return self._error(self.kind, f"tl.{name}")

    def fill(self, module: dict[str, Any]) -> Callable[[str], Any]:
        """Gives a module the names that the table has for it, and those of its submodules that it shows.

        Args:
            module: the module's `globals()`; its `__all__` grows by the public names.

        Returns:
            What the module has as `__getattr__`: it refuses all other names, and tells type checkers that the names are
            made when the program runs.
        """
        dotted = module["__name__"].removeprefix(_PACKAGE)
        made = self._made(dotted, module)
        for name in FLAT.get(dotted, "").split():
            its = import_module(f"{_PACKAGE}{dotted}.{name}")
            made |= {shown: getattr(its, shown) for shown in its.__all__}
        module.update(made)
        public = [name for name in made if not name.startswith("_")]
        module["__all__"] = [*module.get("__all__", ()), *public, *self._listed(dotted, module)]
        return _refuse_name(module["__name__"])

    def _listed(self, dotted: str, module: dict[str, Any]) -> list[str]:
        """Imports the submodules; the names of those that the package lists."""
        if "__path__" in module:
            for found in iter_modules(module["__path__"], f"{module['__name__']}."):
                import_module(found.name)
        return LISTED.get(dotted, "").split()

    def _made(self, dotted: str, module: dict[str, Any]) -> dict[str, Any]:
        """The rows of a module, made."""
        scope = {**_TYPES, "__name__": module["__name__"], "_device": self}
        made: dict[str, Any] = {}
        for its in CLASSES:
            if dotted in its.modules.split():
                made_class = self._class(its, scope)
                made[made_class.__name__] = scope[made_class.__name__] = made_class
        for modules, rows in FUNCTIONS.items():
            for row in rows if dotted in modules.split() else ():
                name = row[0].partition("(")[0]
                made[name] = _function(row, self._shown(dotted, name), scope)
        for same in SAME:
            if dotted in same.modules.split():
                made[same.name] = made[same.what] if isinstance(same.what, str) else same.what
        return made

    def _shown(self, dotted: str, name: str) -> str:
        """A name as errors show it: without its submodule if the package has it as well."""
        submodule = dotted.partition(".")[2]
        is_flat = not submodule or (submodule in FLAT.get(self.kind, "").split() and not name.startswith("_"))
        return name if is_flat else f"{submodule}.{name}"

    def _class(self, row: Class, scope: dict[str, Any]) -> type:
        """A class from its row."""
        name, _, arguments = row.signature.partition("(")
        shown = self._shown(scope["__name__"].removeprefix(_PACKAGE), name)
        base = scope[row.base] if isinstance(row.base, str) else row.base
        doc = row.doc.format(device=self.title, kind=self.kind).rstrip()
        if not name.startswith("_"):
            doc = f"{doc}\n\n{example(self.kind, shown, row.signature)}"
        body = {"__doc__": doc, "__module__": scope["__name__"]}
        if base is not object:
            body["kind"] = self.kind
        if arguments:
            body["__init__"] = _function(
                (f"__init__(self, {arguments}", None, row.answer), shown, scope, name
            )
        for signature, text, *answer in row.members:
            decorator, _, plain = signature.partition(" ")
            if decorator not in _DECORATORS:
                decorator, plain = "", signature
            member = plain.partition("(")[0]
            described: Any = (plain, text, *answer)
            made = _function(described, f"{shown}.{member}", scope, name)
            body[member] = _DECORATORS[decorator](made) if decorator else made
        return type(name, (base,), body)


def _function(row: Row, shown: str, scope: dict[str, Any], owner: str = "") -> Callable[..., Any]:
    """A function from its row.

    Args:
        row: its signature, docstring and answer.
        shown: its name as errors show it.
        scope: what the signature names, the module's `__name__` and the kind as `_device`.
        owner: the class whose method it is.
    """
    signature, doc, *answer = row
    # As dataclasses do it: only a definition gives a function its own argument errors, and inspect its signature.
    own = scope | {"_answer": answer[0] if answer else REFUSE, "_shown": shown}
    definition = f"def {signature}:\n    return _answer(_device, _shown, locals())"
    exec(compile(definition, __file__, "exec", dont_inherit=True), own)
    made = own[signature.partition("(")[0]]
    if doc and not owner and not shown.rpartition(".")[2].startswith("_"):
        doc = f"{doc.rstrip()}\n\n{example(scope['_device'].kind, shown, signature)}"
    made.__doc__ = doc.rstrip() if doc else None
    made.__qualname__ = f"{owner}.{made.__name__}" if owner else made.__name__
    return made


def _refuse_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module: it has no other names."""

    def refuse_name(name: str) -> NoReturn:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse_name


def _not_compiled(kind: str, name: str) -> AssertionError:
    return AssertionError(
        f"Torch not compiled with {kind.upper()} enabled: {name} needs a device of type {kind}, tl has only the CPU"
    )


def _without_backend(kind: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot execute {name} without {kind.upper()} backend: "
        f"it needs a device of type {kind}, tl has only the CPU"
    )


def _no_accelerator(kind: str, name: str) -> RuntimeError:
    return RuntimeError(
        f"Cannot access accelerator device when none is available: {name} needs one, tl has the CPU"
    )


CUDA = DeviceKind("cuda", _not_compiled)
XPU = DeviceKind("xpu", _not_compiled)
MTIA = DeviceKind("mtia", _without_backend)
MPS = DeviceKind("mps", _without_backend)
ACCELERATOR = DeviceKind("accelerator", _no_accelerator)
CPU = DeviceKind("cpu", _without_backend)
