"""Checks that the functional forms share."""

from typing import Any

from tl_core import Tensor


def check_tensor(function: str, value: Any, argument: str = "input") -> None:
    """Refuse what isn't a tensor or like one, where no operator comes first to do it.

    Args:
        function: the name of the function, for the error.
        value: the argument.
        argument: the name of the argument.
    """
    if not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
        raise TypeError(f"{function}(): argument '{argument}' must be Tensor, not {type(value).__name__}")
