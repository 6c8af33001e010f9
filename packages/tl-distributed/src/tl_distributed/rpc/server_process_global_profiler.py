"""Profiles of everything that a worker runs for others."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


class _server_process_global_profile:
    """A profile of all calls that a worker runs, on whatever thread.

    Args:
        args: settings of a profile.
        kwargs: settings of a profile by name.

    Raises:
        NotImplementedError: always; `tl_profiler.profile` in the called function records one call.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(
            "a profile of all calls of a worker isn't there; a profile within the function records its call"
        )
