"""Interrupts in tests: a shell makes what it runs in the background ignore them, as continuous integration does."""

from __future__ import annotations

import signal

__all__ = ["hear_interrupts"]


def hear_interrupts() -> None:
    """Makes this process, and those that it starts from now on, hear interrupts if they were ignored.

    Python installs its handler, which raises KeyboardInterrupt, only where interrupts aren't ignored when it starts,
    and every process inherits that. The `conftest.py` of tests that send interrupts to other processes calls this.

    Example:
        >>> import signal
        >>> before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        >>> hear_interrupts()
        >>> signal.signal(signal.SIGINT, before) is signal.default_int_handler
        True
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
