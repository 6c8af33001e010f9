"""The processor: threads and instruction set."""

from __future__ import annotations

from tl_core import _C

get_num_threads = _C.get_num_threads
set_num_threads = _C.set_num_threads

_interop_threads = 1


def set_flush_denormal(mode: bool, /) -> bool:
    """Whether this thread's operators take numbers below the smallest normal one for zero.

    Returns whether the processor can.

    >>> set_flush_denormal(False)
    True
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal expects a bool, but got {type(mode).__name__}")
    return _C._flush_denormals(mode)


def get_num_interop_threads() -> int:
    """Threads that run operators beside each other; tl runs one operator at a time, so this is only remembered.

    Example:
        >>> import tl_core
        >>> tl_core.get_num_interop_threads() >= 1
        True
    """
    return _interop_threads


def set_num_interop_threads(int: int) -> None:
    """Remembered for programs that ask; tl runs one operator at a time.

    Example:
        >>> import tl_core
        >>> tl_core.set_num_interop_threads(tl_core.get_num_interop_threads())
    """
    if int <= 0:
        raise RuntimeError(f"Expected nthreads > 0, but got {int}")
    global _interop_threads
    _interop_threads = int


def cpu_capability() -> str:
    """The instruction set the kernels were chosen for: DEFAULT, AVX2 or AVX512.

    Example:
        >>> import tl_core
        >>> tl_core.settings.machine.cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
        True
    """
    return ("DEFAULT", "AVX2", "AVX512")[_C._capability_level()]
