"""`call_torchbind`: calls of methods of TorchScript's custom classes, which tl lacks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tl_compiler.higher_order.base import HigherOrderOperator

__all__ = ["CallTorchBind", "call_torchbind", "enable_torchbind_tracing"]


class CallTorchBind(HigherOrderOperator):
    """The operator of graphs for a method of an object of a custom class.

    Example:
        >>> call_torchbind
        <HigherOrderOperator call_torchbind>
    """

    has_effect = True

    def __init__(self) -> None:
        super().__init__("call_torchbind")

    def __call__(self, obj: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Calls the method.

        Args:
            obj: an object of a custom class of TorchScript.
            method: the name of the method.
            args: the arguments of the method.
            kwargs: the keyword arguments of the method.

        Raises:
            RuntimeError: the object is of another class. tl has no custom classes of TorchScript.
        """
        raise RuntimeError(
            f"Unsupported first arg type {type(obj)} for call_torchbind: tl has no custom classes of TorchScript"
        )


call_torchbind = CallTorchBind()


@contextlib.contextmanager
def enable_torchbind_tracing() -> Iterator[None]:
    """A context that traces methods of custom classes in PyTorch; without such classes, it has no effect.

    Example:
        >>> with enable_torchbind_tracing():
        ...     pass
    """
    yield
