"""The level of the agents' log messages."""

from __future__ import annotations

import os

__all__ = ["get_log_level"]


def get_log_level() -> str:
    """The level of the variable LOGLEVEL; WARNING otherwise.

    Example:
        >>> get_log_level()
        'WARNING'
    """
    return os.environ.get("LOGLEVEL", "WARNING").upper()
