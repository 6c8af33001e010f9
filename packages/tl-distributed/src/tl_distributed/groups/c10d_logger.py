"""Records of what is asked of process groups: which function, in which group, how long it took, how it failed."""

from __future__ import annotations

import functools
import logging
import os
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from . import world
from .logging_handlers import _log_handlers

__all__: list[str] = []

_P = ParamSpec("_P")
_R = TypeVar("_R")
HANDLER_VARIABLE = "TL_DISTRIBUTED_LOG_HANDLER"


def _get_or_create_logger(destination: str | None = None) -> logging.Logger:
    """The logger of a destination, one of `_log_handlers`; that of TL_DISTRIBUTED_LOG_HANDLER by default."""
    name = destination or os.environ.get(HANDLER_VARIABLE, "default")
    handler = _log_handlers.get(name, _log_handlers["default"])
    logger = logging.getLogger(f"c10d-{type(handler).__name__}-{name}")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    if handler not in logger.handlers:
        logger.addHandler(handler)
    return logger


_c10d_logger = _get_or_create_logger()


def _get_msg_dict(func_name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The record of a call: the function, and where there is a world, its size, rank and backend."""
    fields: dict[str, Any] = {"func_name": func_name}
    default = world.current().default
    if default is not None:
        group = kwargs.get("group") or kwargs.get("process_group") or default
        fields |= {
            "pg_name": group.group_name,
            "backend": str(group.backend),
            "world_size": default.size(),
            "group_size": group.size(),
            "global_rank": default.rank(),
            "local_rank": group.rank(),
        }
    return fields


def _exception_logger(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """Records the exceptions of a function."""

    @functools.wraps(func)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return func(*args, **kwargs)
        except Exception as error:
            _c10d_logger.debug({**_get_msg_dict(func.__name__, *args, **kwargs), "error": repr(error)})
            raise

    return call


def _time_logger(func: Callable[_P, _R]) -> Callable[_P, _R]:
    """Records how long calls of a function take, in nanoseconds."""

    @functools.wraps(func)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        began = time.monotonic_ns()
        result = func(*args, **kwargs)
        duration = time.monotonic_ns() - began
        _c10d_logger.debug({**_get_msg_dict(func.__name__, *args, **kwargs), "time_spent": f"{duration}ns"})
        return result

    return call
