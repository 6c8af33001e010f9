"""What would pack inputs into a TorchScript module. There is none here, so all of it says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from tl_core import Tensor

__all__ = [
    "InflatableArg",
    "augment_many_model_functions_with_bundled_inputs",
    "augment_model_with_bundled_inputs",
    "bundle_inputs",
    "bundle_large_tensor",
    "bundle_randn",
]


class InflatableArg(NamedTuple):
    """A value, and how a larger one is made of it.

    Args:
        value: the value that is stored.
        fmt: the expression that makes the argument of it.
        fmt_fn: a function that does.
    """

    value: Any
    fmt: str = "{}"
    fmt_fn: str = ""


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: there is no TorchScript here; save inputs beside the model, with `save` or `export.save`"
    )


def bundle_inputs(model: Any, inputs: Sequence[tuple[Any, ...]] | dict[Callable[..., Any], Any] | None,
                  info: Any = None, *, _receive_inflate_expr: list[str] | None = None) -> NoReturn:  # fmt: skip
    """Would give a TorchScript module with inputs.

    Args:
        model: the module.
        inputs: tuples of arguments.
        info: a text for each.

    Raises:
        NotImplementedError: always.
    """
    _refuse("bundle_inputs")


def augment_model_with_bundled_inputs(model: Any, inputs: Sequence[tuple[Any, ...]] | None = None,
                                      _receive_inflate_expr: list[str] | None = None, info: list[str] | None = None,
                                      skip_size_check: bool = False) -> NoReturn:  # fmt: skip
    """Would add inputs to a TorchScript module.

    Args:
        model: the module.
        inputs: tuples of arguments.
        info: a text for each.
        skip_size_check: whether large inputs are allowed.

    Raises:
        NotImplementedError: always.
    """
    _refuse("augment_model_with_bundled_inputs")


def augment_many_model_functions_with_bundled_inputs(model: Any, inputs: dict[Callable[..., Any], Any],
                                                     _receive_inflate_expr: list[str] | None = None,
                                                     info: Any = None, skip_size_check: bool = False
                                                     ) -> NoReturn:  # fmt: skip
    """Would add inputs to the methods of a TorchScript module.

    Args:
        model: the module.
        inputs: tuples of arguments.
        info: a text for each.
        skip_size_check: whether large inputs are allowed.

    Raises:
        NotImplementedError: always.
    """
    _refuse("augment_many_model_functions_with_bundled_inputs")


def bundle_randn(*size: int, dtype: Any = None) -> InflatableArg:
    """A tensor of random numbers that is stored as one element.

    Args:
        size: its sizes.
        dtype: its element type.
    """
    import tl_core

    return InflatableArg(value=tl_core.zeros(1, dtype=dtype).expand(*size), fmt="torch.randn_like({})")


def bundle_large_tensor(t: Tensor) -> InflatableArg:
    """A large tensor that is stored as it is.

    Args:
        t: the tensor.
    """
    return InflatableArg(value=t, fmt="{}")
