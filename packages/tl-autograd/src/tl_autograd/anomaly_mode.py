"""Anomaly detection: where a failing derivative was recorded, and whether NaN turns up."""

from __future__ import annotations

import warnings

from tl_autograd import _C

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_anomaly_enabled",
    "set_detect_anomaly",
]


def _state() -> tuple[bool, bool]:
    before: tuple[bool, bool] = _C.set_anomaly(False, True)
    _C.set_anomaly(*before)
    return before


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on.

    Example:
        >>> is_anomaly_enabled()
        False
    """
    return _state()[0]


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection, where it is on, looks for NaN.

    Example:
        >>> is_anomaly_check_nan_enabled()
        True
    """
    return _state()[1]


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switches anomaly detection for the whole process.

    Args:
        enabled: on or off.
        check_nan: whether it looks for NaN.
    """
    _C.set_anomaly(enabled, check_nan)


class set_detect_anomaly:
    """Switches anomaly detection for the whole process, at once; as a context manager until its end.

    While it is on, recorded calls remember their Python stack, which a failing backward shows, and
    gradients that hold NaN raise. Everything is much slower.

    Args:
        mode: on or off.
        check_nan: raise RuntimeError when a backward step returns NaN.

    Example:
        >>> import tl_core
        >>> with set_detect_anomaly(True):
        ...     x = tl_core.zeros(1, requires_grad=True)
        ...     x.sqrt().sum().backward()
        ...
        >>> x.grad
        tensor([inf])
    """

    def __init__(self, mode: bool, check_nan: bool = True):
        self._before = _C.set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        _C.set_anomaly(*self._before)


class detect_anomaly:
    """A context manager that switches anomaly detection on.

    Example::

        >>> with tl_autograd.detect_anomaly(check_nan=False):
        ...     y = tl_core.ones(1, requires_grad=True) * 2
        >>> "traceback_" in y.grad_fn.metadata
        True
    """

    def __init__(self, check_nan: bool = True):
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime "
            "and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = _C.set_anomaly(True, self.check_nan)

    def __exit__(self, *exc: object) -> None:
        _C.set_anomaly(*self._before)
