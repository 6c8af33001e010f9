"""Handlers of the records of process groups, by name.

A program that wants them adds a handler, `_log_handlers["file"] = logging.FileHandler(path)`, and names it in the
variable TL_DISTRIBUTED_LOG_HANDLER. Nothing is recorded otherwise.
"""

from __future__ import annotations

import logging

__all__: list[str] = []

_log_handlers: dict[str, logging.Handler] = {"default": logging.NullHandler()}
