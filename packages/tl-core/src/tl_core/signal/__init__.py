"""Signal processing: window functions, in `windows`."""

from tl_core.signal import windows

__all__ = ["windows"]
