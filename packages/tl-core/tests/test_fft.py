"""Fourier transforms against numpy's and scipy's, in every length, layout and norm, and their refusals."""

import math
import os
import subprocess
import sys
import threading

import pytest

import tl_core as tl
from tl_core import fft

np = pytest.importorskip("numpy", reason="the references are numpy's")
import scipy.fft  # noqa: E402

NORMS = (None, "backward", "ortho", "forward")
DOUBLE = {tl.complex64: np.complex128, tl.complex128: np.clongdouble}


def signal(*shape, dtype=np.complex128, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def error(got, expected):
    """The root of the mean square error, in units of the element type's rounding, relative to the result."""
    got = got.numpy()
    eps = np.finfo(got.dtype).eps
    difference = got.astype(np.clongdouble) - expected
    return float(np.sqrt(np.mean(np.abs(difference) ** 2) / np.mean(np.abs(expected) ** 2)) / eps)


LENGTHS = [
    *range(1, 70), 81, 100, 121, 125, 127, 128, 131, 169, 210, 243, 256, 289, 343, 360, 480, 487, 512, 625, 719,
    768, 800, 997, 1000, 1001, 1024, 1331, 2048, 2187, 3125, 4093, 4096, 4199, 8191, 10007, 16384, 30030, 46341, 65536,
]  # fmt: skip


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_errors_grow_as_the_logarithm_of_the_length(n, dtype):
    # Higham, Accuracy and Stability of Numerical Algorithms, 24.1; scipy computes long double.
    bound = 1.5 * (1 + math.log2(n))
    for batch in (1, 5) if n < 5000 else (1,):
        x = signal(batch, n, dtype=dtype)
        exact = scipy.fft.fft(x.astype(np.clongdouble))
        assert error(fft.fft(tl.from_numpy(x)), exact) < bound
        assert error(fft.ifft(tl.from_numpy(exact.astype(dtype))), x) < bound
        half = scipy.fft.rfft(x.real.astype(np.longdouble))
        assert error(fft.rfft(tl.from_numpy(np.ascontiguousarray(x.real))), half) < bound
        assert error(fft.irfft(tl.from_numpy(half.astype(dtype)), n), x.real) < bound


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15, 17, 34, 60, 64, 96, 101, 128, 200, 202, 256, 1001, 4096, 6000])
def test_batches_and_layouts(n):
    # Lanes of a vector never mix: alone or among others, a signal has the same spectrum.
    x = signal(19, n)
    together = fft.fft(tl.from_numpy(x))
    for i in (0, 7, 18):
        if not 64 <= n < 128:  # there, a single signal is computed in another order
            assert together[i].equal(fft.fft(tl.from_numpy(x[i].copy())))
    columns = tl.from_numpy(np.ascontiguousarray(x.T))
    assert fft.fft(columns, dim=0).T.allclose(together, rtol=1e-12, atol=1e-11)
    strided = tl.zeros(19, 2 * n + 1, dtype=tl.complex128)[:, 1::2]
    strided.copy_(tl.from_numpy(x))
    assert fft.fft(strided).allclose(together, rtol=1e-12, atol=1e-11)
    flipped = tl.from_numpy(x).conj()
    assert fft.ifft(flipped, norm="forward").conj().allclose(together, rtol=1e-12, atol=1e-11)


ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = [f"{name}2" for name in ONE]
MANY = [f"{name}n" for name in ONE]
REAL_INPUT = ("rfft", "ihfft")


def input_of(name, *shape, dtype=np.float64):
    kind = dtype if name.startswith(REAL_INPUT) else np.result_type(dtype, np.complex64)
    return signal(*shape, dtype=kind)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_dimension_as_scipy(name, norm):
    x = input_of(name, 3, 6, 5)
    for n in (None, 1, 4, 5, 6, 9, 40):
        for dim in (-1, 0, 1):
            result = getattr(fft, name)(tl.from_numpy(x), n, dim, norm)
            expected = getattr(scipy.fft, name)(x, n, dim, norm)
            np.testing.assert_allclose(result.resolve_conj().numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", [*TWO, *MANY])
def test_several_dimensions_as_scipy(name, norm):
    x = input_of(name, 3, 6, 5)
    sizes = [(None, (0, 1)), (None, (2, 0)), ((4, 7), (-2, -1)), ((2, 9), (1, 0)), ((3, -1), (1, 2))]
    if name in MANY:
        sizes += [(None, None), ((4,), None), ((4, 7, 2), None), ((4, 5), (2, 0)), (None, (1,))]
    for s, dim in sizes:
        choice = (
            None
            if s is None
            else tuple(x.shape[d] if n == -1 else n for n, d in zip(s, dim or (), strict=False))
        )
        if s and dim is None:
            choice = s
        if s and -1 in s and name.startswith(("irfft", "hfft")):
            choice = (choice[0], 2 * (x.shape[dim[1]] - 1))
        result = getattr(fft, name)(tl.from_numpy(x), s=s, dim=dim, norm=norm)
        expected = getattr(scipy.fft, name)(x, choice, dim, norm)
        np.testing.assert_allclose(result.resolve_conj().numpy(), expected, rtol=1e-12, atol=1e-12)


def test_two_dimensions_are_the_last_ones_by_default():
    x = tl.from_numpy(signal(2, 4, 6))
    assert fft.fft2(x).equal(fft.fftn(x, dim=(1, 2)))
    assert fft.ifft2(x, (3, 3)).equal(fft.ifftn(x, (3, 3), (1, 2)))


@pytest.mark.parametrize("shape", [(64, 48), (96, 100), (8, 6, 10), (33, 65), (4, 2, 3, 5)])
def test_larger_grids(shape):
    x = signal(*shape)
    np.testing.assert_allclose(fft.fftn(tl.from_numpy(x)).numpy(), scipy.fft.fftn(x), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(
        fft.rfftn(tl.from_numpy(x.real.copy())).numpy(), scipy.fft.rfftn(x.real), rtol=1e-11, atol=1e-10
    )
    half = scipy.fft.rfftn(x.real)
    back = fft.irfftn(tl.from_numpy(half), shape)
    np.testing.assert_allclose(back.numpy(), x.real, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", [tl.bool, tl.uint8, tl.int8, tl.int32, tl.int64])
def test_integers_become_the_default_float(dtype):
    x = tl.tensor([1, 0, 2, 3], dtype=dtype)
    assert fft.fft(x).dtype == tl.complex64 and fft.irfft(x).dtype == tl.float32
    np.testing.assert_allclose(fft.fft(x).numpy(), np.fft.fft(x.numpy()), rtol=1e-6)
    assert fft.rfft(x).dtype == tl.complex64


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16, tl.complex32])
def test_halves_are_refused(dtype):
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        fft.fft(tl.zeros(4, dtype=dtype))


def test_real_input_has_a_whole_spectrum_that_mirrors_itself():
    for n in (1, 2, 7, 8, 100, 997):
        x = signal(3, n, dtype=np.float64)
        result = fft.fft(tl.from_numpy(x))
        np.testing.assert_allclose(result.numpy(), np.fft.fft(x), rtol=1e-11, atol=1e-11)
        mirrored = tl.cat([result[:, :1], result[:, 1:].flip(1)], 1)
        assert mirrored.conj().equal(result)
        np.testing.assert_allclose(
            fft.ifft(tl.from_numpy(x)).resolve_conj().numpy(), np.fft.ifft(x), rtol=1e-11, atol=1e-11
        )


def test_imaginary_parts_that_a_real_signal_cannot_have_count_as_zero():
    for n in (6, 7, 34, 202):
        half = signal(n // 2 + 1)
        clean = half.copy()
        clean[0] = clean[0].real
        if n % 2 == 0:
            clean[-1] = clean[-1].real
        np.testing.assert_allclose(
            fft.irfft(tl.from_numpy(half), n).numpy(), np.fft.irfft(clean, n), rtol=1e-12, atol=1e-12
        )


def test_only_inverses_along_one_dimension_are_conjugated_lazily():
    x = tl.ones(3, 4)
    assert fft.ifft(x).is_conj() and fft.ihfft(x).is_conj()
    assert not fft.ifftn(x, dim=(1,)).is_conj() and not fft.ihfftn(x).is_conj()


def test_outputs():
    x = tl.from_numpy(signal(3, 8, dtype=np.complex64))
    out = tl.empty(0, dtype=tl.complex64)
    assert fft.fft(x, out=out) is out and out.equal(fft.fft(x))
    x_real = x.real.contiguous()
    out = tl.empty(3, 5, dtype=tl.complex64)
    assert (
        fft.ihfft(x_real, out=out) is out
        and not out.is_conj()
        and out.equal(fft.ihfft(x_real).resolve_conj())
    )
    wide = tl.empty(8, 3, dtype=tl.complex128).T
    assert fft.ifft2(x, out=wide) is wide and wide.to(tl.complex64).equal(fft.ifft2(x))
    with pytest.raises(RuntimeError, match="Float"):
        fft.fft(x, out=tl.empty(3, 8))


def test_results_lie_as_their_inputs_do():
    # The transformed dimensions are the fastest in memory, the others keep their order.
    x = tl.from_numpy(signal(4, 5, 6))
    assert fft.fft(x, dim=1).stride() == (30, 1, 5)
    assert fft.fftn(x, dim=(0, 1)).stride() == (5, 1, 20)
    assert fft.rfft(x.real, dim=0).stride() == (1, 18, 3)
    assert fft.irfft(x, dim=-1).stride() == (50, 10, 1)


def test_the_meta_device_computes_shapes():
    x = tl.empty(3, 8, device="meta")
    assert fft.fft(x).shape == (3, 8) and fft.fft(x).dtype == tl.complex64
    assert fft.rfft2(x).shape == (3, 5) and fft.irfftn(x, (4, -1)).shape == (4, 14)
    assert fft.fft(x, dim=0).stride() == fft.fft(tl.zeros(3, 8), dim=0).stride()


def test_nothing_to_transform():
    assert fft.fft(tl.zeros(0, 4)).shape == (0, 4)
    assert fft.rfft(tl.zeros(4, 0), dim=0).shape == (3, 0)
    assert fft.irfft(tl.zeros(0, 4)).shape == (0, 6)
    assert fft.fftn(tl.tensor(2.0)).equal(tl.tensor(2 + 0j))
    x = tl.tensor([1.0, 2.0])
    assert fft.fftn(x, dim=()).equal(tl.tensor([1 + 0j, 2 + 0j]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: fft.fft(x, n=0), RuntimeError, "Invalid number of data points \\(0\\)"),
        (lambda x: fft.irfft(x[:, :1]), RuntimeError, "Invalid number of data points \\(0\\)"),
        (lambda x: fft.fft(x[:, :0]), RuntimeError, "Invalid number of data points \\(0\\)"),
        (
            lambda x: tl.ops.aten._fft_r2c(x[:, :0], [1], 0, True),
            RuntimeError,
            "at least 1 element along dimension 1, got 0",
        ),
        (lambda x: fft.fft(x, dim=2), IndexError, "Dimension out of range"),
        (lambda x: fft.fft(x[0, 0]), IndexError, "no dimensions"),
        (lambda x: fft.rfft(x + 1j), RuntimeError, "rfft expects a real input tensor, but got ComplexFloat"),
        (lambda x: fft.ihfftn(x + 1j), RuntimeError, "ihfftn expects a real-valued input tensor"),
        (lambda x: fft.fft(x, norm="unit"), RuntimeError, 'Invalid normalization mode: "unit"'),
        (
            lambda x: fft.fftn(x, s=(1, 2, 3)),
            RuntimeError,
            "Got shape with 3 values but input tensor only has 2",
        ),
        (
            lambda x: fft.fftn(x, s=(1,), dim=(0, 1)),
            RuntimeError,
            "dim and shape arguments must have the same length",
        ),
        (lambda x: fft.fftn(x, dim=(0, -2)), RuntimeError, "FFT dims must be unique"),
        (lambda x: fft.fftn(x, s=(-2, 1)), RuntimeError, "Invalid number of data points \\(-2\\)"),
        (lambda x: fft.rfftn(x, dim=()), RuntimeError, "rfftn must transform at least one axis"),
        (lambda x: fft.hfftn(x, dim=()), RuntimeError, "hfftn must transform at least one axis"),
        (
            lambda x: fft.fftfreq(4, dtype=tl.int64),
            RuntimeError,
            "requires a floating point or complex dtype",
        ),
        (lambda x: fft.rfftfreq(-1), RuntimeError, "-1"),
        (lambda x: fft.fftshift(x, dim=3), IndexError, "Dimension out of range"),
        (lambda x: fft.fftshift(x.sum(), dim=0), IndexError, "no dimensions"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call(tl.zeros(3, 4))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 100, 101])
def test_frequencies_and_shifts(n):
    for d in (1.0, 0.25, 3.0):
        np.testing.assert_allclose(
            fft.fftfreq(n, d, dtype=tl.float64).numpy(), np.fft.fftfreq(n, d), rtol=1e-15
        )
        np.testing.assert_allclose(
            fft.rfftfreq(n, d, dtype=tl.float64).numpy(), np.fft.rfftfreq(n, d), rtol=1e-15
        )
    x = signal(n, 3, 4)
    for dim in (None, 0, (0, 2), -1):
        shifted = fft.fftshift(tl.from_numpy(x), dim)
        np.testing.assert_array_equal(shifted.numpy(), np.fft.fftshift(x, dim))
        assert fft.ifftshift(shifted, dim).equal(tl.from_numpy(x))
    assert fft.fftfreq(n, out=tl.empty(0)).shape == (n,)
    assert fft.fftfreq(3, device="meta").is_meta


def test_threads_change_no_bit():
    x = tl.from_numpy(signal(48, 3000))
    before = tl.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 5):
            tl.set_num_threads(threads)
            results.append(
                [fft.fft(x), fft.fft(x[:1]), fft.fft(x, dim=0), fft.rfft(x.real), fft.fft(x[:3, :2999])]
            )
    finally:
        tl.set_num_threads(before)
    for other in results[1:]:
        assert all(a.equal(b) for a, b in zip(results[0], other, strict=True))


def test_many_threads_make_plans_at_once():
    lengths = [*range(900, 980), 4093, 997]
    expected = {n: np.fft.fft(np.arange(n)) for n in lengths}
    failed = []

    def work(order):
        for n in order:
            result = fft.fft(tl.arange(n, dtype=tl.float64)).numpy()
            if not np.allclose(result, expected[n], rtol=1e-9, atol=1e-8):
                failed.append(n)

    threads = [threading.Thread(target=work, args=(lengths[i:] + lengths[:i],)) for i in range(0, 80, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_transforms():
    fft.fft(tl.ones(500))
    child = os.fork()
    if child == 0:
        right = fft.fft(tl.ones(500))[0].real.item() == 500 and fft.fft(tl.ones(750))[0].real.item() == 750
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_more_plans_than_the_cache_holds():
    for n in (1 << 19, 1 << 20, 3 << 18, 1 << 19):
        x = tl.zeros(n, dtype=tl.complex128)
        x[1] = 1
        wave = fft.fft(x)
        assert abs(wave[n // 4].item() + 1j) < 1e-14 and abs(wave[n // 2].item() + 1) < 1e-14


def test_nan_and_inf_stay_in_their_signal():
    x = tl.from_numpy(signal(20, 30))
    clean = fft.fft(x)
    x[3, 4] = complex(math.nan, 0)
    x[7, 1] = complex(math.inf, 0)
    result = fft.fft(x)
    assert not result[3].isfinite().any() and not result[7].isfinite().any()
    rest = [i for i in range(20) if i not in (3, 7)]
    assert result[rest].equal(clean[rest])


EVERY_LENGTH = """
import numpy as np
import tl_core as tl
from tl_core import fft
rng = np.random.default_rng(0)
for n in (*range(1, 40), 64, 100, 128, 200, 256, 997, 1000, 4096):
    x = rng.standard_normal((5, n))
    # numpy makes roots of unity in long double: they would show what vectors of 8 bytes leave behind.
    for got, expected in ((fft.fft(tl.from_numpy(x + 2j * x[::-1])), np.fft.fft(x + 2j * x[::-1])),
                          (fft.rfft(tl.from_numpy(x)), np.fft.rfft(x))):
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-10, atol=1e-10)
"""


@pytest.mark.parametrize("capability", ["default", "avx2"])
def test_every_instruction_set(capability):
    environment = os.environ | {"TL_CPU_CAPABILITY": capability}
    subprocess.run([sys.executable, "-c", EVERY_LENGTH], env=environment, check=True)
