"""Loggers for agents."""

from __future__ import annotations

import inspect
import logging

from .log_level import get_log_level

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """A logger that follows the variable LOGLEVEL.

    Args:
        name: its name; that of the caller's module otherwise.

    Example:
        >>> get_logger("agent").name
        'agent'
    """
    if name is None:
        frame = inspect.currentframe()
        caller = frame.f_back if frame is not None else None
        name = str(caller.f_globals["__name__"]) if caller is not None else __name__
    logger = logging.getLogger(name)
    logger.setLevel(get_log_level())
    return logger
