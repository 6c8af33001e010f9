"""What a thread's regions of autocast are made of: whether each kind of device has one, and its lower type."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

from tl_core import _C

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

# The kinds of devices that know autocast, and the lower types they take.
LOWER_TYPES = {"cpu": (_C.bfloat16, _C.float16), "cuda": (_C.float16, _C.bfloat16)}
# Those of other builds, and the types that they take unless told otherwise: there is nothing to compute on.
_ELSEWHERE = dict.fromkeys(("ipu", "xpu", "mps", "mtia", "privateuseone"), _C.float16) | dict.fromkeys(
    ("maia", "xla", "hpu"), _C.bfloat16
)
_thread_dtypes = threading.local()  # of those: the types that this thread was told


def is_autocast_available(device_type: str) -> bool:
    """Whether a kind of device knows `autocast`.

    Args:
        device_type: such as "cuda".

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.is_autocast_available("cpu")
        True
    """
    kind = _C.device(device_type).type
    return kind in LOWER_TYPES or _key_elsewhere(kind) in _ELSEWHERE


def _key_elsewhere(kind: str) -> str:
    """The key of a kind in `_ELSEWHERE`, which has the name that a program gives a plug-in's device before that."""
    return "privateuseone" if kind == _C._private_device_name() else kind


def check_known(name: str, device_type: str) -> None:
    """Raises RuntimeError for a kind of device that doesn't know autocast."""
    if not is_autocast_available(device_type):
        raise RuntimeError(f"{name}: autocast does not know the device type {device_type!r}")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operators on that kind of device choose their precision now, in this thread.

    Args:
        device_type: such as "cpu".

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.is_autocast_enabled("cpu")
        False
    """
    check_known("is_autocast_enabled", device_type)
    return _C._autocast_is_on(device_type)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switches the choice of precision on or off; `autocast` does it for a region.

    Args:
        device_type: such as "cpu"; a bool alone stands for CUDA.
        enabled: on or off.

    Example:
        >>> import tl_core
        >>> from tl_core.dispatch import autocast
        >>> autocast.set_autocast_enabled("cpu", True)
        >>> (tl_core.ones(2, 2) @ tl_core.ones(2, 2)).dtype
        torch.bfloat16
        >>> autocast.set_autocast_enabled("cpu", False)
    """
    kind, on = ("cuda", device_type) if isinstance(device_type, bool) else (device_type, enabled)
    check_known("set_autocast_enabled", kind)
    if on is None:
        raise TypeError("set_autocast_enabled: missing the argument 'enabled'")
    _C._set_autocast_on(kind, on)


def get_autocast_dtype(device_type: str) -> _C.dtype:
    """The lower type that a region of `autocast` takes for a kind of device unless told otherwise; within one, its own.

    Args:
        device_type: the kind of device.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.get_autocast_dtype("cpu")
        torch.bfloat16
    """
    check_known("get_autocast_dtype", device_type)
    if device_type not in LOWER_TYPES and (key := _key_elsewhere(device_type)) in _ELSEWHERE:
        return vars(_thread_dtypes).get(key, _ELSEWHERE[key])
    return _C._autocast_dtype(device_type)


def set_autocast_dtype(device_type: str, dtype: _C.dtype) -> None:
    """Sets the lower type.

    Args:
        device_type: the kind of device.
        dtype: such as bfloat16.

    Example:
        >>> import tl_core
        >>> from tl_core.dispatch import autocast
        >>> autocast.set_autocast_dtype("cpu", tl_core.float16)
        >>> autocast.get_autocast_dtype("cpu")
        torch.float16
        >>> autocast.set_autocast_dtype("cpu", tl_core.bfloat16)
    """
    check_known("set_autocast_dtype", device_type)
    if device_type not in LOWER_TYPES and (key := _key_elsewhere(device_type)) in _ELSEWHERE:
        setattr(_thread_dtypes, key, dtype)
    else:
        _C._set_autocast_dtype(device_type, dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether regions keep the parameters that they have converted.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.is_autocast_cache_enabled()
        True
    """
    return _C._autocast_caches()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Says whether regions keep the parameters that they have converted.

    Args:
        enabled: whether they do.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.set_autocast_cache_enabled(True)
    """
    _C._set_autocast_caches(enabled)


def autocast_increment_nesting() -> int:
    """Begins a region without switching anything; the number of regions around now.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.autocast_increment_nesting()
        1
        >>> autocast.autocast_decrement_nesting()
        0
    """
    return _C._nest_autocast(1)


def autocast_decrement_nesting() -> int:
    """Ends what `autocast_increment_nesting` began; after the last one nothing that was converted is kept.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> _ = autocast.autocast_increment_nesting()
        >>> autocast.autocast_decrement_nesting()
        0
    """
    return _C._nest_autocast(-1)


def clear_autocast_cache() -> None:
    """Forgets the parameters that were converted.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> autocast.clear_autocast_cache()
    """
    _C._clear_autocast_cache()


class AutocastSnapshot:
    """The state of all devices, or of one, as it is now: for what runs later as if it ran here.

    Args:
        device_type: such as "cpu"; None stands for all.

    Example:
        >>> here = AutocastSnapshot()
        >>> with here.entered():
        ...     is_autocast_enabled("cpu")
        False
    """

    def __init__(self, device_type: str | None = None) -> None:
        devices = LOWER_TYPES if device_type is None else (device_type,)
        self._types = {device: (_C._autocast_is_on(device), get_autocast_dtype(device)) for device in devices}
        self._caches = _C._autocast_caches()

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """A context with this state."""
        before = AutocastSnapshot()
        self.restore()
        try:
            yield
        finally:
            before.restore()

    def restore(self) -> None:
        """Makes it the thread's state."""
        for device, (on, lower) in self._types.items():
            _C._set_autocast_on(device, on)
            set_autocast_dtype(device, lower)
        _C._set_autocast_caches(self._caches)


def _warn(old: str, new: str) -> None:
    warnings.warn(
        f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3
    )


def is_autocast_cpu_enabled() -> bool:
    """The old name of `is_autocast_enabled("cpu")`.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.is_autocast_cpu_enabled()
        ...
        False
    """
    _warn("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """The old name of `set_autocast_enabled("cpu", enabled)`.

    Args:
        enabled: on or off.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.set_autocast_cpu_enabled(True)
        ...     autocast.is_autocast_enabled("cpu")
        ...     autocast.set_autocast_cpu_enabled(False)
        ...
        True
    """
    _warn("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> _C.dtype:
    """The old name of `get_autocast_dtype("cpu")`.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.get_autocast_cpu_dtype()
        ...
        torch.bfloat16
    """
    _warn("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: _C.dtype) -> None:
    """The old name of `set_autocast_dtype("cpu", dtype)`.

    Args:
        dtype: such as bfloat16.

    Example:
        >>> import tl_core
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.set_autocast_cpu_dtype(tl_core.float16)
        ...     autocast.get_autocast_dtype("cpu")
        ...     autocast.set_autocast_cpu_dtype(tl_core.bfloat16)
        ...
        torch.float16
    """
    _warn("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> _C.dtype:
    """The old name of `get_autocast_dtype("cuda")`.

    Example:
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.get_autocast_gpu_dtype()
        ...
        torch.float16
    """
    _warn("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: _C.dtype) -> None:
    """The old name of `set_autocast_dtype("cuda", dtype)`.

    Args:
        dtype: such as float16.

    Example:
        >>> import tl_core
        >>> from tl_core.dispatch import autocast
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     autocast.set_autocast_gpu_dtype(tl_core.float16)
        ...     autocast.get_autocast_dtype("cuda")
        ...
        torch.float16
    """
    _warn("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
