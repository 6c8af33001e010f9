"""Functions that a program puts in the place of PyTorch's private functions through which inputs enter a level.

Libraries of tensor subclasses, such as PyPose, wrap `_add_batch_dim` and `_wrap_tensor_for_grad` of
`torch._functorch`, so that their type remains inside of a transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["substitute", "watch"]

_owners: dict[str, tuple[dict[str, Any], Callable[..., Any]]] = {}


def watch(name: str, module: dict[str, Any]) -> None:
    """Declares a function of a module that programs may replace.

    Args:
        name: the name of the function.
        module: the names of the module.
    """
    _owners[name] = module, module[name]


def substitute(name: str) -> Callable[..., Any] | None:
    """The function that stands in the place of another one; None if nobody has replaced it.

    Args:
        name: the name of the function.

    Returns:
        The function, or None.
    """
    owner = _owners.get(name)
    if owner is None:  # nobody has imported the module
        return None
    module, own = owner
    function: Callable[..., Any] = module[name]
    return None if function is own else function
