"""The forms of the random functions, their distributions, the generator object and the default generator."""

import copy
import itertools
import math
import os
import pickle
import threading
import weakref

import pytest

import tl_core as tl
from tl_core import random as tl_random

np = pytest.importorskip("numpy", reason="the references are numpy's")
stats = pytest.importorskip("scipy.stats", reason="the distributions are held against scipy's")


def generator(seed=5):
    return tl.Generator().manual_seed(seed)


def array(t):
    return np.array(t.double().tolist() if t.is_floating_point() else t.tolist())


def uniform32(n, seed=5):
    """The float numbers of a stream: 24 bits of each of MT19937's words."""
    words = np.random.RandomState(seed).randint(0, 2**32, n, dtype=np.uint32)
    return (words % 2**24) / 2.0**24


# ---- distributions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tl.float32, tl.float64])
@pytest.mark.parametrize(
    ("fill", "args", "distribution"),
    [
        ("uniform_", (-1.0, 3.0), stats.uniform(-1, 4)),
        ("normal_", (2.0, 3.0), stats.norm(2, 3)),
        ("exponential_", (0.5,), stats.expon(scale=2)),
        ("cauchy_", (1.0, 2.0), stats.cauchy(1, 2)),
        ("log_normal_", (0.3, 0.6), stats.lognorm(0.6, scale=math.exp(0.3))),
    ],
)
def test_samples_follow_the_distribution(fill, args, distribution, dtype):
    x = array(getattr(tl.empty(50_000, dtype=dtype), fill)(*args, generator=generator(11)))
    assert stats.kstest(x, distribution.cdf).pvalue > 1e-3


def test_counts_follow_the_distribution():
    g = generator(11)
    assert stats.chisquare(np.bincount(array(tl.randint(7, (70_000,), generator=g)))).pvalue > 1e-3
    trials = array(tl.empty(50_000, dtype=tl.int64).geometric_(0.4, generator=g))
    expected = stats.geom(0.4).pmf(np.arange(1, 11))
    expected[-1] = 1 - expected[:-1].sum()
    counts = np.bincount(np.minimum(trials, 10), minlength=11)[1:]
    assert stats.chisquare(counts, expected * 50_000).pvalue > 1e-3
    ones = int(array(tl.empty(50_000).bernoulli_(0.3, generator=g)).sum())
    assert stats.binomtest(ones, 50_000, 0.3).pvalue > 1e-3
    firsts = np.bincount([tl.randperm(4, generator=g)[0].item() for _ in range(4000)])
    assert stats.chisquare(firsts).pvalue > 1e-3


@pytest.mark.parametrize("n", [1, 2, 3, 100, 5000])
def test_permutations_hold_each_number_once(n):
    assert sorted(tl.randperm(n).tolist()) == list(range(n))


# ---- forms of the functions --------------------------------------------------------------------------------

FACTORIES = [
    lambda **k: tl.rand(3, 2, **k),
    lambda **k: tl.randn(3, 2, **k),
    lambda **k: tl.randint(9, (3, 2), **k),
    lambda **k: tl.randint(1, 9, (3, 2), **k),
    lambda **k: tl.normal(0.0, 1.0, (3, 2), **k),
]


@pytest.mark.parametrize("draw", FACTORIES)
def test_out_is_resized_and_written(draw):
    out = tl.empty(0)
    assert draw(generator=generator(), out=out) is out
    assert out.tolist() == draw(generator=generator()).tolist()


def test_out_of_permutations_and_bernoulli():
    out = tl.empty(0, dtype=tl.int32)
    assert tl.randperm(5, generator=generator(), out=out) is out
    assert out.tolist() == tl.randperm(5, generator=generator()).tolist()
    columns = tl.zeros(5, 2, dtype=tl.int64)
    tl.randperm(5, generator=generator(), out=columns[:, 0])
    assert columns.tolist() == [[i, 0] for i in out.tolist()]
    p = tl.rand(6, generator=generator(3))
    out = tl.empty(0, dtype=tl.float64)
    assert tl.bernoulli(p, generator=generator(), out=out) is out
    assert out.tolist() == tl.bernoulli(p, generator=generator()).tolist()


@pytest.mark.parametrize(
    "draw",
    [
        tl.rand_like,
        tl.randn_like,
        lambda t, **k: tl.randint_like(t, 50, **k),
        lambda t, **k: tl.randint_like(t, 1, 50, **k),
        lambda t, **k: tl.randint_like(t, tl.tensor(50), **k),
    ],
)
def test_like_forms_take_shape_dtype_and_layout(draw):
    model = tl.zeros(2, 3, dtype=tl.float64).t()
    x = draw(model)
    assert (x.shape, x.dtype, x.stride()) == (model.shape, tl.float64, (1, 3))
    assert draw(model, dtype=tl.float32).dtype == tl.float32
    assert draw(model, generator=generator()).tolist() == draw(model, generator=generator()).tolist()


def test_default_dtypes_and_sizes():
    assert tl.rand(2).dtype == tl.randn(2).dtype == tl.float32
    assert tl.randint(3, (2,)).dtype == tl.randperm(3).dtype == tl.int64
    assert tl.rand(()).shape == ()
    assert tl.rand(2, 3).shape == tl.rand((2, 3)).shape == tl.rand(size=(2, 3)).shape == (2, 3)
    assert tl.randint(high=3, size=(2,)).shape == tl.randint(low=1, high=3, size=(2,)).shape == (2,)


def test_complex_numbers_are_pairs_of_real_ones():
    x = tl.rand(10, dtype=tl.complex64, generator=generator())
    assert np.array_equal(array(tl.view_as_real(x)).reshape(-1), uniform32(20))
    y = array(tl.view_as_real(tl.randn(20_000, dtype=tl.complex128, generator=generator(11))))
    assert stats.kstest(y.reshape(-1), stats.norm(0, math.sqrt(0.5)).cdf).pvalue > 1e-3


def test_normal_with_tensor_parameters():
    mean, std = tl.tensor([[0.0], [100.0]]), tl.tensor([1.0, 2.0, 0.0])
    z = array(tl.randn(2, 3, generator=generator()))
    samples = tl.normal(mean, std, generator=generator())
    assert np.allclose(array(samples), z * array(std) + array(mean), atol=1e-4)
    samples = tl.normal(5.0, std, generator=generator())
    assert np.allclose(array(samples), z.reshape(-1)[:3] * array(std) + 5, atol=1e-5)
    samples = tl.normal(mean, 3.0, generator=generator())
    assert np.allclose(array(samples).reshape(-1), z.reshape(-1)[:2] * 3 + [0, 100], atol=1e-4)
    samples = tl.normal(tl.zeros(2, dtype=tl.float64), tl.ones(2))
    assert samples.dtype == tl.float64


def test_meta_has_a_shape_and_takes_no_numbers():
    before = tl.get_rng_state().tolist()
    shaped = tl.empty(2, 3, device="meta")
    for x in (
        tl.rand(2, 3, device="meta"),
        tl.randn(2, 3, device="meta"),
        tl.randint(5, (2, 3), device="meta"),
        tl.normal(shaped, 1.0),
        tl.bernoulli(shaped),
        tl.dropout(shaped, 0.5, True),
        tl.empty(2, 3, device="meta").bernoulli_(0.5),
    ):
        assert x.is_meta
        assert x.shape == (2, 3)
    assert tl.randperm(4, device="meta").shape == (4,)
    assert tl.get_rng_state().tolist() == before


def test_empty_tensors_draw_nothing():
    g = generator()
    before = g.get_state().tolist()
    for shape in ((0,), (3, 0, 2)):
        x = tl.empty(*shape).uniform_(generator=g).normal_(generator=g).random_(generator=g)
        x.bernoulli_(0.5, generator=g).exponential_(generator=g)
    assert g.get_state().tolist() == before


def test_filling_returns_the_tensor_and_counts_a_version():
    x = tl.empty(3)
    version = x._version
    assert x.uniform_() is x
    assert x._version == version + 1


# ---- dropout -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [tl.float16, tl.float32, tl.float64])
def test_dropout_keeps_and_scales(dtype):
    x = (tl.rand(2000, generator=generator(3)) + 1).to(dtype)
    tl.manual_seed(5)
    y, mask = tl.native_dropout(x, 0.3, True)
    value = array(mask)
    assert stats.binomtest(int(value.sum()), 2000, 0.7).pvalue > 1e-3
    assert np.allclose(array(y), np.where(value, array(x) / 0.7, 0), rtol=1e-3)
    tl.manual_seed(5)
    assert tl.dropout(x, 0.3, True).tolist() == y.tolist()
    tl.manual_seed(5)
    in_place = x.clone()
    assert tl.dropout_(in_place, 0.3, True) is in_place
    assert np.allclose(array(in_place), array(y), rtol=1e-3)
    gradient = tl.native_dropout_backward(tl.ones(2000, dtype=dtype), mask, 2.0)
    assert np.array_equal(array(gradient), 2.0 * value)


def test_dropout_without_effect_takes_no_numbers():
    x = tl.rand(5)
    before = tl.get_rng_state().tolist()
    assert tl.dropout(x, 0.5, False).tolist() == x.tolist()
    assert tl.dropout(x, 0.0, True).tolist() == x.tolist()
    assert tl.dropout(x, 1.0, True).tolist() == [0.0] * 5
    y, mask = tl.native_dropout(x, 0.5, False)
    assert y.tolist() == x.tolist()
    assert mask.tolist() == [True] * 5
    assert tl.get_rng_state().tolist() == before


# ---- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tl.empty(3).uniform_(-3e38, 3e38), RuntimeError, "expects to-from <= std::numeric_limits"),
        (lambda: tl.normal(tl.zeros(2), tl.tensor([1.0, -1.0])), RuntimeError, "all elements of std >= 0.0"),
        (lambda: tl.normal(0.0, tl.ones(2, dtype=tl.complex64)), RuntimeError, "deviation to be non-complex"),
        (lambda: tl.normal(0.0, -1.0, (2,)), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (
            lambda: tl.empty(3, dtype=tl.int8).exponential_(),
            RuntimeError,
            "continuous probability distribution",
        ),
        (lambda: tl.bernoulli(tl.tensor([math.nan])), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
        (lambda: tl.bernoulli(tl.ones(3, dtype=tl.int64)), NotImplementedError, "not implemented for 'Long'"),
        (lambda: tl.randint(3, 3, (2,)), RuntimeError, "'from' to be less than 'to', but got from=3 >= to=3"),
        (
            lambda: tl.randint(-1, 3, (2,), dtype=tl.uint8),
            RuntimeError,
            "from is out of bounds for uint8: got -1",
        ),
        (
            lambda: tl.randint(3, (2,), dtype=tl.complex64),
            RuntimeError,
            "only integral, floating-point and boolean",
        ),
        (lambda: tl.randint_like(tl.ones(3), tl.tensor([5])), RuntimeError, "high must be a scalar tensor"),
        (lambda: tl.randint(10, (-2,)), RuntimeError, "negative dimension"),
        (lambda: tl.rand(2, out=tl.empty(2), dtype=tl.float64), RuntimeError, "does not match dtype of out"),
        (
            lambda: tl.empty(1).expand(3).uniform_(),
            RuntimeError,
            "more than one element of the written-to tensor",
        ),
        (lambda: tl.dropout(tl.ones(2), 1.5, True), RuntimeError, "has to be between 0 and 1, but got 1.5"),
        (lambda: tl.dropout(tl.ones(2, dtype=tl.int32), 0.5, True), RuntimeError, "can't be cast.*type Int"),
        (lambda: tl.empty(3).uniform_(generator=3), TypeError, "Generator"),
        (lambda: tl.Generator("meta"), RuntimeError, "'device' must be 'cpu', got 'meta'"),
        (lambda: tl.Generator("nowhere"), RuntimeError, "nowhere"),
        (lambda: tl.Generator(bad=1), TypeError, "bad"),
        (lambda: generator("a"), RuntimeError, "manual_seed expected a long, but got str"),
        (lambda: generator(True), RuntimeError, "manual_seed expected a long, but got bool"),
        (lambda: generator().set_state([1]), TypeError, "expected a torch.ByteTensor, but got list"),
        (lambda: generator().set_state(tl.zeros(5056)), TypeError, "RNG state must be a torch.ByteTensor"),
        (lambda: generator().set_state(tl.zeros(5056, 2, dtype=tl.uint8)[:, 0]), RuntimeError, "contiguous"),
        (lambda: generator().set_offset(1), RuntimeError, "does not use offset"),
        (lambda: generator().get_offset(), RuntimeError, "does not use offset"),
        (
            lambda: generator().graphsafe_get_state(),
            NotImplementedError,
            "graphsafe_get_state is not supported",
        ),
        (
            lambda: generator().graphsafe_set_state(None),
            NotImplementedError,
            "graphsafe_set_state is not supported",
        ),
        (lambda: generator().__setstate__(3), TypeError, "tuple"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_failed_check_leaves_state_and_tensor_alone():
    g, x = generator(), tl.ones(3)
    before = g.get_state().tolist()
    with pytest.raises(RuntimeError):
        x.bernoulli_(tl.tensor([0.5, 0.5, 1.5]), generator=g)
    assert g.get_state().tolist() == before
    assert x.tolist() == [1.0] * 3


# ---- generators --------------------------------------------------------------------------------------------


def test_generators_live_on_the_cpu():
    assert tl.Generator().device == tl.Generator(device="cpu").device == tl.device("cpu")
    assert tl.Generator(tl.device("cpu")).device.type == "cpu"


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0, 0), (-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1), (2**40 + 3, 2**40 + 3)],
)
def test_negative_seeds_stand_for_unsigned_ones(given, kept):
    g = tl.Generator()
    assert g.manual_seed(given) is g
    assert g.initial_seed() == kept


def test_system_seeds_differ():
    g = tl.Generator()
    first = g.seed()
    assert g.initial_seed() == first
    assert g.seed() != first


def test_state_bytes_are_those_of_the_twister():
    g = generator(123)
    for samples in (1, 623, 1, 700):
        tl.rand(samples, generator=g)
    reference = np.random.RandomState(123)
    reference.randint(0, 2**32, 1325, dtype=np.uint32)
    _, key, position, *_ = reference.get_state()
    fields = np.array(g.get_state().tolist(), dtype=np.uint8)
    assert fields.size == 5056
    assert fields[0:8].view(np.uint64)[0] == 123
    assert fields[8:16].view(np.int32).tolist() == [624 + 1 - position, 1]
    assert fields[16:24].view(np.uint64)[0] == position
    assert np.array_equal(fields[24:5016].view(np.uint64), key)


@pytest.mark.parametrize("samples", [0, 1, 15, 16, 623, 624, 1000])
@pytest.mark.parametrize(
    "duplicate",
    [
        lambda g: tl.Generator().set_state(g.get_state()),
        lambda g: g.clone_state(),
        copy.copy,
        copy.deepcopy,
        lambda g: pickle.loads(pickle.dumps(g)),
    ],
)
def test_duplicates_go_on_with_the_same_stream(duplicate, samples):
    g = generator()
    tl.rand(samples, generator=g)
    tl.randn(3, generator=g)
    other = duplicate(g)
    assert other is not g
    assert other.initial_seed() == 5
    assert other.get_state().tolist() == g.get_state().tolist()
    assert tl.randn(21, generator=other).tolist() == tl.randn(21, generator=g).tolist()


def test_generators_are_independent():
    g, h = generator(), generator()
    default = tl.get_rng_state().tolist()
    first = tl.rand(10, generator=g).tolist()
    tl.randn(100, generator=g)
    assert tl.rand(10, generator=h).tolist() == first
    assert tl.get_rng_state().tolist() == default


def test_subclasses_and_weak_references():
    class Named(tl.Generator):
        pass

    g = Named().manual_seed(5)
    g.name = "mine"
    assert type(g) is Named
    assert tl.rand(3, generator=g).tolist() == tl.rand(3, generator=generator()).tolist()
    missing = weakref.ref(g)
    assert missing() is g
    del g
    assert missing() is None


# ---- the default generator ---------------------------------------------------------------------------------


def test_manual_seed_seeds_the_default_generator():
    assert tl.manual_seed(5) is tl.default_generator
    assert tl.initial_seed() == 5
    assert np.array_equal(array(tl.rand(10)), uniform32(10))
    tl.manual_seed(-3)
    assert tl.initial_seed() == 2**64 - 3
    samples = tl.seed()
    assert tl.initial_seed() == samples


def test_rng_state_round_trip():
    state = tl.get_rng_state()
    first = tl.rand(5).tolist()
    tl.set_rng_state(state)
    assert tl.rand(5).tolist() == first


def test_fork_rng_restores_also_after_an_error():
    tl.manual_seed(5)
    with tl_random.fork_rng():
        tl.manual_seed(9)
        tl.rand(10)
    with pytest.raises(KeyError), tl_random.fork_rng():
        tl.rand(10)
        raise KeyError
    assert np.array_equal(array(tl.rand(10)), uniform32(10))
    with tl_random.fork_rng(enabled=False):
        tl.manual_seed(9)
    assert tl.initial_seed() == 9


def test_fork_rng_checks_the_device_type():
    with pytest.raises(RuntimeError, match="nowhere"), tl_random.fork_rng(device_type="nowhere"):
        pass
    with (
        pytest.raises(RuntimeError, match="has no random generators"),
        tl_random.fork_rng(devices=[0], device_type="meta"),
    ):
        pass


def test_generators_of_devices_are_seeded_and_forked(monkeypatch):
    monkeypatch.setattr(tl_random, "_devices", {})
    states, seeds = {0: "a", 1: "b"}, []
    functions = tl_random.DeviceRandom(
        manual_seed_all=seeds.append,
        count=lambda: 2,
        get_state=states.get,
        set_state=lambda state, index: states.update({index: state}),
    )
    tl_random.register_device_random("cuda", functions)
    tl.manual_seed(4)
    assert seeds == [4]
    with tl_random.fork_rng(devices=[1]):
        states.update({0: "changed", 1: "changed"})
    assert states == {0: "changed", 1: "b"}
    with pytest.warns(UserWarning, match="all 2 cuda devices"), tl_random.fork_rng():
        states.clear()
    assert states == {0: "changed", 1: "b"}


def test_threads_share_the_stream_without_losing_a_number():
    tl.manual_seed(5)
    samples = [[] for _ in range(4)]

    def draw(into):
        for _ in range(50):
            into += tl.rand(10).tolist()

    threads = [threading.Thread(target=draw, args=(d,)) for d in samples]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(itertools.chain(*samples)) == sorted(uniform32(2000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform cannot fork")
def test_a_forked_child_samples_while_the_parent_did():
    stop = threading.Event()

    def draw():
        while not stop.is_set():
            tl.rand(100_000)

    thread = threading.Thread(target=draw)
    thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if tl.rand(10).numel() == 10 else 1)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
