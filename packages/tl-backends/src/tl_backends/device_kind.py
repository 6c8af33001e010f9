"""Kinds of devices: the functions and classes of their modules, from the rows of `device_names.py`.

The types and first words of errors are PyTorch's, for programs that match them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NoReturn, Self

from tl_backends.device_examples import example
from tl_backends.device_names import CLASSES, FLAT, FUNCTIONS, LISTED, SAME
from tl_backends.device_rows import REFUSE, Class, Row

_PACKAGE = "tl_backends."
# Names in signatures other than classes of the module.
_TYPES = {"Any": Any, "Callable": Callable, "Iterable": Iterable, "Iterator": Iterator, "Self": Self}
_DECORATORS = {"property": property, "classmethod": classmethod, "staticmethod": staticmethod}
_TITLES = {"mps": "Metal"}


class DeviceKind:
    """A kind of device. It fills the modules of its package, such as `cuda` and `cuda.memory`.

    Args:
        kind: the device's type, which is the module's name as well.
        error: function of the kind and a name that returns the error of the name.
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
        """Fills a module with its names from the table and with public names of its submodules.

        Args:
            module: the module's `globals()`; its `__all__` grows by the public names.

        Returns:
            The module's `__getattr__`, which raises AttributeError. It also tells type checkers that the names exist at
            run time.
        """
        dotted = module["__name__"].removeprefix(_PACKAGE)
        names = self._build(dotted, module)
        for name in FLAT.get(dotted, "").split():
            submodule = import_module(f"{_PACKAGE}{dotted}.{name}")
            names |= {shown: getattr(submodule, shown) for shown in submodule.__all__}
        module.update(names)
        public = [name for name in names if not name.startswith("_")]
        module["__all__"] = [*module.get("__all__", ()), *public, *self._import_submodules(dotted, module)]
        return _refuse_name(module["__name__"])

    def _import_submodules(self, dotted: str, module: dict[str, Any]) -> list[str]:
        """Imports the submodules; returns the names of submodules in the package's `__all__`."""
        if "__path__" in module:
            for submodule in iter_modules(module["__path__"], f"{module['__name__']}."):
                import_module(submodule.name)
        return LISTED.get(dotted, "").split()

    def _build(self, dotted: str, module: dict[str, Any]) -> dict[str, Any]:
        """The functions and classes of a module's rows, by name."""
        scope = {**_TYPES, "__name__": module["__name__"], "_device": self}
        names: dict[str, Any] = {}
        for row in CLASSES:
            if dotted in row.modules.split():
                new_class = self._class(row, scope)
                names[new_class.__name__] = scope[new_class.__name__] = new_class
        for modules, rows in FUNCTIONS.items():
            for function_row in rows if dotted in modules.split() else ():
                name = function_row[0].partition("(")[0]
                names[name] = _function(function_row, self._shown(dotted, name), scope)
        for same in SAME:
            if dotted in same.modules.split():
                names[same.name] = names[same.what] if isinstance(same.what, str) else same.what
        return names

    def _shown(self, dotted: str, name: str) -> str:
        """A name for errors, without its submodule if the package also has the name."""
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
            function = _function(described, f"{shown}.{member}", scope, name)
            body[member] = _DECORATORS[decorator](function) if decorator else function
        return type(name, (base,), body)


def _function(row: Row, shown: str, scope: dict[str, Any], owner: str = "") -> Callable[..., Any]:
    """A function from its row.

    Args:
        row: signature, docstring and answer.
        shown: the name of the function in errors.
        scope: the names in the signature, the module's `__name__`, and the kind as `_device`.
        owner: the name of the class of a method.
    """
    signature, doc, *answer = row
    # As in dataclasses: only a definition gives a function its own argument errors and signature.
    own = scope | {"_answer": answer[0] if answer else REFUSE, "_shown": shown}
    definition = f"def {signature}:\n    return _answer(_device, _shown, locals())"
    exec(compile(definition, __file__, "exec", dont_inherit=True), own)
    function = own[signature.partition("(")[0]]
    if doc and not owner and not shown.rpartition(".")[2].startswith("_"):
        doc = f"{doc.rstrip()}\n\n{example(scope['_device'].kind, shown, signature)}"
    function.__doc__ = doc.rstrip() if doc else None
    function.__qualname__ = f"{owner}.{function.__name__}" if owner else function.__name__
    return function


def _refuse_name(module: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module, which raises AttributeError."""

    def refuse_name(name: str) -> NoReturn:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return refuse_name


def _not_compiled(kind: str, name: str) -> AssertionError:
    return AssertionError(
        f"Torch not compiled with {kind.upper()} enabled: {name} needs a device of type {kind}, tl has only the CPU. "
        f'A program for every machine selects the device: device = "{kind}" if torch.{kind}.is_available() else "cpu"'
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
