"""The log message for workers that are late."""

from __future__ import annotations

import logging

__all__ = ["log_debug_info_for_expired_timers"]

_log = logging.getLogger(__name__)


def log_debug_info_for_expired_timers(run_id: str, expired_timers: dict[int, list[str]]) -> None:
    """Says which workers are late in what.

    Args:
        run_id: the job's name.
        expired_timers: what they are late in, by process.

    Example:
        >>> log_debug_info_for_expired_timers("job", {})
    """
    for worker, late in expired_timers.items():
        _log.info("job %s: worker %d is late in %s", run_id, worker, "; ".join(late))
