"""Objects and constants of an archive: a pickle whose classes are those that the archive declares."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from tl_checkpoint.globals import Global
from tl_checkpoint.safe_globals import require_global, restore
from tl_checkpoint.unfinished import Unfinished
from tl_checkpoint.unpickler import DataUnpickler
from tl_core import Tensor
from tl_core.extensions import custom_classes
from tl_nn import Module, Parameter

from .classes import Declaration
from .program import Program
from .script_module import RecursiveScriptModule
from .types import EXTENSION_CLASSES

__all__ = ["read_constants", "read_object"]


class _Reader:
    """The reading of one pickle.

    Args:
        program: the program whose classes the pickle names.
        name: the name of the pickle: "data" or "constants".
        map_location: the device of the storages, as in `load`.
    """

    def __init__(self, program: Program, name: str, map_location: Any) -> None:
        archive = program.archive
        self._program = program
        self._data = archive.read(f"{name}.pkl")
        self._find_storage = archive.storage_finder(name, map_location)
        self._parameters: dict[int, tuple[Tensor, Parameter]] = {}

    def load(self) -> Any:
        """Returns the object of the pickle."""
        unpickler = DataUnpickler(self._data, self._find, self._find_storage, restore=self._restore)
        try:
            return unpickler.load()
        except pickle.UnpicklingError as error:
            raise RuntimeError(f"the archive's data can't be read: {error}") from error

    def _find(self, module: str, name: str) -> Any:
        if module == "__torch__" or module.startswith("__torch__."):
            return self._class(f"{module}.{name}")
        if module == "torch.jit._pickle" and name in _HELPERS:
            return Global(f"{module}.{name}", _HELPERS[name])
        return require_global(module, name)

    def _class(self, name: str) -> Global:
        declaration = self._program.declaration(name)
        if declaration is None and name.startswith(EXTENSION_CLASSES):
            return Global(name, _registered_class(name))
        if declaration is None or "interface" in declaration.kind:
            raise pickle.UnpicklingError(f"the archive declares no class {name}")
        kind = self._program.class_of(name)
        if declaration.kind in ("tuple", "enum"):
            return Global(name, kind, takes_value=declaration.kind == "enum")
        return Global(name, kind, _maker(kind, declaration, self._program))

    # ---- state
    def _restore(self, target: Any, state: Any) -> Any:
        declaration = getattr(type(target), "_declaration", None)
        if not isinstance(declaration, Declaration):
            return restore(target, state)
        if "__setstate__" in declaration.methods:
            self._program.method(declaration.name, "__setstate__")(target, state)
        elif isinstance(state, dict) and declaration.attributes.keys() >= state.keys():
            for name, value in state.items():
                self._set(target, declaration, name, value)
        else:
            raise pickle.UnpicklingError(
                f"the state of {declaration.name} has attributes that its class lacks"
            )
        return target

    def _set(self, target: Any, declaration: Declaration, name: str, value: Any) -> None:
        holder = self._program.holder(declaration, name)
        if not holder:
            vars(target)[name] = value
            return
        expected = Module if holder == "_modules" else Tensor
        if value is not None and not isinstance(value, expected):
            raise pickle.UnpicklingError(f"{declaration.name}.{name} is a {type(value).__name__}")
        is_parameter = isinstance(value, Tensor) and holder == "_parameters"
        vars(target)[holder][name] = self._parameter(value) if is_parameter else value

    def _parameter(self, value: Any) -> Parameter:
        """The parameter of a tensor: one for each tensor, so that shared weights stay shared."""
        if id(value) not in self._parameters:
            parameter = Parameter(value.detach(), requires_grad=value.requires_grad)
            self._parameters[id(value)] = (value, parameter)
        return self._parameters[id(value)][1]


def _registered_class(name: str) -> type[Unfinished]:
    """The placeholder of an object of a class that is registered, such as a packed weight, until it has its state."""
    try:
        kind = custom_classes.class_of(name)
    except RuntimeError as error:
        raise pickle.UnpicklingError(str(error)) from error

    class Placeholder(Unfinished):
        def finish(self, state: Any) -> Any:
            try:
                return kind._of_state(state)
            except (AttributeError, RuntimeError, TypeError, ValueError) as error:
                raise pickle.UnpicklingError(f"an object of the class {name} is damaged: {error}") from error

    return Placeholder


def _maker(kind: type, declaration: Declaration, program: Program) -> Callable[[], Any]:
    def hook(name: str) -> Callable[..., Any]:
        if name not in declaration.methods:
            raise pickle.UnpicklingError(f"{declaration.name}: the hook {name!r} is no method of the class")
        return lambda module, *args: program.method(declaration.name, name)(module, *args)

    tables = {
        "_forward_pre_hooks": dict(enumerate(map(hook, declaration.pre_hooks))),
        "_forward_hooks": dict(enumerate(map(hook, declaration.hooks))),
    }

    def make() -> Any:
        result: Any = object.__new__(kind)
        if issubclass(kind, RecursiveScriptModule):
            Module.__init__(result)
            for table, hooks in tables.items():
                vars(result)[table].update(hooks)
        return result

    return make


def _checked_list(kind: type | tuple[type, ...]) -> Callable[[Any], Any]:
    def build(values: Any) -> list[Any]:
        if type(values) is not list or not all(isinstance(v, kind) for v in values):
            raise pickle.UnpicklingError("a list of the archive has elements of another type")
        return values

    return build


_HELPERS: dict[str, Callable[..., Any]] = {
    "build_intlist": _checked_list(int),
    "build_doublelist": _checked_list((int, float)),
    "build_boollist": _checked_list(bool),
    "build_complexlist": _checked_list((int, float, complex)),
    "build_tensorlist": _checked_list((Tensor, type(None))),
    "restore_type_tag": lambda value, kind: value,
}


def read_constants(program: Program, map_location: Any) -> tuple[Any, ...]:
    """Returns the constants of an archive.

    Raises:
        RuntimeError: the constants can't be read.
    """
    constants = _Reader(program, "constants", map_location).load()
    if not isinstance(constants, (tuple, list)):
        raise RuntimeError("the archive's constants are no tuple")
    return tuple(constants)


def read_object(program: Program, map_location: Any) -> Any:
    """Returns the object of an archive.

    Raises:
        RuntimeError: the object can't be read.
    """
    return _Reader(program, "data", map_location).load()
