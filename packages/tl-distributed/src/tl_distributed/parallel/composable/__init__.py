"""`torch.distributed._composable`: functions that change how a module trains, and leave its class."""

from ..replicate import replicate

__all__ = ["replicate"]
