"""Discrete Fourier transforms, for signals of any length over any dimensions, in float32 and float64.

Lengths of prime factors up to 31 are transformed by Stockham's passes, others by Bluestein's convolution.

>>> import tl_core as tl
>>> from tl_core import fft
>>> fft.rfft(tl.ones(4)).abs()
tensor([4., 0., 0.])
"""

from __future__ import annotations

from tl_core import _C

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_OWN = _C._fft
fft, ifft, rfft = _OWN.fft_fft, _OWN.fft_ifft, _OWN.fft_rfft
irfft, hfft, ihfft = _OWN.fft_irfft, _OWN.fft_hfft, _OWN.fft_ihfft
fft2, ifft2, rfft2 = _OWN.fft_fft2, _OWN.fft_ifft2, _OWN.fft_rfft2
irfft2, hfft2, ihfft2 = _OWN.fft_irfft2, _OWN.fft_hfft2, _OWN.fft_ihfft2
fftn, ifftn, rfftn = _OWN.fft_fftn, _OWN.fft_ifftn, _OWN.fft_rfftn
irfftn, hfftn, ihfftn = _OWN.fft_irfftn, _OWN.fft_hfftn, _OWN.fft_ihfftn
fftfreq, rfftfreq = _OWN.fft_fftfreq, _OWN.fft_rfftfreq
fftshift, ifftshift = _OWN.fft_fftshift, _OWN.fft_ifftshift
