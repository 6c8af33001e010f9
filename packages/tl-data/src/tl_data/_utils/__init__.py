"""The names under which programs written for the reference find what stands elsewhere here."""

from . import collate as collate
from . import fetch as fetch
from . import pin_memory as pin_memory
from . import worker as worker

MP_STATUS_CHECK_INTERVAL = 5.0
"""Seconds after which the reference looks whether its workers live; here the end of a worker is an event."""
