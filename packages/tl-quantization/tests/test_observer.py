"""Observers against what their definitions give in numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tl_core as tl
import tl_quantization as tq
from tl_quantization import observer as obs

BATCHES = [
    np.random.default_rng(i).normal(size=(4, 3, 5)).astype(np.float32) * (i + 1) + 0.3 for i in range(4)
]


def seen(observer, batches=BATCHES):
    for batch in batches:
        x = tl.from_numpy(batch)
        assert observer(x) is x
    return observer


def affine(low, high, bottom, top):
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    scale = np.maximum((high - low) / (top - bottom), np.finfo(np.float32).eps)
    return scale, np.clip(bottom - np.rint(low / scale), bottom, top)


def agrees(observer, scale, zero):
    result = observer.calculate_qparams()
    np.testing.assert_allclose(result[0].numpy(), np.atleast_1d(scale), rtol=1e-6)
    assert result[1].tolist() == np.atleast_1d(zero).astype(int).tolist()


@pytest.mark.parametrize(
    ("kwargs", "bottom", "top"),
    [({}, 0, 255), ({"reduce_range": True}, 0, 127), ({"dtype": tq.qint8}, -128, 127),
     ({"dtype": tq.qint8, "reduce_range": True}, -64, 63), ({"quant_min": -3, "quant_max": 30}, -3, 30)],
)  # fmt: skip
def test_smallest_and_largest(kwargs, bottom, top):
    every = np.stack(BATCHES)
    agrees(seen(obs.MinMaxObserver(**kwargs)), *affine(every.min(), every.max(), bottom, top))


def test_symmetric_scales_put_zero_in_the_middle():
    bound = np.abs(np.stack(BATCHES)).max()
    agrees(seen(obs.MinMaxObserver(qscheme=tq.per_tensor_symmetric)), bound / 127.5, 128)
    agrees(seen(obs.MinMaxObserver(dtype=tq.qint8, qscheme=tq.per_tensor_symmetric)), bound / 127.5, 0)
    agrees(seen(obs.weight_observer_range_neg_127_to_127()), bound / 127, 0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_each_channel(axis):
    every = np.concatenate([np.moveaxis(b, axis, 0).reshape(b.shape[axis], -1) for b in BATCHES], 1)
    agrees(seen(obs.PerChannelMinMaxObserver(axis)), *affine(every.min(1), every.max(1), 0, 255))


def test_moving_averages():
    low, high = BATCHES[0].min(), BATCHES[0].max()
    for batch in BATCHES[1:]:
        low, high = low + 0.1 * (batch.min() - low), high + 0.1 * (batch.max() - high)
    agrees(seen(obs.MovingAverageMinMaxObserver(0.1)), *affine(low, high, 0, 255))
    once = np.moveaxis(BATCHES[0], 1, 0).reshape(3, -1)
    watched = seen(obs.MovingAveragePerChannelMinMaxObserver(0.1, 1), BATCHES[:1])
    agrees(watched, *affine(once.min(1), once.max(1), 0, 255))


def test_floating_zero_points():
    every = np.concatenate([b.reshape(4, -1) for b in BATCHES], 1)
    scale, zero = seen(obs.default_float_qparams_observer()).calculate_qparams()
    expected = (every.max(1) - every.min(1)) / 255
    np.testing.assert_allclose(scale.numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(zero.numpy(), -every.min(1) / expected, rtol=1e-4)


@pytest.mark.parametrize("outliers", [[40.0], [10.0] * 5, [-7.0, 9.0]])
def test_a_histogram_leaves_out_what_costs_little(outliers):
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(size=100_000), outliers]).astype(np.float32)
    wide, best = obs.MinMaxObserver(), obs.HistogramObserver()
    for observer in (wide, best):
        observer(tl.from_numpy(data))

    def error(observer):
        (scale,), (zero,) = (x.tolist() for x in observer.calculate_qparams())
        return float(
            ((np.clip(np.rint(data / scale) + zero, 0, 255) - zero) * scale - data).__pow__(2).mean()
        )

    assert error(best) < 0.98 * error(wide)


def test_a_histogram_counts_every_number_once():
    observer = seen(obs.HistogramObserver(bins=16))
    assert float(observer.histogram.sum()) == sum(b.size for b in BATCHES)
    with pytest.warns(UserWarning, match="inf detected"):
        observer(tl.tensor([float("-inf"), float("inf")]))
    assert float(observer.histogram.sum()) == sum(b.size for b in BATCHES)
    with pytest.raises(RuntimeError):
        observer(tl.tensor([float("nan"), 1.0]))


def _best_range(histogram, low, high, integers):
    """The search of norm minimization in float64: the ends move inwards by 1e-5 of the counts, the wider step first."""
    bins, sums, mass = len(histogram), np.cumsum(histogram), histogram.sum()
    width = (high - low) / bins

    def error(first, last):
        step = width * (last - first + 1) / integers
        edges = (np.arange(bins + 1) - first) * width
        total = 0.0
        for begin, end, count in zip(edges, edges[1:], histogram, strict=False):
            left, right = (np.clip(np.floor(x / step), 0, integers - 1) for x in (begin, end))
            inner = (right - left - 1) * step**3 / 12
            ends = (
                (step / 2) ** 3 - (begin - (left + 0.5) * step) ** 3,
                (end - (right + 0.5) * step) ** 3 + (step / 2) ** 3,
            )
            total += count / width * (sum(ends) / 3 + inner)
        return total

    first, last, alpha, beta, best = 0, bins - 1, 0.0, 1.0, np.inf
    while alpha < beta:
        left, right = first, last
        while left < last and sums[left] < (alpha + 1e-5) * mass:
            left += 1
        while right > first and sums[right] > (beta - 1e-5) * mass:
            right -= 1
        if left - first > last - right:
            following, alpha = (left, last), alpha + 1e-5
        else:
            following, beta = (first, right), beta - 1e-5
        if following == (first, last):
            continue
        if (now := error(*following)) > best:
            break
        best, (first, last) = now, following
    return low + width * first, low + width * (last + 1)


@pytest.mark.parametrize(
    "kwargs",
    [{}, {"reduce_range": True}, {"quant_min": 0, "quant_max": 127}, {"quant_min": 0, "quant_max": 15}],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_histogram_is_searched_over_all_integers_of_the_type(kwargs, seed):
    data = np.random.default_rng(seed).standard_t(3, size=4000).astype(np.float32)
    observer = obs.HistogramObserver(bins=128, **kwargs)
    observer(tl.from_numpy(data))
    counts = np.histogram(data.astype(np.float64), 128, (data.min(), data.max()))[0]
    assert np.abs(observer.histogram.numpy() - counts).sum() <= 2  # float32 edges
    low, high = _best_range(
        observer.histogram.numpy().astype(np.float64), float(data.min()), float(data.max()), 256
    )
    top = kwargs.get("quant_max", 127 if kwargs else 255)
    agrees(observer, *affine(low, high, 0, top))


@pytest.mark.parametrize("dtype", [tl.float64, tl.float16, tl.bfloat16])
def test_a_histogram_of_numbers_of_other_types(dtype):
    observer = obs.HistogramObserver(bins=64)
    for scale in (1.0, 2.0, 0.5):
        observer((tl.arange(-50, 50) * scale).to(dtype))
    assert float(observer.histogram.sum()) == 300
    assert float(observer.min_val) == -100 and float(observer.max_val) == 98


def test_only_types_of_eight_bits_are_reduced():
    for dtype, limits in ((tl.int16, (-(2**15), 2**15 - 1)), (tl.int8, (-64, 63)), (tl.uint8, (0, 127))):
        observer = obs.MinMaxObserver(dtype=dtype, reduce_range=True)
        assert (observer.quant_min, observer.quant_max) == limits


def test_nan_gives_a_zero_point_of_the_range():
    observer = obs.MinMaxObserver()
    observer(tl.tensor([1.0, float("nan")]))
    scale, zero = observer.calculate_qparams()
    assert bool(scale.isnan().all()) and zero.tolist() == [0]


def test_channels_of_another_number_are_refused():
    observer = obs.MovingAveragePerChannelMinMaxObserver()
    observer(tl.ones(2, 3))
    with pytest.raises(RuntimeError):
        observer(tl.ones(3, 3))


def test_nothing_seen_is_the_identity():
    for observer in (obs.MinMaxObserver(), obs.PerChannelMinMaxObserver(), obs.HistogramObserver()):
        observer(tl.zeros(0))
        with pytest.warns(UserWarning, match="must run observer before calling calculate_qparams"):
            scale, zero = observer.calculate_qparams()
        assert (scale.tolist(), zero.tolist()) == ([1.0], [0])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20))
def test_every_number_that_was_seen_comes_back(values):
    x = tl.tensor(values)
    observer = obs.MinMaxObserver()
    observer(x)
    scale, zero = observer.calculate_qparams()
    back = tq.quantize_per_tensor(x, scale, zero, tq.quint8).dequantize()
    assert float((back - x).abs().max()) <= float(scale) * 1.001


def test_states_of_observers_are_saved_alone():
    import tl_nn as nn

    def model():
        result = nn.Sequential(nn.Linear(3, 2))
        result.qconfig = tq.default_per_channel_qconfig
        return tq.prepare(result)

    one, two = model(), model()
    one(tl.ones(4, 3))
    state = tq.get_observer_state_dict(one)
    assert state and all("activation_post_process" in name for name in state)
    tq.load_observer_state_dict(two, state)
    assert two[0].activation_post_process.min_val == one[0].activation_post_process.min_val
    with pytest.raises(ValueError, match="unexpected"):
        tq.load_observer_state_dict(two, {**state, "observer.more": tl.ones(1)})


def test_wrong_settings():
    with pytest.raises(NotImplementedError, match="per_channel_affine"):
        obs.MinMaxObserver(qscheme=tq.per_channel_affine)
    for limits in ((5, 9), (0, 0), (3, -1)):
        with pytest.raises(AssertionError, match="quant_min"):
            obs.MinMaxObserver(quant_min=limits[0], quant_max=limits[1])
    with pytest.raises(AssertionError, match="256 integers"):
        obs.MinMaxObserver(dtype=tq.qint8, quant_min=0, quant_max=256)
    with pytest.raises(AssertionError, match=r"torch\.float32"):
        obs.MinMaxObserver(dtype=tl.float32)
    with pytest.raises(NotImplementedError, match="symmetric"):
        obs.MinMaxObserver(qscheme=tq.per_tensor_symmetric, reduce_range=True)
    with pytest.raises(NotImplementedError, match="averaging_constant=1"):
        obs.MovingAverageMinMaxObserver(is_dynamic=True)
    for kind in (obs.PerChannelMinMaxObserver, obs.MovingAveragePerChannelMinMaxObserver):
        with pytest.raises(NotImplementedError, match="scale a channel"):
            kind(qscheme=tq.per_tensor_affine)
        with pytest.raises(NotImplementedError, match="at each call"):
            kind(is_dynamic=True)
    with pytest.raises(RuntimeError, match="PlaceholderObserver"):
        obs.PlaceholderObserver().calculate_qparams()
    with pytest.raises(ValueError, match="with_args"):
        tq.QConfig(obs.MinMaxObserver(), obs.MinMaxObserver)


def test_arguments_can_be_given_early_and_late():
    calls = []
    late = obs.MinMaxObserver.with_callable_args(factory_kwargs=lambda: calls.append(1) or {})
    assert late.with_args(dtype=tq.qint8)().dtype is tq.qint8 and calls == [1]


@pytest.mark.parametrize("backend", ["x86", "fbgemm", "qnnpack", "onednn"])
def test_backends_have_configurations(backend):
    for config in (
        tq.get_default_qconfig(backend),
        tq.get_default_qat_qconfig(backend),
        tq.get_default_qat_qconfig(backend, 0),
    ):
        results = config.activation(), config.weight()
        assert all(hasattr(m, "calculate_qparams") for m in results)
    with pytest.raises(AssertionError, match="nonsense"):
        tq.get_default_qconfig("nonsense")
