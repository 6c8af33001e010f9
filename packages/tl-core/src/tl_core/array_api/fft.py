"""The extension `fft`: Fourier transforms in the standard's signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import tl_core as _tl  # noqa: F401  # in the examples
from tl_core import fft as _fft
from tl_core._C import Tensor

__all__ = ["fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn",
           "rfft", "rfftfreq", "rfftn"]  # fmt: skip

Norm = Literal["backward", "ortho", "forward"]


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform of complex numbers along an axis.

    Args:
        x: the array.
        n: how many elements are transformed: more are left out, fewer are followed by zeros.
        axis: the axis.
        norm: which way is divided by the length: "backward", "forward", or both by its root ("ortho").

    Example:
        >>> fft(_tl.ones(2))
        tensor([2.+0.j, 0.+0.j])
    """
    return _fft.fft(x, n=n, dim=axis, norm=norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `fft`, with its arguments.

    Args:
        x: the array.
        n: the length of the transform; None for the array's.
        axis: the axis.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> ifft(fft(_tl.ones(2))).real
        tensor([1., 1.])
    """
    return _fft.ifft(x, n=n, dim=axis, norm=norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The transform along several axes, by default all.

    Args:
        x: the array.
        s: how many elements of each are transformed.
        axes: the axes.
        norm: as of `fft`.

    Example:
        >>> fftn(_tl.ones(2, 2)).shape
        torch.Size([2, 2])
    """
    return _fft.fftn(x, s=s, dim=axes, norm=norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `fftn`, with its arguments.

    Args:
        x: the array.
        s: the lengths along the axes; None for those of the array.
        axes: how many axes are contracted, or the axes of both.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> ifftn(_tl.ones(2, 2)).shape
        torch.Size([2, 2])
    """
    return _fft.ifftn(x, s=s, dim=axes, norm=norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform of real numbers along an axis, without the half that follows from symmetry.

    Args:
        x: the array.
        n: the length of the transform; None for the array's.
        axis: the axis.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> rfft(_tl.ones(4)).shape
        torch.Size([3])
    """
    return _fft.rfft(x, n=n, dim=axis, norm=norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `rfft`, with its arguments; `n` is the length of the result.

    Args:
        x: the array.
        n: the length of the transform; None for the array's.
        axis: the axis.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> irfft(rfft(_tl.ones(4)))
        tensor([1., 1., 1., 1.])
    """
    return _fft.irfft(x, n=n, dim=axis, norm=norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The transform of real numbers along several axes, the last of them as `rfft` does it.

    Args:
        x: the array.
        s: the lengths along the axes; None for those of the array.
        axes: how many axes are contracted, or the axes of both.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> rfftn(_tl.ones(2, 4)).shape
        torch.Size([2, 3])
    """
    return _fft.rfftn(x, s=s, dim=axes, norm=norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Tensor:
    """The inverse of `rfftn`, with its arguments.

    Args:
        x: the array.
        s: the lengths along the axes; None for those of the array.
        axes: how many axes are contracted, or the axes of both.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> irfftn(rfftn(_tl.ones(2, 4))).shape
        torch.Size([2, 4])
    """
    return _fft.irfftn(x, s=s, dim=axes, norm=norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The transform, which is real, of numbers whose second half is the first conjugated.

    Args:
        x: the array.
        n: the length of the transform; None for the array's.
        axis: the axis.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> hfft(_tl.ones(3)).shape
        torch.Size([4])
    """
    return _fft.hfft(x, n=n, dim=axis, norm=norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
    """The inverse of `hfft`, with its arguments.

    Args:
        x: the array.
        n: the length of the transform; None for the array's.
        axis: the axis.
        norm: "backward" divides by n in the inverse, "ortho" by its root in both, "forward" by n in the direct
            transform.

    Example:
        >>> ihfft(_tl.ones(4)).shape
        torch.Size([3])
    """
    return _fft.ihfft(x, n=n, dim=axis, norm=norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of a transform of `n` numbers, `d` apart.

    Args:
        n: the length of the transform.
        d: the distance of samples.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of the elements of `rfft` of `n` numbers, `d` apart.

    Args:
        n: the length of the transform.
        d: the distance of samples.
        dtype: the type of the result; None for the default.
        device: the device of the result; None for the default one.

    Example:
        >>> rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000])
    """
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The elements turned so that the frequency 0 stands in the middle.

    Example:
        >>> fftshift(_tl.arange(4))
        tensor([2, 3, 0, 1])
    """
    return _fft.fftshift(x, dim=axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Example:
        >>> ifftshift(_tl.tensor([2, 3, 0, 1]))
        tensor([0, 1, 2, 3])
    """
    return _fft.ifftshift(x, dim=axes)
