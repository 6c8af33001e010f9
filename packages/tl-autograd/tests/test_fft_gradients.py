"""First and second derivatives of Fourier transforms, against finite differences."""

import pytest

import tl_core as tl
from tl_autograd import gradcheck, gradgradcheck
from tl_core import fft, signal


def drawn(*shape, dtype, seed=0):
    x = tl.randn(*shape, dtype=dtype, generator=tl.Generator().manual_seed(seed))
    return x.requires_grad_()


COMPLEX = {
    "fft": fft.fft,
    "fft padded": lambda x: fft.fft(x, 7, 0),
    "fft trimmed": lambda x: fft.fft(x, 2, norm="ortho"),
    "ifft": lambda x: fft.ifft(x, dim=0),
    "fft2": fft.fft2,
    "ifftn": lambda x: fft.ifftn(x, (3, 5), norm="forward"),
    "irfft": fft.irfft,
    "irfft odd": lambda x: fft.irfft(x, 5, 0),
    "irfft one": lambda x: fft.irfft(x, 1),
    "irfft2": lambda x: fft.irfft2(x, norm="ortho"),
    "hfft": fft.hfft,
    "hfftn": lambda x: fft.hfftn(x, (3, 7)),
}
REAL = {
    "fft": fft.fft,
    "ifft": lambda x: fft.ifft(x, dim=0),
    "fftn": fft.fftn,
    "rfft": fft.rfft,
    "rfft odd": lambda x: fft.rfft(x, 3, 0),
    "rfft one": lambda x: fft.rfft(x, 1),
    "rfft2": lambda x: fft.rfft2(x, norm="ortho"),
    "ihfft": fft.ihfft,
    "ihfftn": lambda x: fft.ihfftn(x, dim=(1, 0)),
    "fftshift": fft.fftshift,
}
WINDOWED = {
    "stft": lambda x, w: tl.stft(x, 8, 3, window=w, return_complex=True),
    "stft batch": lambda x, w: tl.stft(tl.stack([x, 2 * x]), 10, window=w, win_length=8, return_complex=True),
    "stft complex": lambda x, w: tl.stft(x * (1 + 1j), 8, 4, window=w, center=False, normalized=True),
    "istft": lambda x, w: tl.istft(tl.complex(x, x.flip(0)).reshape(5, 4), 8, 3, window=w),
    "istft complex": lambda x, w: tl.istft(
        tl.complex(x, x.flip(0))[:16].reshape(8, 2), 8, 3, window=w, return_complex=True
    ),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_of_complex_numbers(name):
    x = drawn(3, 4, dtype=tl.complex128)
    assert gradcheck(COMPLEX[name], x) and gradgradcheck(COMPLEX[name], x)


@pytest.mark.parametrize("name", REAL)
def test_of_real_numbers(name):
    x = drawn(3, 4, dtype=tl.float64)
    assert gradcheck(REAL[name], x) and gradgradcheck(REAL[name], x)


@pytest.mark.parametrize("name", WINDOWED)
def test_of_short_signals(name):
    x = drawn(20, dtype=tl.float64)
    window = (tl.hann_window(8, dtype=tl.float64) + 0.3).requires_grad_()
    assert gradcheck(WINDOWED[name], (x, window)) and gradgradcheck(WINDOWED[name], (x, window))


def test_the_gradient_of_energy_is_a_multiple_of_the_signal():
    # Parseval: the energy of a spectrum is n times that of the signal.
    x = drawn(30, dtype=tl.float64)
    (fft.fft(x).abs() ** 2).sum().backward()
    assert x.grad.allclose(2 * 30 * x)


def test_windows_and_frequencies_may_require_gradients():
    for result in (fft.fftfreq(3, requires_grad=True), tl.hann_window(3, requires_grad=True),
                 signal.windows.nuttall(5, requires_grad=True)):  # fmt: skip
        assert result.requires_grad and result.is_leaf
