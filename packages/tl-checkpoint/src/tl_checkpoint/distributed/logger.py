"""The log of saves and loads: `logging.getLogger("tl_checkpoint.distributed")`."""

from __future__ import annotations

import logging

__all__: list[str] = []

log = logging.getLogger("tl_checkpoint.distributed")
