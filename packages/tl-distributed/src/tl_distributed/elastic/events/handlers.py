"""Handlers of events, by name."""

from __future__ import annotations

import logging

_log_handlers: dict[str, logging.Handler] = {
    "console": logging.StreamHandler(),
    "null": logging.NullHandler(),
}


def get_logging_handler(destination: str = "null") -> logging.Handler:
    """The handler of a name: `console` or `null`.

    Raises:
        ValueError: for another name.

    Example:
        >>> get_logging_handler("null")
        <NullHandler (NOTSET)>
    """
    if destination not in _log_handlers:
        raise ValueError(f"no event handler {destination!r}; known: {', '.join(sorted(_log_handlers))}")
    return _log_handlers[destination]
