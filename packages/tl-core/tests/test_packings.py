"""Packed operands that outlive a product: the same bits, and never those of former elements."""

import gc
import threading

import pytest

import tl_core as tl
from tl_core._C import _Packings

np = pytest.importorskip("numpy", reason="the references are numpy's")

LINEAR = tl.ops.aten.linear.default


@pytest.fixture
def packings():
    tl.manual_seed(0)
    return _Packings()


def run(packings, function, times=3):
    """The results of calls; the second one makes the copies, the third one reads them."""
    return [packings.run(function, (), {}) for _ in range(times)]


def same_bits(a, b):
    return a.shape == b.shape and a.stride() == b.stride() and a.numpy().tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize(
    ("rows", "terms", "columns"), [(1, 129, 256), (5, 700, 77), (8, 1024, 48), (13, 513, 130), (64, 600, 95)]
)
def test_products(packings, dtype, rows, terms, columns):
    x, weight = tl.randn(rows, terms, dtype=dtype), tl.randn(columns, terms, dtype=dtype)
    bias = tl.randn(columns, dtype=dtype)
    dense = weight.t().contiguous()
    cases = {
        "linear": lambda: LINEAR(x, weight, bias),
        "mm": lambda: x @ dense,
        "addmm": lambda: tl.addmm(bias, x, dense, beta=0.5, alpha=-2),
        "columns": lambda: LINEAR(x, weight[3:], None),
    }
    for name, function in cases.items():
        expected = function()
        for result in run(packings, function):
            assert same_bits(result, expected), name
    assert (packings.nbytes > 0) == (rows > 4 or dtype == tl.float32)
    expected = x.numpy().astype(np.float64) @ weight.numpy().astype(np.float64).T + bias.numpy()
    np.testing.assert_allclose(
        run(packings, cases["linear"])[-1].numpy(),
        expected,
        rtol=1e-5 if dtype == tl.float64 else 1e-3,
        atol=1e-3,
    )


CONVOLUTIONS = [  # batch, channels, rows, size, taps, stride, padding, groups
    (1, 64, 64, 16, 3, 1, 1, 1),  # Winograd's
    (1, 40, 56, 2, 3, 1, 1, 1),  # few positions
    (2, 32, 52, 4, 3, 2, 1, 1),
    (3, 24, 120, 4, 1, 1, 0, 2),
    (1, 70, 50, 6, 3, 2, 0, 1),
    (2, 16, 24, 20, 3, 1, 1, 1),  # padded planes
    (1, 3, 16, 21, 5, 2, 2, 1),
    (1, 8, 8, 9, 3, 1, 1, 8),  # direct: nothing is packed
]


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(packings, dtype, case):
    batch, channels, rows, size, taps, stride, padding, groups = case
    x = tl.randn(batch, channels, size, size, dtype=dtype)
    plain = tl.randn(rows, channels // groups, taps, taps, dtype=dtype)
    for weight in (plain, plain.transpose(2, 3)):
        for bias in (None, tl.randn(rows, dtype=dtype)):
            for image in (x, x.contiguous(memory_format=tl.channels_last), x.relu()):

                def convolve(image=image, weight=weight, bias=bias):
                    return tl.conv2d(image, weight, bias, stride, padding, 1, groups)

                expected = convolve()
                for result in run(packings, convolve):
                    assert same_bits(result, expected)


def test_values_that_winograd_leaves_to_others(packings):
    x, weight = tl.randn(1, 64, 16, 16), tl.randn(64, 64, 3, 3)
    wild = x.clone()
    wild[0, 0, 0, 0] = float("inf")
    assert all(
        same_bits(r, tl.conv2d(x, weight, padding=1))
        for r in run(packings, lambda: tl.conv2d(x, weight, padding=1))
    )
    expected = tl.conv2d(wild, weight, padding=1)
    assert not expected.isfinite().all()
    for result in run(packings, lambda: tl.conv2d(wild, weight, padding=1)):
        assert same_bits(result, expected)
    weight[0, 0] = 1e38
    for result in run(packings, lambda: tl.conv2d(x, weight, padding=1)):
        assert same_bits(result, tl.conv2d(x, weight, padding=1))


def test_writes_are_seen(packings):
    x, weight = tl.randn(8, 256), tl.randn(96, 256)

    def product():
        return x @ weight.t()

    run(packings, product)
    before = packings.nbytes
    for _ in range(3):
        weight.mul_(-1.5)
        for result in run(packings, product):
            assert same_bits(result, product())
    assert packings.nbytes == before
    weight.data.fill_(1)  # no version counts this write
    assert same_bits(run(packings, lambda: x @ weight.data.t())[-1], x @ weight.data.t())


def test_storages_that_are_gone(packings):
    x = tl.randn(8, 256)
    for i in range(200):
        weight = tl.full((96, 256), float(i))
        results = run(packings, lambda weight=weight: x @ weight.t())
        assert all(same_bits(r, x @ weight.t()) for r in results)
        del weight, results
    gc.collect()
    assert packings.nbytes < 200 * 96 * 256 * 4


def test_what_is_read_once_is_not_packed(packings):
    x = tl.randn(8, 256)
    for _ in range(5):
        packings.run(lambda: x @ tl.randn(256, 96), (), {})
    assert packings.nbytes == 0


def test_gradients_are_off_inside_and_restored(packings):
    assert packings.run(tl.is_grad_enabled, (), {}) is False
    assert tl.is_grad_enabled()
    with pytest.raises(ZeroDivisionError):
        packings.run(lambda: 1 // 0, (), {})
    assert tl.is_grad_enabled()
    with pytest.raises(TypeError, match="expects a tuple and a dictionary"):
        packings.run(tl.is_grad_enabled, [], {})


def test_two_threads_with_the_same_operands(packings):
    x, weight = tl.randn(8, 512), tl.randn(200, 512)
    expected = LINEAR(x, weight, None)
    wrong = []

    def work():
        results = (packings.run(LINEAR, (x, weight, None), {}) for _ in range(50))
        wrong.extend(not same_bits(result, expected) for result in results)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(wrong) == 200 and not any(wrong)
