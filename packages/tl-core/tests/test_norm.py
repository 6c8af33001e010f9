"""Normalization against its definition in numpy."""

import pytest

numpy = pytest.importorskip("numpy", reason="the references are numpy's")

import tl_core as tl  # noqa: E402

SHAPES = [(4, 6), (3, 6, 7), (2, 6, 5, 9), (2, 6, 40, 41), (70, 6, 1, 1)]
TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "bfloat16": 6e-2, "float16": 8e-3}


def drawn(shape, seed=0):
    return numpy.random.default_rng(seed).standard_normal(shape) * 2 + 3


def normalized(x, axes, eps=1e-5):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / numpy.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)


def along_channels(v, ndim):
    return v.reshape(1, -1, *(1,) * (ndim - 2))


def close(got, want, dtype):
    numpy.testing.assert_allclose(
        got.to(tl.float64).numpy(), want, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
    )


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_batch_norm(shape, dtype):
    x = tl.tensor(drawn(shape)).to(getattr(tl, dtype))
    w, b = drawn(6, 1), drawn(6, 2)
    mean, var = tl.zeros(6), tl.ones(6)
    if dtype == "float64":
        mean, var = mean.double(), var.double()
    parameter = mean.dtype
    result = tl.batch_norm(
        x, tl.tensor(w).to(parameter), tl.tensor(b).to(parameter), mean, var, True, 0.25, 1e-5, True
    )
    exact = x.to(tl.float64).numpy()
    axes = (0, *range(2, len(shape)))
    want = normalized(exact, axes) * along_channels(w, len(shape)) + along_channels(b, len(shape))
    close(result, want, dtype)
    close(mean, exact.mean(axes) * 0.25, "float32")
    close(var, 0.75 + 0.25 * exact.var(axes, ddof=1), "float32")


@pytest.mark.parametrize("format", [tl.contiguous_format, tl.channels_last])
def test_batch_norm_keeps_the_layout_and_uses_running_statistics(format):
    x = tl.tensor(drawn((2, 6, 5, 9))).contiguous(memory_format=format)
    mean, var = drawn(6, 1), numpy.abs(drawn(6, 2))
    result = tl.batch_norm(x, None, None, tl.tensor(mean), tl.tensor(var), False, 0.1, 1e-5, True)
    assert result.stride() == x.stride()
    want = (x.numpy() - along_channels(mean, 4)) / numpy.sqrt(along_channels(var, 4) + 1e-5)
    close(result, want, "float64")


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_group_layer_and_rms_norm(shape, dtype):
    x = tl.tensor(drawn(shape)).to(getattr(tl, dtype))
    exact = x.to(tl.float64).numpy()
    grouped = exact.reshape(shape[0], 3, -1)
    close(tl.group_norm(x, 3), normalized(grouped, 2).reshape(shape), dtype)
    rest = tuple(range(1, len(shape)))
    w = drawn(shape[1:], 3)
    weight = tl.tensor(w).to(x.dtype)
    w = weight.to(tl.float64).numpy()
    close(tl.layer_norm(x, shape[1:], weight, weight), normalized(exact, rest) * w + w, dtype)
    root = numpy.sqrt((exact**2).mean(rest, keepdims=True) + 1e-5)
    close(tl.rms_norm(x, shape[1:], weight, 1e-5), exact / root * w, dtype)


def test_instance_norm_updates_running_statistics():
    x = drawn((3, 6, 7))
    mean, var = tl.zeros(6).double(), tl.ones(6).double()
    result = tl.instance_norm(tl.tensor(x), None, None, mean, var, True, 0.5, 1e-5, True)
    close(result, normalized(x, 2), "float64")
    close(mean, x.mean((0, 2)) / 2, "float64")
    close(var, 0.5 + x.var(2, ddof=1).mean(0) / 2, "float64")


def test_large_mean_keeps_its_digits():
    x = tl.tensor(drawn((4, 100_000))).float() + 1e4
    result = tl.layer_norm(x, [100_000], None, None, 1e-5)
    numpy.testing.assert_allclose(result.numpy(), normalized(x.double().numpy(), 1), atol=2e-3)


def test_empty_inputs():
    assert tl.layer_norm(tl.zeros(0, 4), [4]).shape == (0, 4)
    assert tl.group_norm(tl.zeros(0, 4, 3), 2).shape == (0, 4, 3)
    assert tl.batch_norm(tl.zeros(0, 4, 3), None, None, None, None, True, 0.1, 1e-5, True).shape == (0, 4, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tl.layer_norm(x, []), "at least 1-dimensional"),
        (lambda x: tl.layer_norm(x, [5]), r"expected input with shape \[\*, 5\]"),
        (lambda x: tl.layer_norm(x, [4], tl.ones(3)), "Expected weight to be of same shape"),
        (lambda x: tl.layer_norm(x, [4], tl.ones(4).double()), "mixed dtype"),
        (lambda x: tl.group_norm(x, 2), "divisible by num_groups"),
        (lambda x: tl.group_norm(x, 0), "greater than 0"),
        (
            lambda x: tl.batch_norm(x, tl.ones(2), None, None, None, True, 0.1, 1e-5, True),
            "weight should contain 3",
        ),
        (
            lambda x: tl.batch_norm(x, None, None, None, None, False, 0.1, 1e-5, True),
            "running_mean must be defined",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(tl.zeros(2, 3, 4))


def test_integers_have_no_norm():
    with pytest.raises(NotImplementedError, match="LayerNorm"):
        tl.layer_norm(tl.zeros(2, 3, dtype=tl.int64), [3])
