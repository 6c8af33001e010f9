"""`torch.distributed._composable`: functions that change how a module trains, and leave its class."""

from ..replicate import replicate
from .checkpoint_activation import checkpoint

__all__ = ["checkpoint", "replicate"]
