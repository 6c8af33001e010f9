"""Fourier transforms: single ones, batches, real signals, several dimensions."""

from __future__ import annotations

from tools.bench.cases import Case, Group

SPECTRA = Group("fft", mean=0.8, each=1.3)

_SINGLE = {
    f"fft of {n}": (f"torch.randn({n}, dtype=torch.complex64)", "torch.fft.fft(a)")
    for n in (64, 256, 1000, 1001, 997, 1024, 4096, 10007, 16384, 65536, 1 << 18, 1 << 20)
}
_BATCHES = {
    f"fft of {rows} x {n}": (f"torch.randn({rows}, {n}, dtype=torch.complex64)", "torch.fft.fft(a)")
    for rows, n in ((1000, 64), (256, 256), (64, 1024), (16, 4096), (100, 1000), (32, 997))
}
_REAL = {
    f"rfft of {n}": (f"torch.randn({n})", "torch.fft.rfft(a)")
    for n in (64, 1000, 1001, 997, 1024, 65536, 1 << 20)
}
_REAL_BATCHES = {
    f"rfft of {rows} x {n}": (f"torch.randn({rows}, {n})", "torch.fft.rfft(a)")
    for rows, n in ((256, 256), (100, 1000), (64, 1001))
}
_BACK = {
    f"irfft of {n}": (f"torch.randn({n // 2 + 1}, dtype=torch.complex64)", f"torch.fft.irfft(a, {n})")
    for n in (1001, 1024, 65536)
}
_GRIDS = {
    "fft2 of 512 x 512": ("torch.randn(512, 512, dtype=torch.complex64)", "torch.fft.fft2(a)"),
    "rfft2 of 512 x 512": ("torch.randn(512, 512)", "torch.fft.rfft2(a)"),
    "fftn of 64 x 64 x 64": ("torch.randn(64, 64, 64, dtype=torch.complex64)", "torch.fft.fftn(a)"),
    "fft of columns, 256 x 256": ("torch.randn(256, 256, dtype=torch.complex64)", "torch.fft.fft(a, dim=0)"),
    "fft of 64 x 1024, double": ("torch.randn(64, 1024, dtype=torch.complex128)", "torch.fft.fft(a)"),
}
_WINDOW = "w = torch.hann_window(400)"
_SHORT = {
    "stft of 160000": (
        f"torch.randn(160000)\n{_WINDOW}",
        "torch.stft(a, 400, 160, window=w, return_complex=True)",
    ),
    "istft of 160000": (
        f"torch.randn(201, 1001, dtype=torch.complex64)\n{_WINDOW}",
        "torch.istft(a, 400, 160, window=w)",
    ),
}

CASES = [
    Case(SPECTRA, name, f"a = {make}", run)
    for table in (_SINGLE, _BATCHES, _REAL, _REAL_BATCHES, _BACK, _GRIDS, _SHORT)
    for name, (make, run) in table.items()
]
