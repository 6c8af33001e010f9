"""Which functions `__torch_function__` sees, and under which names."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import backend_registry

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "is_tensor_method_or_property",
    "resolve_name",
]

# The modules whose functions have names below each name. Each package adds its own.
_modules_of: dict[str, list[str]] = {}
# Of these modules also functions whose names begin with an underscore.
_WITH_PRIVATE = ("tl_core.symbolic.arithmetic", "tl_core.functions.private")
_FUNCTIONS = (BuiltinFunctionType, FunctionType)
_METHODS = (MethodDescriptorType, FunctionType)
# Python's own, which see no overrides; operators are seen as the methods add, mul, ...
_UNSEEN = frozenset(
    {"__delattr__", "__delitem__", "__getattribute__", "__hash__", "__init__", "__iter__", "__next__", "__setattr__",
     "__str__"}
)  # fmt: skip
# Builtin functions that are no operators.
_PLAIN = frozenset(
    {"can_cast", "from_numpy", "get_default_dtype", "get_num_threads", "promote_types", "result_type",
     "set_num_threads", "tensor"}
)  # fmt: skip


@functools.cache
def _without_tensors() -> frozenset[str]:
    """Operators that take no tensor, but for `out`."""
    takes: dict[str, bool] = {}
    for name, schema in _C._operators().items():
        name = name.partition(".")[0]
        arguments = schema.partition("(")[2].rpartition(") -> ")[0].removesuffix("Tensor(a!) out")
        takes[name] = takes.get(name, False) or "Tensor" in arguments or "Operand" in arguments
    return frozenset(name for name, any_tensor in takes.items() if not any_tensor)


def _is_overridable(function: Any) -> bool:
    if type(function) is _C.overridable:
        return True
    if isinstance(function, BuiltinFunctionType):
        return function.__name__ not in _PLAIN and function.__name__ not in _without_tensors()
    return not isinstance(function, FunctionType)


def add_modules(path: str, *names: str) -> None:
    """Adds modules whose functions `__torch_function__` sees.

    Args:
        path: the name of the functions' module in PyTorch, such as "torch.nn.init".
        *names: the full names of modules.
    """
    _modules_of.setdefault(path, []).extend(names)


def _modules() -> list[tuple[str, ModuleType]]:
    for provider in ("functional", "quantization", "distributed"):
        backend_registry.load(provider)
    pairs = [(path, name) for path, names in _modules_of.items() for name in names]
    own = ((path, name) for path, name in pairs if name.partition(".")[0] in sys.modules)
    return [(path, import_module(name)) for path, name in own]


def _functions(module: ModuleType) -> Iterator[tuple[str, Any]]:
    with_private = module.__name__ in _WITH_PRIVATE
    for name in sorted(vars(module)) if with_private else getattr(module, "__all__", None) or dir(module):
        function = getattr(module, name)
        if not isinstance(function, _FUNCTIONS) or name.startswith("__"):
            continue
        if not name.startswith("_") or (with_private and type(function) is _C.overridable):
            yield name, function


def _methods() -> Iterator[tuple[str, Any]]:
    for name, method in vars(Tensor).items():
        slot = isinstance(method, WrapperDescriptorType) and name not in _UNSEEN
        if isinstance(method, _METHODS) or slot:
            yield name, method


def _getters() -> Iterator[tuple[str, Any]]:
    for name, attribute in vars(Tensor).items():
        named = isinstance(attribute, GetSetDescriptorType | property) and hasattr(attribute, "__name__")
        if named and name != "__dict__":
            yield f"{name}.__get__", attribute.__get__


@functools.cache
def _named_with(*loaded: Any) -> dict[Any, str]:
    named: dict[Any, str] = {}
    for path, module in _modules():
        for name, function in _functions(module):
            if _is_overridable(function):
                named.setdefault(function, f"{path}.{name}")
    for name, method in (*_methods(), *_getters()):
        if _is_overridable(method):
            named.setdefault(method, f"torch.Tensor.{name}")
    return named


def _names() -> dict[Any, str]:
    """Every function, method and reader of a property that can be overridden, with its name."""
    return _named_with(Tensor.grad, *_modules())  # what other packages bring


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that `__torch_function__` sees, by the module or class that has them.

    A function of several names stands there once; those of `nn` are there once it has been imported.

    Examples:
        >>> import tl_core as tl
        >>> functions = get_overridable_functions()
        >>> tl.add in functions[tl], tl.Tensor.add in functions[tl.Tensor], tl.zeros in functions[tl]
        (True, True, False)
    """
    owners: dict[str, Any] = {"torch.Tensor": Tensor}
    for path, module in _modules():
        owners.setdefault(path, module)
    by_owner: dict[Any, list[Callable[..., Any]]] = {}
    for function, name in _names().items():
        owner = owners[name.removesuffix(".__get__").rpartition(".")[0]]
        by_owner.setdefault(owner, []).append(function)
    return by_owner


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Public functions that `__torch_function__` does not see, mostly because they take no tensor.

    Examples:
        >>> import tl_core as tl
        >>> tl.zeros in get_ignored_functions(), tl.add in get_ignored_functions()
        (True, False)
    """
    functions = [f for _, module in _modules() for _, f in _functions(module)]
    methods = [method for _, method in _methods()]
    return {f for f in (*functions, *methods) if f not in _names()}


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be overridden, one that takes the same arguments and returns -1.

    Examples:
        >>> import tl_core as tl
        >>> dummy = get_testing_overrides()[tl.mul]
        >>> dummy(1, 2)
        -1
        >>> dummy(1, 2, 3)
        Traceback (most recent call last):
        TypeError: too many positional arguments
    """
    return {function: _dummy(function) for function in _names()}


def _dummy(function: Any) -> Callable[..., Any]:
    import inspect  # slow to load, and wanted here only

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it has none
        signature = inspect.signature(lambda *args, **kwargs: -1)
    several = all(
        p.default is not p.empty for p in signature.parameters.values()
    )  # no argument is in all forms
    if several and isinstance(function, BuiltinFunctionType):
        signature = _of_first_form(function.__name__, inspect.Parameter) or signature

    def dummy(*args: Any, **kwargs: Any) -> int:
        signature.bind(*args, **kwargs)
        return -1

    dummy.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks at
    return dummy


def _of_first_form(name: str, parameter: Any) -> Any:
    """The signature of the first form of an operator that has several, as its schema says it; None of no operator."""
    schema = next((s for key, s in _C._operators().items() if key.partition(".")[0] == name), None)
    if schema is None:
        return None
    from inspect import Signature

    parameters, kind = [], parameter.POSITIONAL_OR_KEYWORD
    for text in schema.partition("(")[2].rpartition(") -> ")[0].split(", "):
        if text == "*":
            kind = parameter.KEYWORD_ONLY
            continue
        argument, _, default = text.rpartition(" ")[2].partition("=")
        parameters.append(parameter(argument, kind, default=default or parameter.empty))
    return Signature(parameters)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function as it is passed to `__torch_function__`; None if it is none of PyTorch's names.

    Examples:
        >>> import tl_core as tl
        >>> resolve_name(tl.Tensor.add), resolve_name(tl.Tensor.shape.__get__)
        ('torch.Tensor.add', 'torch.Tensor.shape.__get__')
        >>> resolve_name(tl.ones)
        'torch.ones'
    """
    name = _names().get(f)
    return _named_without_tensors(*_modules()).get(f) if name is None else name


@functools.cache
def _named_without_tensors(*modules: Any) -> dict[Any, str]:
    """The names of functions that take no tensor, so that modes alone see them."""
    named: dict[Any, str] = {}
    for path, module in modules:
        for name, function in _functions(module):
            named.setdefault(function, f"{path}.{name}")
    return named


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or reads a property of it.

    Examples:
        >>> import tl_core as tl
        >>> is_tensor_method_or_property(tl.Tensor.add), is_tensor_method_or_property(tl.add)
        (True, False)
    """
    return (resolve_name(func) or "").startswith("torch.Tensor.")
