"""Checks that the functional forms share."""

from typing import Any

from tl_core import Tensor


def check_tensor(function: str, value: Any, argument: str = "input") -> None:
    """Raise TypeError for an argument that isn't tensor-like, where no operator checks it first.

    Args:
        function: the name of the function, for the error.
        value: the argument.
        argument: the name of the argument.
    """
    if not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
        raise TypeError(f"{function}(): argument '{argument}' must be Tensor, not {type(value).__name__}")
