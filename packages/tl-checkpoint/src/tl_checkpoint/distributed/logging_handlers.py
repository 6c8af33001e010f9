"""Default handlers of the log of saves and loads: none."""

from __future__ import annotations

import logging

__all__: list[str] = []

DCP_LOGGER_NAME = "tl_checkpoint.distributed"

logging.getLogger(DCP_LOGGER_NAME).addHandler(logging.NullHandler())
