"""The element type and device of new tensors."""

from __future__ import annotations

import warnings
from typing import Any

from tl_core import _C

get_default_dtype = _C.get_default_dtype


def set_default_dtype(d: Any, /) -> None:
    """The type of floats that nobody said the type of: a floating-point dtype.

    Example:
        >>> import tl_core
        >>> tl_core.set_default_dtype(tl_core.float64)
        >>> tl_core.tensor([0.5]).dtype
        torch.float64
        >>> tl_core.set_default_dtype(tl_core.float32)
    """
    if not isinstance(d, _C.dtype) or not d.is_floating_point or "float8" in str(d) or "float4" in str(d):
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _C._set_default_dtype(d)


def set_default_tensor_type(t: Any, /) -> None:
    """The older spelling of set_default_dtype: takes types such as DoubleTensor, or their names.

    Example:
        >>> import tl_core
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     tl_core.set_default_tensor_type(tl_core.DoubleTensor)
        ...     tl_core.ones(1).dtype
        ...     tl_core.set_default_tensor_type(tl_core.FloatTensor)
        ...
        torch.float64
    """
    from tl_core.tensors.tensor_types import dtype_of

    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=2,
    )
    set_default_dtype(dtype_of(t))


def get_default_device() -> Any:
    """Where this thread's new tensors go.

    Example:
        >>> import tl_core
        >>> tl_core.get_default_device()
        device(type='cpu')
    """
    return _C._get_default_device()


def set_default_device(device: Any) -> None:
    """Sends this thread's new tensors to a device; None means the CPU.

    Example:
        >>> import tl_core
        >>> tl_core.set_default_device("meta")
        >>> tl_core.ones(2).device
        device(type='meta')
        >>> tl_core.set_default_device(None)
    """
    _C._set_default_device(device)
