"""What a program has set, for a fresh process or a thread that is to compute as the program does.

A forked process has all of it. One that is started anew has tl as it is imported, and a thread what threads begin with.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from tl_core import _C
from tl_core.dispatch import grad_mode
from tl_core.settings import determinism, precision, switches
from tl_core.tensors import defaults, printing

__all__ = ["ProcessSettings", "ThreadSettings"]


class ThreadSettings(NamedTuple):
    """The settings of a thread. They can be pickled.

    Args:
        device: where new tensors go.
        grad: whether derivatives are recorded.
        inference: whether `inference_mode` is on.
        autocast: the state of `autocast`; None if the program never loaded it.
    """

    device: Any
    grad: bool
    inference: bool
    autocast: Any

    @classmethod
    def current(cls) -> ThreadSettings:
        """The settings of this thread."""
        autocast: Any = sys.modules.get("tl_core.dispatch.autocast")
        return cls(
            defaults.get_default_device(),
            grad_mode.is_grad_enabled(),
            grad_mode.is_inference_mode_enabled(),
            autocast and autocast.AutocastSnapshot(),
        )

    def restore(self) -> None:
        """Makes them those of the thread that calls it."""
        defaults.set_default_device(self.device)
        _C._set_inference_mode(self.inference)
        _C._set_grad_enabled(self.grad)
        if self.autocast is not None:
            self.autocast.restore()


class ProcessSettings(NamedTuple):
    """The settings of a process, and of the thread that asks for them. They can be pickled.

    Args:
        switches: the values of all global switches.
        print_options: what `set_printoptions` has set.
        dtype: the type of floats that nobody said the type of.
        thread: the settings of the thread.

    Example:
        >>> import tl_core
        >>> tl_core.set_default_dtype(tl_core.float64)
        >>> settings = ProcessSettings.current()
        >>> tl_core.set_default_dtype(tl_core.float32)
        >>> settings.restore()
        >>> tl_core.get_default_dtype() is tl_core.float64
        True
        >>> tl_core.set_default_dtype(tl_core.float32)
    """

    switches: dict[str, Any]
    print_options: dict[str, Any]
    dtype: Any
    thread: ThreadSettings

    @classmethod
    def current(cls) -> ProcessSettings:
        """The settings as they are now."""
        return cls(
            switches.values(),
            dict(vars(printing.PRINT_OPTS)),
            defaults.get_default_dtype(),
            ThreadSettings.current(),
        )

    def restore(self) -> None:
        """Makes them those of this process and of the thread that calls it."""
        switches.restore(self.switches)
        determinism.apply()
        precision.set_float32_matmul_precision(precision.get_float32_matmul_precision())
        vars(printing.PRINT_OPTS).update(self.print_options)
        defaults.set_default_dtype(self.dtype)
        self.thread.restore()
