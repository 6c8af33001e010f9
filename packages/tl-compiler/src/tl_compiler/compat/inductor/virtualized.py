"""`torch._inductor.virtualized`: the state of the code generator; here the mode of tensors without memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tl_core.subclasses import FakeTensorMode

__all__ = ["V"]


class _Virtualized:
    """The mode in which patterns and replacements are traced."""

    def __init__(self) -> None:
        self._mode: FakeTensorMode | None = None

    @property
    def fake_mode(self) -> FakeTensorMode:
        """The mode that is set, or one of the process."""
        if self._mode is None:
            self._mode = FakeTensorMode()
        return self._mode

    @contextlib.contextmanager
    def set_fake_mode(self, mode: FakeTensorMode) -> Iterator[None]:
        """A region with another mode.

        Args:
            mode: the mode.
        """
        before, self._mode = self._mode, mode
        try:
            yield
        finally:
            self._mode = before


V = _Virtualized()
"""The state."""
