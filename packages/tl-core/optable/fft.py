"""Fourier transforms: the namespace `fft`, over three private operators."""

from opgen.row import Composite, Op

_NORM = (
    'what is scaled: "backward" (or None) the inverse by 1/n, "forward" the other, "ortho" both by 1/sqrt(n)'
)
_ONE = {
    "n": "how many numbers are transformed: zeros are added, or numbers left out; None: all",
    "norm": _NORM,
}
_MANY = {
    "s": "how many numbers are transformed along each dimension, -1 for all; None: all",
    "dim": "the dimensions; None: all, or as many of the last as `s` has sizes",
    "norm": _NORM,
}
_FREQUENCIES = {"n": "the length of the signal", "d": "the distance between its numbers"}


def _private(signature, **fields):
    """What the namespace is made of; normalization: 0 none, 1 by the root of the length, 2 by the length."""
    return Op(signature, method=False, jvp="linear", batch="dims", **fields)


def _derived(signature, **fields):
    """A private composite: a gradient."""
    return Composite(signature, function=False, method=False, **fields)


def _named(signature, **fields):
    """A function of the module `fft`."""
    return Composite(signature, out=True, method=False, namespace="_fft", **fields)


_FRAMES = {
    "n_fft": "the length of each piece and of its spectrum",
    "hop_length": "from the begin of a piece to that of the next; None: n_fft // 4",
    "win_length": "the length of the window, in the middle of the piece; None: n_fft",
    "window": "what the numbers of each piece are multiplied by; None: ones",
    "center": "whether half a piece is added at both ends, so that pieces are centred at its numbers",
    "normalized": "whether spectra are divided by the root of n_fft",
    "return_complex": "whether the result is complex",
}
_STFT = _FRAMES | {
    "pad_mode": "how these are filled: reflect, constant, replicate or circular",
    "onesided": "whether only n_fft // 2 + 1 frequencies are returned; None: for real numbers",
    "align_to_window": "without center, whether pieces begin where their windows do",
}
_ISTFT = _FRAMES | {
    "onesided": "whether n_fft // 2 + 1 frequencies are given; None: unless n_fft are",
    "length": "of the signal; None: what the pieces tell for sure",
}

ROWS = [
    _private(
        "_fft_c2c(Tensor self, int[] dim, int normalization, bool forward) -> Tensor", shape="self.shape",
        grad={"self": "_fft_c2c(g, dim, normalization, not forward)"},
        doc="The transforms of complex signals over dimensions.",
    ),
    _private(
        "_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
        shape="resize(self.shape, dim[-1], self.shape[dim[-1]] // 2 + 1) if onesided else self.shape",
        grad={"self": "_fft_r2c_backward(g, dim, normalization, onesided, self.size(dim[len(dim) - 1]))"},
        doc="The transforms of real signals: half of the last dimension, or all of it.",
    ),
    _derived(
        (
            "_fft_r2c_backward(Tensor grad, int[] dim, int normalization, bool onesided, int last_dim_size) "
            "-> Tensor"
        ),
        shape="resize(grad.shape, dim[-1], last_dim_size)",
        doc="The gradient of _fft_r2c.",
    ),
    _private(
        "_fft_c2r(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
        shape="resize(self.shape, dim[-1], last_dim_size)",
        grad={"self": "_fft_c2r_backward(g, dim, normalization, self.size(dim[len(dim) - 1]))"},
        doc=(
            "The inverse transforms of half spectra: real signals of the size given along the last dimension."
        ),
    ),
    _derived(
        "_fft_c2r_backward(Tensor grad, int[] dim, int normalization, int last_dim_size) -> Tensor",
        shape="resize(grad.shape, dim[-1], last_dim_size)",
        doc="The gradient of _fft_c2r.",
    ),
    _named(
        "fft_fft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, self.shape[dim] if n is None else n)",
        autocast="float32",
        doc="The discrete Fourier transform of signals along a dimension.",
        about=_ONE,
        example=">>> tl.fft.fft(tl.tensor([1.0, 0.0]))\ntensor([1.+0.j, 1.+0.j])",
    ),
    _named(
        "fft_ifft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, self.shape[dim] if n is None else n)",
        autocast="float32",
        doc="The inverse of fft.",
        about=_ONE,
        example=">>> tl.fft.ifft(tl.tensor([2.0, 0.0]))\ntensor([1.+0.j, 1.+0.j])",
    ),
    _named(
        "fft_rfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, (self.shape[dim] if n is None else n) // 2 + 1)",
        autocast="float32",
        doc=(
            "The first n / 2 + 1 numbers of the Fourier transform of real signals along a dimension; the "
            "others are their conjugates."
        ),
        about=_ONE,
        example=">>> tl.fft.rfft(tl.ones(4))\ntensor([4.+0.j, 0.+0.j, 0.+0.j])",
    ),
    _named(
        "fft_irfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, 2 * (self.shape[dim] - 1) if n is None else n)",
        autocast="float32",
        doc="The inverse of rfft: real signals from half a spectrum.",
        about=_ONE,
        example=">>> tl.fft.irfft(tl.tensor([4.0, 0.0, 0.0]))\ntensor([1., 1., 1., 1.])",
    ),
    _named(
        "fft_hfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, 2 * (self.shape[dim] - 1) if n is None else n)",
        autocast="float32",
        doc=(
            "The Fourier transform of signals whose second half, left out, is the conjugate of the first: "
            "real numbers."
        ),
        about=_ONE,
        example=">>> tl.fft.hfft(tl.tensor([1.0, 0.0, 0.0]))\ntensor([1., 1., 1., 1.])",
    ),
    _named(
        "fft_ihfft(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
        shape="resize(self.shape, dim, (self.shape[dim] if n is None else n) // 2 + 1)",
        autocast="float32",
        doc="The inverse of hfft: half a spectrum from real signals.",
        about=_ONE,
        example=">>> tl.fft.ihfft(tl.ones(4)).abs()\ntensor([1., 0., 0.])",
    ),
    _named(
        "fft_fft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim)",
        autocast="float32",
        doc="As fftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.fft2(tl.ones(4, 4)).shape\ntorch.Size([4, 4])",
    ),
    _named(
        "fft_ifft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim)",
        autocast="float32",
        doc="As ifftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.ifft2(tl.ones(4, 4)).shape\ntorch.Size([4, 4])",
    ),
    _named(
        "fft_rfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'half')",
        autocast="float32",
        doc="As rfftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.rfft2(tl.ones(4, 4)).shape\ntorch.Size([4, 3])",
    ),
    _named(
        "fft_irfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'whole')",
        autocast="float32",
        doc="As irfftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.irfft2(tl.ones(4, 4)).shape\ntorch.Size([4, 6])",
    ),
    _named(
        "fft_hfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'whole')",
        doc="As hfftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.hfft2(tl.ones(4, 4)).shape\ntorch.Size([4, 6])",
    ),
    _named(
        "fft_ihfft2(Tensor self, int[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'half')",
        doc="As ihfftn, by default over the last two dimensions.",
        about=_MANY,
        example=">>> tl.fft.ihfft2(tl.ones(4, 4)).shape\ntorch.Size([4, 3])",
    ),
    _named(
        "fft_fftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim)",
        autocast="float32",
        doc="The discrete Fourier transform over several dimensions.",
        about=_MANY,
        example=">>> tl.fft.fftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 4])",
    ),
    _named(
        "fft_ifftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim)",
        autocast="float32",
        doc="The inverse of fftn.",
        about=_MANY,
        example=">>> tl.fft.ifftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 4])",
    ),
    _named(
        "fft_rfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'half')",
        autocast="float32",
        doc=(
            "Half of the Fourier transform of real signals over several dimensions: n / 2 + 1 numbers along "
            "the last."
        ),
        about=_MANY,
        example=">>> tl.fft.rfftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 3])",
    ),
    _named(
        "fft_irfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'whole')",
        autocast="float32",
        doc="The inverse of rfftn.",
        about=_MANY,
        example=">>> tl.fft.irfftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 6])",
    ),
    _named(
        "fft_hfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'whole')",
        doc=(
            "The Fourier transform over several dimensions of signals that are Hermitian along the last: "
            "real numbers."
        ),
        about=_MANY,
        example=">>> tl.fft.hfftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 6])",
    ),
    _named(
        "fft_ihfftn(Tensor self, int[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
        shape="fourier(self.shape, s, dim, 'half')",
        doc="The inverse of hfftn.",
        about=_MANY,
        example=">>> tl.fft.ihfftn(tl.ones(2, 4, 4)).shape\ntorch.Size([2, 4, 3])",
    ),
    _named(
        (
            "fft_fftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? "
            "device=None, bool? pin_memory=None) -> Tensor"
        ),
        shape="[n]",
        doc=(
            "The frequencies of the numbers that fft gives, in cycles for each unit of distance; negative "
            "ones come last."
        ),
        about=_FREQUENCIES,
        example=">>> tl.fft.fftfreq(4)\ntensor([ 0.0000,  0.2500, -0.5000, -0.2500])",
    ),
    _named(
        (
            "fft_rfftfreq(int n, float d=1.0, *, ScalarType? dtype=None, Layout? layout=None, Device? "
            "device=None, bool? pin_memory=None) -> Tensor"
        ),
        shape="[n // 2 + 1]",
        doc="The frequencies of the numbers that rfft gives, in cycles for each unit of distance.",
        about=_FREQUENCIES,
        example=">>> tl.fft.rfftfreq(4)\ntensor([0.0000, 0.2500, 0.5000])",
    ),
    Composite(
        "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", shape="self.shape",
        method=False, namespace="_fft",
        doc="Moves the number of frequency zero to the middle of each dimension, by default of all.",
        example=">>> tl.fft.fftshift(tl.arange(4))\ntensor([2, 3, 0, 1])",
    ),
    Composite(
        "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", shape="self.shape",
        method=False, namespace="_fft",
        doc="The inverse of fftshift.",
        example=">>> tl.fft.ifftshift(tl.tensor([2, 3, 0, 1]))\ntensor([0, 1, 2, 3])",
    ),
    Composite(
        (
            "stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? "
            "window=None, bool center=True, str pad_mode='reflect', bool normalized=False, bool? "
            "onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"
        ),
        shape="spectra(self, n_fft, hop_length, window, center, pad_mode, onesided, return_complex)",
        autocast="float32",
        doc=(
            "The short-time Fourier transform: spectra of overlapping pieces of a signal, each multiplied by "
            "a window. The result is [..., frequency, time]."
        ),
        about=_STFT,
        example=(
            ">>> tone = tl.arange(16.0).mul(tl.pi / 2).cos()\n>>> tl.stft(tone, 8, 8, window=tl.ones(8), "
            "center=False, return_complex=True).abs().round()\ntensor([[0., 0.],\n        [0., 0.],\n        "
            "[4., 4.],\n        [0., 0.],\n        [0., 0.]])"
        ),
    ),
    Composite(
        (
            "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
            "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool "
            "return_complex=False) -> Tensor"
        ),
        shape="signal(self.shape, n_fft, hop_length, center, length)",
        doc=(
            "The signal whose short-time Fourier transform is nearest to the given spectra (Griffin and Lim, "
            "Signal estimation from modified short-time Fourier transform, 1984)."
        ),
        about=_ISTFT,
        example=(
            ">>> signal, window = tl.arange(12.0), tl.hann_window(8)\n>>> spectra = tl.stft(signal, 8, 2, "
            "window=window, return_complex=True)\n>>> tl.istft(spectra, 8, 2, "
            "window=window).allclose(signal, atol=1e-5)\nTrue"
        ),
    ),
]  # fmt: skip
