"""The functions of unification, each chosen by the classes of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .multipledispatch import dispatch as _dispatch

__all__ = ["dispatch"]

namespace: dict[str, Any] = {}

dispatch: Callable[..., Any] = partial(_dispatch, namespace=namespace)
