"""Helpers of pipes."""

from . import common as common
from . import decoder as decoder
from . import snapshot as snapshot
