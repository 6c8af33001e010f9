"""Names that the façade adds to the modules of other packages.

`tl.utils` is tl_core's module, but `tl.utils.data` is another package's. `tl.nn` is tl_nn itself, but a plug-in may add
a name. The first access looks up such a name, after the module's own names.
"""

import sys
from importlib import import_module
from types import ModuleType

from tl import _names, _packages, _plugins, _star_names, _watch
from tl_core.base.public_names import listed_names, without_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_NOTHING = object()
_functions: "dict[str, Any]" = {}  # the `__getattr__` of each extended module, by its name
_listed: "set[str]" = set()  # the façade names of modules whose `__all__` is longer than their package's

# The function for missing names in programs that import torch. It returns a stand-in or None.
absent: "Callable[[ModuleType, str], Any] | None" = None


def extend_root(tl: ModuleType, names: "Callable[[], Iterable[str]]") -> None:
    """Adds the look-up and the list of names to `tl`.

    Args:
        tl: the module.
        names: returns the names that it loads when they are first read.
    """
    _install(tl, lambda name: _root_attribute(tl, name), names)


def _root_attribute(tl: ModuleType, name: str) -> "Any":
    if name not in _names.TOPS:
        value = getattr(sys.modules[_names.CORE], name, _NOTHING)
        if value is not _NOTHING and not isinstance(value, ModuleType):
            return value
    return attribute(tl, name)


def attribute(module: ModuleType, dotted: str) -> "Any":
    """The object with the façade name `dotted`, which becomes an attribute of its module, or the error to raise."""
    name = dotted.rpartition(".")[2]
    special = name.startswith("__") and dotted not in _names.MODULES
    try:
        value = _NOTHING if special else _find(dotted)
    except _packages.MissingPackage as error:
        return AttributeError(error.msg, name=name, obj=module)
    if value is _NOTHING and absent is not None and (not special or name == "__path__"):
        stand_in = absent(module, dotted)
        if stand_in is not None:
            return stand_in
    if value is _NOTHING:
        reason = None if special else _names.unbuilt(dotted)
        return _missing(module, dotted, f": {reason}" if reason else "")
    setattr(module, name, value)
    return _notify(value, dotted.rpartition(".")[0])


def _missing(module: ModuleType, dotted: str, reason: str) -> AttributeError:
    """The error of a missing name, with the module's name as programs write it."""
    above, _, name = f"{sys.modules['tl'].__name__}.{dotted}".rpartition(".")
    return AttributeError(
        f"module {above!r} has no attribute {name!r}{reason}", name=name, obj=_Suggestions(module, name)
    )


class _Suggestions:
    """An object with the names of a module that resemble a missing one: Python suggests one of up to 750 names."""

    def __init__(self, module: ModuleType, name: str):
        self._module, self._name = module, name

    def __dir__(self) -> list[str]:
        from difflib import get_close_matches

        return get_close_matches(self._name, dir(self._module), n=20)


def _notify(value: "Any", dotted: str) -> "Any":
    for watcher in _watch.objects:
        watcher(value, dotted)
    return value


def _find(dotted: str) -> "Any":
    if dotted in _names.OBJECTS:
        _packages.refuse_missing(dotted)
        return _load(_names.OBJECTS[dotted]) if _packages.there(dotted) else _NOTHING
    module = _import(f"tl.{dotted}")
    if module is not _NOTHING:
        return module
    from tl import _reexports  # programs without a missing name do without

    origin = _reexports.origin(dotted)
    if origin is not None:
        return _reexports.load(origin)
    if dotted.startswith("_") or "._" in dotted:
        return _NOTHING
    reference = _plugins.objects().get(dotted)
    return _load(reference) if reference else _NOTHING


def _import(name: str) -> "Any":
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):  # a module of this name fails at something else
            raise
        return _NOTHING


def _load(reference: str) -> "Any":
    module, _, name = reference.partition(":")
    value = import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


class ObjectsFirst(ModuleType):
    """A module in which a submodule doesn't replace an attribute of another kind."""

    def __setattr__(self, name: str, value: "Any") -> None:
        before = self.__dict__.get(name, value)
        if not isinstance(value, ModuleType) or isinstance(before, ModuleType):
            super().__setattr__(name, value)


def keep_object(fullname: str) -> None:
    """`autograd.gradcheck` is a function, and stays one when its module is imported under the façade's name.

    The import machinery sets the attribute after the loader is done, and would hide the function that the package
    has put there.
    """
    above, _, name = fullname.rpartition(".")
    parent = sys.modules.get(above)
    if parent is None or isinstance(parent, ObjectsFirst):
        return
    if not isinstance(parent.__dict__.get(name, parent), ModuleType):
        kind = type(parent)
        parent.__class__ = (
            ObjectsFirst if kind is ModuleType else type(kind.__name__, (ObjectsFirst, kind), {})
        )


def adopt(package: str) -> None:
    """Extends all modules of a package that the façade serves, loaded now or later."""
    if package in _watch.watchers or package == "tl":
        return
    _watch.watchers[package] = _adopt_module
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            _adopt_module(module)


def _adopt_module(module: ModuleType) -> None:
    dotted = _names.facade_of(getattr(module, "__name__", ""))
    if dotted:
        extend(module, dotted)
    if dotted in _listed:  # a reload has made `__all__` anew
        list_names(module, dotted)


def list_names(module: ModuleType, dotted: str | None) -> None:
    """Adds the names that belong to other packages to `__all__` of a module."""
    names = _star_names.NAMES.get(dotted or "")
    if names and dotted:
        _listed.add(dotted)
        modules = [name for name in _submodules_of(dotted) if name in vars(module)]
        listed = module.__dict__.get("__all__") or [n for n in listed_names(module, modules) if n[0] != "_"]
        module.__dict__["__all__"] = [*listed, *(name for name in names.split() if name not in listed)]


def extend(module: ModuleType, dotted: str) -> None:
    """Adds a `__getattr__` that looks up the names a module lacks in the façade, and a `__dir__` of public names."""
    own = module.__dict__.get("__getattr__")
    if own is not None and own is _functions.get(module.__name__):
        return
    if own is None and hasattr(
        type(module), "__getattr__"
    ):  # a module of settings reads each through its class
        own = type(module).__getattr__.__get__(module)

    def look_up(name: str) -> "Any":
        if own is not None:
            try:
                return _notify(own(name), dotted)
            except AttributeError as error:
                if name.startswith("__") and name != "__path__":
                    return error.with_traceback(None)
        return attribute(module, f"{dotted}.{name}")

    _install(module, look_up, lambda: _names_below(dotted))


def _install(
    module: ModuleType, look_up: "Callable[[str], Any]", further: "Callable[[], Iterable[str]]"
) -> None:
    """Sets `__getattr__` and `__dir__`. A traceback shows no frame of the look-up."""
    module.__dict__["__getattr__"] = _functions[module.__name__] = without_frames(look_up)
    module.__dict__["__dir__"] = lambda: listed_names(module, further())


def _names_below(dotted: str) -> "Iterable[str]":
    """The public names that the façade loads into a module when they are first read."""
    listed = _star_names.NAMES.get(dotted, "").split()
    below = (name[len(dotted) + 1 :].partition(".")[0] for name in _names.below(dotted))
    return (name for name in (*_submodules_of(dotted), *listed, *below) if name[0] != "_")


def _submodules_of(dotted: str) -> list[str]:
    from tl._submodules import SUBMODULES  # `dir` reads the table, and `import tl` does without

    return SUBMODULES.get(dotted, "").split()
