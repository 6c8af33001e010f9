import pytest

import tl_core as tl
from tl_core.subclasses import FakeTensor, FakeTensorMode, config
from tl_core.subclasses.fake_cache import extract_tensor_metadata


@pytest.fixture
def mode():
    FakeTensorMode.cache_clear()
    with FakeTensorMode() as mode:
        yield mode


def counts():
    info = FakeTensorMode.cache_info()
    return info.hits, info.misses


CALLS = [
    lambda x: x + x,
    lambda x: x * 2,
    lambda x: x.sum(0, keepdim=True),
    lambda x: x.t(),
    lambda x: x[1:, ::2],
    lambda x: x.split(2),
    lambda x: x.max(0),
    lambda x: x.to(tl.float64),
    lambda x: tl.zeros(3, dtype=tl.int32),
    lambda x: x.new_empty((0, 3)),
    lambda x: x.expand(2, 4, 6),
    lambda x: tl.cat([x, x]),
]


def flat(out):
    return [out] if isinstance(out, tl.Tensor) else list(out)


@pytest.mark.parametrize("call", CALLS)
def test_known_results_are_those_that_were_computed(mode, call):
    x, y = tl.randn(4, 6), tl.randn(4, 6)
    before = counts()
    first = flat(call(x))
    missed = counts()
    second = flat(call(y))
    assert missed[1] > before[1]
    assert counts() == (missed[0] + missed[1] - before[1], missed[1])
    assert [extract_tensor_metadata(t) for t in first] == [extract_tensor_metadata(t) for t in second]
    for a, b in zip(first, second, strict=True):
        assert isinstance(b, FakeTensor)
        assert a is not b
        shares = a.untyped_storage()._cdata == x.untyped_storage()._cdata
        assert shares == (b.untyped_storage()._cdata == y.untyped_storage()._cdata)


def test_what_tells_calls_apart(mode):
    x = tl.randn(4, 3)
    keys = [
        mode._cache_key(_state(), tl.ops.aten.add.Tensor, [a, b], {})
        for a, b in (
            (x, x), (x, 1), (x, 1.0), (x, True), (x, x.double()), (x, tl.randn(4, 1)), (x, tl.randn(3, 4).t()),
            (x, tl.randn(5, 3)[1:]),
        )
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    again = mode._cache_key(_state(), tl.ops.aten.add.Tensor, [tl.randn(4, 3), tl.randn(4, 3)], {})
    assert again == keys[0]


def _state():
    from tl_core.subclasses.fake_tensor import _CacheKeyState

    return _CacheKeyState()


def test_settings_tell_calls_apart(mode):
    x = tl.tensor([1, 2], dtype=tl.int32)
    result = [(x + 1.0).dtype]
    before = tl.get_default_dtype()
    try:
        tl.set_default_dtype(tl.float64)
        result.append((x + 1.0).dtype)
    finally:
        tl.set_default_dtype(before)
    result.append((x + 1.0).dtype)
    assert result == [tl.float32, tl.float64, tl.float32]
    with tl.inference_mode():
        assert (x + 1.0).is_inference()
    assert not (x + 1.0).is_inference()


def test_writes_return_the_argument_and_forget_its_value(mode):
    x, y = tl.randn(2), tl.randn(2)
    assert x.add_(y) is x
    assert x.add_(y) is x
    assert counts()[0] >= 1
    z = tl.tensor([1.0])
    assert z.constant is not None
    z.add_(tl.randn(1))
    assert z.constant is None
    w = tl.tensor([1.0])
    w.add_(tl.randn(1))
    assert w.constant is None


def test_what_is_not_kept_says_why(mode):
    x = tl.randn(1, 2)
    x.unsqueeze_(0)
    assert FakeTensorMode.cache_info().bypasses["inplace view"] == 1
    assert x.shape == (1, 1, 2)
    tl.tensor(1.0) + tl.tensor(2.0)
    assert FakeTensorMode.cache_info().bypasses["constant attribute"] == 1


def test_without_the_cache():
    FakeTensorMode.cache_clear()
    mode = FakeTensorMode()
    mode.cache_enabled = False
    with mode:
        tl.ones(2) + 1
    assert counts() == (0, 0)


def test_fakes_on_meta_may_be_refused():
    with (
        config.patch(fake_tensor_allow_meta=False),
        pytest.raises(AssertionError, match="on meta"),
        FakeTensorMode(),
    ):
        tl.ones(2, device="meta")


@pytest.mark.parametrize("lie", ["writes", "aliases", "nothing"])
def test_kernels_of_libraries_are_held_to_their_schemas(lie):
    with tl.library._scoped_library("fakes_beside_real", "FRAGMENT") as lib:
        lib.define("f(Tensor x, Tensor y) -> Tensor")
        lib.impl("f", {"writes": lambda x, y: y.add_(1).clone(), "aliases": lambda x, y: x,
                       "nothing": lambda x, y: x + y}[lie], "CPU")  # fmt: skip
        tl.library.register_fake("fakes_beside_real::f", lambda x, y: tl.empty_like(x), lib=lib)
        with config.patch(fake_tensor_propagate_real_tensors=True):
            mode = FakeTensorMode()
        x, y = (mode.from_tensor(tl.ones(2)) for _ in range(2))
        if lie == "nothing":
            assert tl.ops.fakes_beside_real.f(x, y).real_tensor.tolist() == [2.0, 2.0]
            return
        with pytest.raises(RuntimeError, match="for argument 'y'" if lie == "writes" else "may not alias"):
            tl.ops.fakes_beside_real.f(x, y)
