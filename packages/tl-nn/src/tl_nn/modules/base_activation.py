"""The base class of activations with an in-place form."""

from __future__ import annotations

from .module import Module

__all__: list[str] = []


class _MaybeInPlace(Module):
    """An activation without other settings than whether it changes its input.

    Args:
        inplace (bool): Whether the input itself is changed.
    """

    __constants__ = ["inplace"]
    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""
