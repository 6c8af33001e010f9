"""The functions of `signal.windows`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tl_core import _C
from tl_core._C import float32, float64, get_default_dtype, strided

if TYPE_CHECKING:
    from tl_core._C import Tensor, device, dtype, layout

    Device = device | str | int | None

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]

_window: Any = _C._window


def _make(
    name: str, shape: str, M: int, sym: bool, parameters: Sequence[float], options: dict[str, Any]
) -> Tensor:
    """A window by its shape, after the checks that all windows share."""
    kind = options["dtype"] or get_default_dtype()
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if options["layout"] is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {options['layout']}")
    if kind not in (float32, float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    result: Tensor = _window(shape, M, not sym, parameters, **options)
    return result


def bartlett(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Bartlett window: a triangle from 0 over 1 to 0.

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.bartlett(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("bartlett", "triangle", M, sym, (), options)


def blackman(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Blackman window: 0.42 - 0.5 cos x + 0.08 cos 2x, where x goes from 0 to 2 pi.

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.blackman(5)[1:4]
        tensor([0.3400, 1.0000, 0.3400])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("blackman", "cosines", M, sym, (0.42, 0.5, 0.08), options)


def cosine(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
           device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """Half a period of a sine: sin(pi (n + 1/2) / M).

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("cosine", "sine", M, sym, (), options)


def exponential(M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: dtype | None = None,
                layout: layout = strided, device: Device = None,
                requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The exponential window: exp(-|n - center| / tau).

    Args:
        M: how many numbers the window has
        center: where it is 1; None is the middle
        tau: after how many numbers it has fallen to 1/e
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: tau is not positive; sym with a center; M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M - 1 if sym or M < 2 else M) / 2 if center is None else center
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("exponential", "exponential", M, sym, (tau, middle), options)


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
             device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Gaussian window: exp(-x^2 / (2 std^2)), where x counts from the middle.

    Args:
        M: how many numbers the window has
        std: the standard deviation, in numbers
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: std is not positive; M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("gaussian", "gaussian", M, sym, (std,), options)


def general_cosine(M: int, *, a: Iterable[float], sym: bool = True, dtype: dtype | None = None,
                   layout: layout = strided, device: Device = None,
                   requires_grad: bool = False) -> Tensor:  # fmt: skip
    """A sum of cosines: a_0 - a_1 cos x + a_2 cos 2x - ..., where x goes from 0 to 2 pi.

    Args:
        M: how many numbers the window has
        a: the coefficients, as a list or tuple
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        TypeError: a is no list or tuple
        ValueError: a is empty; M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    if not isinstance(a, Iterable):
        raise TypeError(f"Coefficients must be a list/tuple, got {type(a).__name__}")
    coefficients = [float(x) for x in a]
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("general_cosine", "cosines", M, sym, coefficients, options)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, dtype: dtype | None = None,
                    layout: layout = strided, device: Device = None,
                    requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The general Hamming window: alpha - (1 - alpha) cos x, where x goes from 0 to 2 pi.

    Args:
        M: how many numbers the window has
        alpha: the mean
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.general_hamming(5, alpha=0.75)
        tensor([0.5000, 0.7500, 1.0000, 0.7500, 0.5000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("general_hamming", "cosines", M, sym, (alpha, 1 - alpha), options)


def hamming(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
            device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Hamming window: 0.54 - 0.46 cos x, where x goes from 0 to 2 pi.

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.hamming(5)
        tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("hamming", "cosines", M, sym, (0.54, 0.46), options)


def hann(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
         device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Hann window: (1 - cos x) / 2, where x goes from 0 to 2 pi.

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("hann", "cosines", M, sym, (0.5, 0.5), options)


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
           device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The Kaiser window: I_0(beta sqrt(1 - x^2)) / I_0(beta), where x goes from -1 to 1.

    Args:
        M: how many numbers the window has
        beta: how narrow it is; 0 is a rectangle
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: beta is negative; M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.kaiser(5, beta=3.0)
        tensor([0.2049, 0.7269, 1.0000, 0.7269, 0.2049])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("kaiser", "kaiser", M, sym, (beta,), options)


def nuttall(M: int, *, sym: bool = True, dtype: dtype | None = None, layout: layout = strided,
            device: Device = None, requires_grad: bool = False) -> Tensor:  # fmt: skip
    """The four-term Blackman-Harris window of least sidelobes, by Nuttall (Some windows with very good sidelobe
    behavior, 1981).

    Args:
        M: how many numbers the window has
        sym: whether it is symmetric; otherwise it is periodic
        dtype: float32 or float64; None is the default one
        layout: only `strided`
        device: where it is made; None is the default device
        requires_grad: whether operations on it are recorded

    Raises:
        ValueError: M is negative; dtype or layout is another one

    Example:
        >>> signal.windows.nuttall(5)
        tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _make("nuttall", "cosines", M, sym, (0.3635819, 0.4891775, 0.1365995, 0.0106411), options)
