"""Modules under PyTorch's names; the implementation is in other modules of this package."""

from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import worker as worker

MP_STATUS_CHECK_INTERVAL = 5.0
"""Interval in seconds at which PyTorch checks its workers. Here the end of a worker is an event."""
