"""Warnings for programs that were written for PyTorch 0.1, which tl never raises."""

from __future__ import annotations

__all__ = ["Warning", "broadcast_warning", "keepdim_warning"]


class Warning:
    """A warning that could be switched on, and is off.

    Args:
        what: the subject of the warning.

    Example:
        >>> broadcast_warning.enabled
        False
    """

    def __init__(self, what: str) -> None:
        self._what = what

    @property
    def enabled(self) -> bool:
        """Whether it is on: never."""
        return False

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value:
            raise NotImplementedError(
                f"backcompat: nothing warns of {self._what}; it behaves as PyTorch 2 does"
            )

    def get_enabled(self) -> bool:
        """Whether it is on: never."""
        return False

    def set_enabled(self, value: bool) -> None:
        """Switches it.

        Raises:
            NotImplementedError: on.
        """
        self.enabled = value


broadcast_warning = Warning("shapes that PyTorch 0.1 would not have broadcast")
keepdim_warning = Warning("reductions that kept their dimension in PyTorch 0.1")
