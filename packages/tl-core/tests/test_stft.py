"""Short-time Fourier transforms against frames that numpy transforms, and windows against scipy's."""

import warnings

import pytest

import tl_core as tl
from tl_core import signal as tl_signal

np = pytest.importorskip("numpy", reason="the references are numpy's")
import scipy.signal  # noqa: E402
import scipy.signal.windows  # noqa: E402

RNG = np.random.default_rng(1)
X = RNG.standard_normal((3, 50))
PAD = {"reflect": "reflect", "constant": "constant", "replicate": "edge", "circular": "wrap"}


def reference(x, n_fft, hop, window, center, pad_mode, normalized, onesided):
    """The definition: windowed frames, transformed one by one."""
    if center:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)], mode=PAD[pad_mode])
    left = (n_fft - len(window)) // 2
    w = np.pad(window, (left, n_fft - len(window) - left))
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    frames = np.stack([x[..., s : s + n_fft] * w for s in starts], -2)
    spectra = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    return np.swapaxes(spectra, -1, -2) / (np.sqrt(n_fft) if normalized else 1)


@pytest.mark.parametrize("pad_mode", PAD)
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(("n_fft", "hop", "win"), [(8, 2, 8), (9, 4, 5), (16, 16, 3), (12, 5, 12), (1, 1, 1)])
@pytest.mark.parametrize("normalized", [True, False])
def test_stft_is_the_transform_of_each_frame(pad_mode, center, n_fft, hop, win, normalized):
    window = scipy.signal.windows.hann(win, sym=False) + 0.1
    for x in (X, X[0]):
        for onesided in (True, False):
            result = tl.stft(
                tl.from_numpy(x),
                n_fft,
                hop,
                win,
                tl.from_numpy(window),
                center,
                pad_mode,
                normalized,
                onesided,
                True,
            )
            expected = reference(x, n_fft, hop, window, center, pad_mode, normalized, onesided)
            assert result.shape == expected.shape
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_complex_signals_and_windows_have_whole_spectra():
    w = scipy.signal.windows.hann(8) + 0.2j
    z = X[0] + 1j * X[1]
    for x, window in ((z, w.real.copy()), (X[0], w), (z, w)):
        result = tl.stft(tl.from_numpy(x), 8, 3, window=tl.from_numpy(window))
        np.testing.assert_allclose(
            result.numpy(), reference(x, 8, 3, window, True, "reflect", False, False), rtol=1e-12, atol=1e-12
        )
        with pytest.raises(RuntimeError, match="Cannot have onesided output if window or input is complex"):
            tl.stft(tl.from_numpy(x), 8, 3, window=tl.from_numpy(window), onesided=True)


def test_defaults_and_pairs_of_real_numbers():
    x, window = tl.from_numpy(X), tl.hann_window(8, dtype=tl.float64)
    full = tl.stft(x, 8, window=window, return_complex=True)
    assert full.equal(x.stft(8, 2, 8, window, True, "reflect", False, True, True))
    assert full.shape == (3, 5, 26)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        assert tl.stft(x, 8, window=window, return_complex=False).equal(tl.view_as_real(full))
    with pytest.raises(RuntimeError, match="requires the return_complex parameter"):
        tl.stft(x, 8, window=window)
    with pytest.warns(UserWarning, match="window was not provided"):
        plain = tl.stft(x, 8, return_complex=True)
    assert plain.equal(tl.stft(x, 8, window=tl.ones(8, dtype=tl.float64), return_complex=True))


def test_frames_that_begin_where_their_windows_do():
    window = tl.hann_window(7, dtype=tl.float64)
    padded = tl.from_numpy(np.pad(X, [(0, 0), (2, 3)]))
    result = tl.stft(
        tl.from_numpy(X), 12, 3, 7, window, center=False, return_complex=True, align_to_window=True
    )
    assert result.equal(tl.stft(padded, 12, 3, 7, window, center=False, return_complex=True))
    with pytest.raises(RuntimeError, match="align_to_window should only be set when center = false"):
        tl.stft(tl.from_numpy(X), 12, 3, 7, window, return_complex=True, align_to_window=True)


W8 = tl.hann_window(8)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n_fft": 0}, "n_fft=0"),
        ({"hop_length": 0}, "expected hop_length > 0, but got hop_length=0"),
        ({"win_length": 9}, "expected 0 < win_length <= n_fft, but got win_length=9"),
        (
            {"win_length": 4},
            "1D window tensor of size equal to win_length=4, but got window with size \\[8\\]",
        ),
        ({"window": tl.ones(2, 4)}, "1D window tensor"),
        ({"x": tl.zeros(2, 2, 20)}, "expected a 1D or 2D tensor, but got 3D"),
        ({"x": tl.zeros(20, dtype=tl.int64)}, "floating point or complex"),
        ({"x": tl.zeros(7), "center": False}, "expected 0 < n_fft <= 7"),
        ({"x": tl.zeros(3)}, "[Pp]adding"),
        ({"window": tl.ones(8, device="meta")}, "stft input and window must be on the same device"),
    ],
)
def test_stft_refuses(keywords, message):
    arguments = {"n_fft": 8, "window": W8, "return_complex": True} | keywords
    with pytest.raises(RuntimeError, match=message):
        tl.stft(arguments.pop("x", tl.zeros(20)), **arguments)
    with pytest.raises(NotImplementedError, match="mode"):
        tl.stft(tl.zeros(20), 8, window=W8, pad_mode="mirror", return_complex=True)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize(("n_fft", "hop", "win"), [(8, 2, 8), (9, 2, 5), (16, 3, 16), (4, 4, 4)])
def test_istft_restores_the_signal(center, normalized, n_fft, hop, win):
    window = tl.hamming_window(win, dtype=tl.float64)
    for x in (tl.from_numpy(X), tl.from_numpy(X[0]), tl.from_numpy(X + 1j * X[::-1])):
        if not center and win < n_fft:  # the ends are in no window
            continue
        spectra = tl.stft(x, n_fft, hop, win, window, center, "reflect", normalized, return_complex=True)
        back = tl.istft(spectra, n_fft, hop, win, window, center, normalized, return_complex=x.is_complex())
        n = back.shape[-1]  # frames may leave the end of the signal out
        assert n == (n_fft % 2 if center else n_fft) + hop * (spectra.shape[-1] - 1)
        assert back.allclose(x[..., :n], rtol=1e-10, atol=1e-11)


def test_istft_is_the_least_squares_estimate():
    # Of spectra that no signal has: the sum of windowed frames over the sum of squared windows.
    spectra = RNG.standard_normal((5, 6)) + 1j * RNG.standard_normal((5, 6))
    w = scipy.signal.windows.hann(8, sym=False) + 0.05
    frames = np.fft.irfft(spectra.T) * w
    total, envelope = np.zeros(8 + 3 * 5), np.zeros(8 + 3 * 5)
    for i in range(6):
        total[3 * i : 3 * i + 8] += frames[i]
        envelope[3 * i : 3 * i + 8] += w**2
    result = tl.istft(tl.from_numpy(spectra), 8, 3, window=tl.from_numpy(w), center=False)
    np.testing.assert_allclose(result.numpy(), total / envelope, rtol=1e-12, atol=1e-12)


def test_the_length_of_a_restored_signal():
    x, window = tl.from_numpy(X[0]), tl.hann_window(8, dtype=tl.float64)
    spectra = tl.stft(x, 8, 2, window=window, return_complex=True)
    assert tl.istft(spectra, 8, 2, window=window, length=20).allclose(x[:20])
    with pytest.warns(UserWarning, match="ends with zeros"):
        longer = tl.istft(spectra, 8, 2, window=window, length=70)
    assert longer.shape == (70,) and longer[54:].eq(0).all() and longer[:50].allclose(x)


SPECTRA = tl.stft(tl.arange(30.0), 8, 2, window=W8, return_complex=True)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"x": SPECTRA.real}, "requires a complex-valued input tensor"),
        ({"x": SPECTRA[0]}, "2 or 3 dimensions"),
        ({"x": SPECTRA[:, :0]}, "cannot be empty"),
        ({"n_fft": 10, "window": tl.ones(10)}, "n_fft / 2 \\+ 1 when onesided=True, but got 5"),
        ({"onesided": False}, "n_fft when onesided=False, but got 5"),
        ({"hop_length": 0}, "0 < hop_length <= win_length"),
        ({"hop_length": 9}, "0 < hop_length <= win_length"),
        ({"win_length": 4}, "size equal to win_length=4"),
        ({"window": tl.zeros(8)}, "window overlap add min"),
        ({"center": False, "window": W8}, "window overlap add min"),
        ({"window": W8 + 0j}, "Complex windows are incompatible with return_complex=False"),
        ({"onesided": True, "return_complex": True}, "Cannot have onesided output"),
        ({"length": 0}, "expected length > 0, but got length=0"),
        ({"window": tl.ones(8, device="meta")}, "istft input and window must be on the same device"),
    ],
)
def test_istft_refuses(keywords, message):
    arguments = {"n_fft": 8, "window": W8} | keywords
    with pytest.raises(RuntimeError, match=message):
        tl.istft(arguments.pop("x", SPECTRA), **arguments)


def test_stft_on_the_meta_device():
    spectra = tl.stft(
        tl.empty(2, 50, device="meta"), 8, 2, window=tl.empty(8, device="meta"), return_complex=True
    )
    assert spectra.shape == (2, 5, 26) and spectra.is_meta
    assert tl.istft(spectra, 8, 2, window=tl.empty(8, device="meta")).shape == (2, 50)


# ---- windows
PERIODIC = {
    "hann_window": ("hann", [()]),
    "hamming_window": ("hamming", [()]),
    "blackman_window": ("blackman", [()]),
    "bartlett_window": ("bartlett", [()]),
    "kaiser_window": ("kaiser", [(0.0,), (3.5,), (100.0,)]),
}


@pytest.mark.parametrize("name", PERIODIC)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7, 64, 101, 5000])
def test_windows_as_scipy(name, n):
    scipys, cases = PERIODIC[name]
    for parameters in cases:
        for periodic in (True, False):
            result = getattr(tl, name)(n, periodic, *parameters, dtype=tl.float64)
            expected = getattr(scipy.signal.windows, scipys)(n, *parameters, sym=not periodic)
            np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-15)
            single = getattr(tl, name)(n, periodic, *parameters)
            assert single.dtype == tl.float32 and single.equal(result.float())


def test_windows_have_defaults_and_options():
    assert tl.hann_window(5).equal(tl.hann_window(5, True)) and tl.kaiser_window(5).equal(
        tl.kaiser_window(5, True, 12.0)
    )
    assert tl.hamming_window(6, True).allclose(tl.hamming_window(6, True, 0.54, 0.46))
    assert tl.hamming_window(6, False, 0.5, 0.5).allclose(tl.hann_window(6, False))
    assert tl.kaiser_window(4, False, beta=2).dtype == tl.float32
    assert tl.hann_window(3, dtype=tl.float16).dtype == tl.float16
    assert tl.hann_window(3, device="meta").is_meta
    for call, message in (
        (lambda: tl.hann_window(-1), "hann_window requires non-negative window_length, got window_length=-1"),
        (lambda: tl.bartlett_window(3, dtype=tl.int64), "expects floating point dtypes, got: int64"),
        (lambda: tl.kaiser_window(3, layout=tl.sparse_coo), "not implemented for sparse types"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(TypeError):
        tl.hann_window(2.5)


def test_long_windows_are_symmetric_to_the_bit():
    for n in (999, 1000):
        for w in (tl.hann_window(n, False), tl.kaiser_window(n, False, 9.0), tl.blackman_window(n, False)):
            assert w.equal(w.flip(0))


SIGNAL = {
    "bartlett": {}, "blackman": {}, "cosine": {}, "exponential": {"tau": 3.0}, "gaussian": {"std": 2.5},
    "general_cosine": {"a": [0.3, 0.5, 0.2, -0.1]}, "general_hamming": {"alpha": 0.7}, "hamming": {}, "hann": {},
    "kaiser": {"beta": 5.0}, "nuttall": {},
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNAL)
@pytest.mark.parametrize("M", [0, 1, 2, 3, 10, 11, 257])
@pytest.mark.parametrize("sym", [True, False])
def test_signal_windows_as_scipy(name, M, sym):
    result = getattr(tl_signal.windows, name)(M, sym=sym, dtype=tl.float64, **SIGNAL[name])
    expected = getattr(scipy.signal.windows, name)(M, sym=sym, **SIGNAL[name])
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-15)


def test_exponential_windows_with_a_centre():
    result = tl_signal.windows.exponential(6, center=1.5, tau=2.0, sym=False, dtype=tl.float64)
    np.testing.assert_allclose(
        result.numpy(), scipy.signal.windows.exponential(6, 1.5, 2.0, False), rtol=1e-14
    )


W = tl_signal.windows


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: W.hann(-1), ValueError, "hann requires non-negative window length, got M=-1"),
        (
            lambda: W.hann(3, dtype=tl.float16),
            ValueError,
            "expects float32 or float64 dtypes, got: tl.float16|torch.float16",
        ),
        (lambda: W.hann(3, layout=tl.sparse_coo), ValueError, "implemented for strided tensors only"),
        (lambda: W.gaussian(3, std=0), ValueError, "Standard deviation must be positive, got: 0"),
        (lambda: W.exponential(3, tau=-1), ValueError, "Tau must be positive, got: -1"),
        (lambda: W.exponential(3, center=1), ValueError, "Center must be None for symmetric windows"),
        (lambda: W.kaiser(3, beta=-1), ValueError, "beta must be non-negative, got: -1"),
        (lambda: W.general_cosine(3, a=None), TypeError, "Coefficients must be a list/tuple"),
        (lambda: W.general_cosine(3, a=[]), ValueError, "Coefficients cannot be empty"),
        (lambda: tl._C._window("round", 3, True, []), RuntimeError, "unknown shape round"),
        (lambda: tl._C._window("kaiser", 3, True, []), RuntimeError, "does not have 0 parameters"),
    ],
)
def test_windows_refuse(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_signal_windows_take_options():
    assert W.nuttall(5).dtype == tl.float32
    assert W.hann(3, device="meta").is_meta and W.hann(0).shape == (0,)


def test_no_window_warns_but_a_given_one_does_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.stft(tl.arange(20.0), 8, window=W8, return_complex=True)
