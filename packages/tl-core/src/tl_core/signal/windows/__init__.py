"""Window functions: tapers that are 1 in the middle and fall to both sides.

They are symmetric, as filters need them; with `sym=False` they are periodic, as spectra do: one number more, without
the last. All are computed in double precision and rounded once.

>>> from tl_core.signal import windows
>>> windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from tl_core.signal.windows.windows import (
    bartlett,
    blackman,
    cosine,
    exponential,
    gaussian,
    general_cosine,
    general_hamming,
    hamming,
    hann,
    kaiser,
    nuttall,
)

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
