"""The device beside the CPU, of whichever kind: there is none without a plug-in.

What needs one raises RuntimeError.
"""

from tl_backends.device_kind import ACCELERATOR
from tl_backends.devices import StreamContext

__all__ = ["device_index"]

__getattr__ = ACCELERATOR.fill(globals())


class device_index(StreamContext):
    """A `with` block in which another device is selected; None selects nothing.

    Example:
        >>> from tl_backends import accelerator
        >>> if accelerator.is_available():
        ...     with accelerator.device_index(0):
        ...         pass
    """

    def __init__(self, device: int | None, /):
        super().__init__(None)
        self.idx = device

    def __enter__(self) -> "device_index":
        if self.idx is not None:
            raise ACCELERATOR.error(f"device_index({self.idx})")
        return self
