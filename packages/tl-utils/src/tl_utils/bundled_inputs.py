"""Modules that bring example inputs along, kept small.

Any module takes inputs, and its copies and pickles hold them. The archive of a scripted module does not.
"""

from __future__ import annotations

import copy
import functools
import inspect
import textwrap
import typing
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import tl_core
import tl_nn
from tl_core import Tensor

__all__ = [
    "InflatableArg",
    "augment_many_model_functions_with_bundled_inputs",
    "augment_model_with_bundled_inputs",
    "bundle_inputs",
    "bundle_large_tensor",
    "bundle_randn",
]

MAX_RAW_TENSOR_SIZE = 16
_ATTRIBUTE = "_bundled_inputs"
_FORMATS = ("contiguous_format", "channels_last")
# What expressions and functions of inflatable arguments may name, beside `self` and `value`.
_NAMES = {
    **{name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")},
    "Tensor": Tensor,
    "torch": tl_core,
}


class InflatableArg(NamedTuple):
    """A value, and how a larger one is made of it.

    Args:
        value: the value that is stored.
        fmt: the expression that makes the argument of it, in which `{}` is the value.
        fmt_fn: the text of a function of the module and the value that makes it, in which `{}` is its name.

    Example:
        >>> import tl_core
        >>> InflatableArg(tl_core.zeros(1), "{}.expand(4)").fmt
        '{}.expand(4)'
    """

    value: Any
    fmt: str = "{}"
    fmt_fn: str = ""


@dataclass
class _Packed:
    """An argument as it is stored: the value, the expression that makes the argument of it, and a function's text."""

    value: Any
    expression: str
    function: str = ""

    def inflate(self, model: Any) -> Any:
        names = {**_NAMES, "self": model, "value": self.value}
        if self.function:
            exec(textwrap.dedent(self.function), names)
        return eval(self.expression, names)


class _Bundle:
    """The inputs of a module: the arguments by function, and texts about them."""

    def __init__(self) -> None:
        self.inputs: dict[
            str, list[tuple[_Packed, ...]] | None
        ] = {}  # None: the module has a method that makes them
        self.info: dict[str, list[str]] = {}
        self.names: list[str] = []


def bundle_inputs(
    model: Any,
    inputs: Sequence[tuple[Any, ...]] | Mapping[Callable[..., Any], Any] | None,
    info: Any = None,
    *,
    _receive_inflate_expr: list[str] | None = None,
) -> Any:
    """A copy of a module that has inputs, and shares the module's parameters and buffers.

    The copy's `get_all_bundled_inputs_for_NAME()` gives the inputs of its method NAME, and
    `get_bundled_inputs_functions_and_info()` lists the methods that have inputs. With inputs of `forward` the copy
    also has `get_all_bundled_inputs()` and `get_num_bundled_inputs()`. The copy drops earlier inputs.

    Args:
        model: the module.
        inputs: tuples of arguments of `forward`; or a dictionary with such a list for each method of the module, None
            for one whose inputs the module's own `_generate_bundled_inputs_for_NAME` makes.
        info: texts about them; a dictionary like that of the inputs, where they are one.

    Returns:
        The copy.

    Raises:
        TypeError: the model is no module, or inputs are no lists of tuples.
        ValueError: a tensor is large, and can't be kept as one element.

    Example:
        >>> import tl_nn
        >>> model = bundle_inputs(tl_nn.ReLU(), [(tl_core.zeros(1000),)])
        >>> model(*model.get_all_bundled_inputs()[0]).shape
        torch.Size([1000])
    """
    inputs_by_method = inputs if isinstance(inputs, Mapping) else {_method(model, "forward"): inputs}
    texts = info if isinstance(info, Mapping) or not info else {_method(model, "forward"): info}
    result = _copy_module(model)
    _augment(result, inputs_by_method, texts, _receive_inflate_expr, False)
    return result


def augment_model_with_bundled_inputs(
    model: Any,
    inputs: Sequence[tuple[Any, ...]] | None = None,
    _receive_inflate_expr: list[str] | None = None,
    info: list[str] | None = None,
    skip_size_check: bool = False,
) -> None:
    """Gives a module inputs of `forward`.

    Args:
        model: the module.
        inputs: tuples of arguments. With None the module's `_generate_bundled_inputs_for_forward` makes them.
        info: a text for each.
        skip_size_check: whether large tensors may be stored.

    Raises:
        TypeError: the model is no module, or inputs are no list of tuples.
        RuntimeError: the module has inputs already, or both says how to make them and is given some, or neither.
        ValueError: a tensor is large, and can't be kept as one element.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> augment_model_with_bundled_inputs(model, [(tl_core.ones(2),)])
        >>> model.get_num_bundled_inputs()
        1
    """
    forward = _method(model, "forward")
    texts = {forward: info} if info else None
    _augment(model, {forward: inputs}, texts, _receive_inflate_expr, skip_size_check)


def augment_many_model_functions_with_bundled_inputs(
    model: Any,
    inputs: Mapping[Callable[..., Any], Any],
    _receive_inflate_expr: list[str] | None = None,
    info: Any = None,
    skip_size_check: bool = False,
) -> None:
    """Adds inputs to methods of a module, as `bundle_inputs` does to a copy.

    Args:
        model: the module.
        inputs: for each method a list of tuples of arguments, or None where the module makes them itself.
        info: for each method a text for each.
        skip_size_check: whether large tensors may be stored.

    Raises:
        TypeError: the model is no module, or inputs are no lists of tuples.
        RuntimeError: the module has inputs already, or both says how to make them and is given some, or neither.
        ValueError: a tensor is large, and can't be kept as one element; or no method is named.

    Example:
        >>> import tl_core, tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> augment_many_model_functions_with_bundled_inputs(model, {model.forward: [(tl_core.ones(2),)]})
    """
    _augment(model, inputs, info, _receive_inflate_expr, skip_size_check)


# ---- storage
def _augment(
    model: Any, inputs: Mapping[Any, Any], info: Any, expressions: list[str] | None, any_size: bool
) -> None:
    _check_model(model)
    _warn_of_archives(model)
    if not inputs:
        raise ValueError("Please provide inputs for at least 1 function")
    if _ATTRIBUTE in model.__dict__:
        raise RuntimeError(
            "Models can only be augmented with bundled inputs once. "
            "This one has some; take a module that has none, or use `bundle_inputs`, which gives a copy."
        )
    bundle = _Bundle()
    for function, calls in inputs.items():
        name = _name_of(function)
        _check_calls(model, name, calls)
        bundle.inputs[name] = None if calls is None else _packed_calls(name, calls, expressions, any_size)
        bundle.info[name] = list((info or {}).get(function, None) or [])
    _attach(model, bundle)


def _check_model(model: Any) -> None:
    if not isinstance(model, tl_nn.Module):
        raise TypeError(f"inputs are bundled with a module, got {type(model).__name__}")


def _warn_of_archives(model: Any) -> None:
    if hasattr(model, "save_to_buffer"):
        warnings.warn(
            "the bundled inputs of a scripted module are attributes of the object in this process: the archive that "
            "jit.save writes does not hold them",
            stacklevel=4,
        )


def _method(model: Any, name: str) -> Any:
    _check_model(model)
    return getattr(model, name)


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", None) or getattr(function, "name", None)
    if not isinstance(name, str):
        raise TypeError(f"At least one of your functions has no attribute name: {function!r}")
    return name


def _check_calls(model: Any, name: str, calls: Any) -> None:
    if calls is not None and (isinstance(calls, str) or not isinstance(calls, Sequence)):
        raise TypeError(f"Inputs for function {name} must be a list of tuples, got {type(calls).__name__}")
    for call in calls or ():
        if not isinstance(call, tuple):
            raise TypeError(
                f"Inputs of {name} must be tuples of its arguments, got {type(call).__name__}; "
                "a tuple is needed also for one argument"
            )
    own = f"_generate_bundled_inputs_for_{name}"
    if calls is None and not callable(getattr(model, own, None)):
        raise RuntimeError(f"inputs for {name} are None, and the module has no method {own} that makes them")
    if calls is not None and hasattr(model, own):
        raise RuntimeError(
            f"inputs for {name} are given, and the module has a method {own}; only one may make them"
        )


def _packed_calls(
    name: str, calls: Any, expressions: list[str] | None, any_size: bool
) -> list[tuple[_Packed, ...]]:
    packed_calls = []
    for i, call in enumerate(calls):
        packed = tuple(_pack(arg, f"{name}, input {i}, argument {j}", any_size) for j, arg in enumerate(call))
        packed_calls.append(packed)
        if expressions is not None:
            expressions.append(", ".join(p.expression for p in packed))
    return packed_calls


def _pack(arg: Any, where: str, any_size: bool) -> _Packed:
    if isinstance(arg, InflatableArg):
        return _inflatable(arg, where)
    if not isinstance(arg, Tensor) or any_size or arg.untyped_storage().nbytes() <= _raw_limit(arg):
        return _Packed(arg, "value")
    if arg.is_contiguous() and arg.numel() <= MAX_RAW_TENSOR_SIZE:
        return _Packed(arg.clone(), "value")
    for form in _FORMATS if arg.dim() == 4 else _FORMATS[:1]:
        if arg.is_contiguous(memory_format=getattr(tl_core, form)) and bool((arg == arg.flatten()[0]).all()):
            one = arg.flatten()[:1].clone().reshape(()).expand(*arg.size())
            return _Packed(one, f"value.contiguous(memory_format=torch.{form})")
    raise ValueError(
        f"Bundled input argument at '{where}' is a tensor with more than {MAX_RAW_TENSOR_SIZE} elements that differ; "
        "store it with `bundle_large_tensor`, or how it is made with `bundle_randn` or `InflatableArg`"
    )


def _raw_limit(t: Tensor) -> int:
    return MAX_RAW_TENSOR_SIZE * t.element_size()


def _inflatable(arg: InflatableArg, where: str) -> _Packed:
    if not arg.fmt_fn:
        return _Packed(arg.value, arg.fmt.format("value"))
    if arg.fmt not in ("{}", ""):
        raise ValueError(
            f"Bundled input argument at '{where}' has both fmt_fn and fmt; an expression and a function can't both "
            "make the argument"
        )
    return _Packed(arg.value, "_inflate_helper(self, value)", arg.fmt_fn.format("_inflate_helper"))


# ---- the methods of the module
def _attach(model: Any, bundle: _Bundle) -> None:
    methods: dict[str, Any] = {}
    for name in bundle.inputs:
        methods[f"get_all_bundled_inputs_for_{name}"] = functools.partial(_all_inputs, model, name)
    methods["get_bundled_inputs_functions_and_info"] = functools.partial(_functions_and_info, model)
    if "forward" in bundle.inputs:
        methods["get_all_bundled_inputs"] = methods["get_all_bundled_inputs_for_forward"]
        methods["get_num_bundled_inputs"] = functools.partial(_number, model)
    bundle.names = [_ATTRIBUTE, *methods]
    model.__dict__.update(methods)
    model.__dict__[_ATTRIBUTE] = bundle


def _all_inputs(model: Any, name: str) -> list[tuple[Any, ...]]:
    packed = model.__dict__[_ATTRIBUTE].inputs[name]
    if packed is None:
        inputs: list[tuple[Any, ...]] = getattr(model, f"_generate_bundled_inputs_for_{name}")()
        return inputs
    return [tuple(p.inflate(model) for p in call) for call in packed]


def _number(model: Any) -> int:
    return len(_all_inputs(model, "forward"))


def _functions_and_info(model: Any) -> dict[str, dict[str, list[str]]]:
    return {
        name: {"get_inputs_function_name": [f"get_all_bundled_inputs_for_{name}"], "info": list(texts)}
        for name, texts in model.__dict__[_ATTRIBUTE].info.items()
    }


def _copy_module(model: Any) -> Any:
    """A copy of a module without inputs, which shares parameters, buffers and submodules."""
    _check_model(model)
    result = copy.copy(model)
    for name in ("_parameters", "_buffers", "_modules"):
        result.__dict__[name] = dict(model.__dict__[name])
    for name in getattr(model.__dict__.get(_ATTRIBUTE), "names", ()):
        del result.__dict__[name]
    for name, value in list(result.__dict__.items()):  # methods that were put on the object
        if inspect.ismethod(value) and value.__self__ is model:
            result.__dict__[name] = value.__func__.__get__(result)
    return result


# ---- arguments
def bundle_randn(*size: int, dtype: Any = None) -> InflatableArg:
    """A tensor of random numbers that is stored as one element.

    Args:
        size: its sizes.
        dtype: its element type.

    Example:
        >>> bundle_randn(2, 3).value.shape
        torch.Size([2, 3])
    """
    return InflatableArg(value=tl_core.zeros(1, dtype=dtype).expand(*size), fmt="torch.randn_like({})")


def bundle_large_tensor(t: Tensor) -> InflatableArg:
    """A large tensor that is stored as it is.

    Args:
        t: the tensor.

    Example:
        >>> import tl_core
        >>> type(bundle_large_tensor(tl_core.ones(2))).__name__
        'InflatableArg'
    """
    return InflatableArg(value=t, fmt="{}")
