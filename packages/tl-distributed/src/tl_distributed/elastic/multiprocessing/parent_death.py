"""Workers end with their agent, even if nothing but the kernel can say that it has died."""

from __future__ import annotations

import ctypes
import os
import signal

__all__ = ["end_with_parent"]

_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)  # loaded before a fork, after which little is safe


def end_with_parent(parent: int) -> None:
    """Asks the kernel to send this process SIGKILL when its parent dies.

    Args:
        parent: the parent; where it has died already, this process ends now.

    Raises:
        OSError: the kernel refuses.
    """
    if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl(PR_SET_PDEATHSIG): {os.strerror(number)}")
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
