"""Training in mixed precision.

>>> scaler = GradScaler("cpu", init_scale=4.0)
>>> scaler.scale(tl_core.ones(2))
tensor([4., 4.])
"""

import sys

import tl_core
from tl_core.base.public_names import listed_names
from tl_core.dispatch.autocast import get_autocast_dtype, is_autocast_available, is_autocast_enabled

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler
from .version import __version__ as __version__

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
]


def __dir__() -> list[str]:
    return listed_names(sys.modules[__name__])
