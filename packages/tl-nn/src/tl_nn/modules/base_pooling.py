"""The base class of the pooling layers."""

from __future__ import annotations

from typing import Any

from .. import functional as F
from .module import Module

__all__: list[str] = []


class _Pool(Module):
    """Base class of all pooling layers: the function of `functional` they call, looked up when called."""

    _function: str

    def _pool(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(F, self._function)(*args, **kwargs)
