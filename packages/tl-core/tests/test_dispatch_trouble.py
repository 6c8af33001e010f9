"""Random programs with subclasses, modes and fakes, whose handlers fail and return what they like.

`TL_PROGRAMS` says how many; `nox -s programs` runs many under the sanitizers.
"""

import contextlib
import itertools
import os
import random
import warnings

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.functions import lapack
from tl_core.pytree import tree_map
from tl_core.subclasses import FakeTensorMode
from tl_core.subclasses.python_dispatch import TorchDispatchMode, no_dispatch, return_and_correct_aliasing

NEVER = {
    "share_memory_",
    "to_mkldnn",
    "cuda",
    "xpu",
    "record_stream",
    "backward",
    "register_hook",
    "apply_",
    "map_",
}
NAMES = sorted(
    n for n in dir(tl.Tensor) if n[0] != "_" and n not in NEVER and callable(getattr(tl.Tensor, n))
)
NOTHING = (None, 1, "text", [1], ())
PROGRAMS = int(os.environ.get("TL_PROGRAMS", "240"))


def wrong(t, draw):
    """A tensor that an operator did not return: smaller, of another type or layout, on meta, of no size."""
    with no_dispatch():
        return draw.choice(
            [
                lambda: t.flatten()[: t.numel() // 2],
                lambda: t.new_empty(0),
                lambda: t.new_zeros(()),
                lambda: t.new_zeros(()).expand(t.shape),
                lambda: t.to(draw.choice([tl.float64, tl.int32, tl.bool, tl.uint8])),
                lambda: t.to("meta"),
                lambda: t.unsqueeze(0),
            ]
        )()


def lied(out, draw):
    """Results in which some tensors are wrong."""
    return tree_map(lambda x: wrong(x, draw) if isinstance(x, tl.Tensor) else x, out)


class Boxed(tl.Tensor):
    draw: random.Random

    @staticmethod
    def __new__(cls, inner):
        result = tl.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=inner.device,
        )  # fmt: skip
        result.inner = inner
        return result

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        chance = cls.draw.random()
        if chance < 0.02:
            raise LookupError("by design")
        if chance < 0.04:
            return cls.draw.choice([*NOTHING, NotImplemented, args[0] if args else None])
        open_ = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
        out = tree_map(lambda x: cls(x) if isinstance(x, tl.Tensor) else x, func(*open_[0], **open_[1]))
        return return_and_correct_aliasing(func, args, kwargs, out) if chance < 0.8 else out


class Mode(TorchDispatchMode):
    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        chance = self.draw.random()
        if chance < 0.02:
            raise LookupError("by design")
        if chance < 0.04:
            return self.draw.choice([None, 1, NotImplemented, args[0] if args else None])
        out = func(*args, **(kwargs or {}))
        return lied(out, self.draw) if chance < 0.15 else out


def leaf(draw):
    size = draw.choice([(), (3,), (2, 3), (3, 3), (0,), (2, 3, 4)])
    t = tl.rand(size) if draw.random() < 0.8 else tl.randint(0, 3, size)
    return Boxed(t) if draw.random() < 0.4 else t


def argument(draw, pool):
    return draw.choice([draw.choice(pool), 0, 1, -1, 2, 1.5, (0, 1), [2, 3], None, "sum", tl.float64, True])


def call(draw, pool):
    name, x = draw.choice(NAMES), draw.choice(pool)
    result = getattr(x, name)(*[argument(draw, pool) for _ in range(draw.choice([0, 0, 1, 1, 1, 2, 3]))])
    for t in result if isinstance(result, (tuple, list)) else [result]:
        if isinstance(t, tl.Tensor):
            pool.append(t)
            repr(t)


def program(draw):
    with contextlib.ExitStack() as stack:
        for _ in range(draw.randrange(3)):
            kinds = [
                lambda: Mode(draw),
                lambda: FakeTensorMode(allow_non_fake_inputs=True),
                no_dispatch,
                tl.no_grad,
            ]
            stack.enter_context(draw.choice(kinds)())
        pool = [leaf(draw) for _ in range(3)]
        for _ in range(6):
            with contextlib.suppress(Exception):  # most calls do not fit; none may end the process
                call(draw, pool)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed):
    draw = Boxed.draw = random.Random(seed)
    completed = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(PROGRAMS // 4):
            with contextlib.suppress(LookupError, RuntimeError, TypeError, AttributeError):
                program(draw)
                completed += 1
            assert not _C._mode_stack(_C._LAYER_PYTHON) and not _C._mode_stack(_C._LAYER_TRACE)
    assert completed > PROGRAMS // 8


# ---- operators made of others do not trust the results of their parts ----------------------------------------------
class Liar(TorchDispatchMode):
    """Returns what it likes for one operator."""

    def __init__(self, name, result):
        super().__init__()
        self.name, self.result, self.asked = name, result, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ != self.name:
            return out
        self.asked += 1
        with no_dispatch():
            return self.result(out)


def codes(change):
    """A factorization whose codes, the last of its results, are others."""
    return lambda out: (*out[:-1], change(out[-1]))


MATRICES = tl.eye(3).expand(4, 3, 3).clone()
MADE_OF_OTHERS = [
    (lambda: tl.linalg.lu_factor(MATRICES), "linalg_lu_factor_ex", codes),
    (lambda: tl.linalg.cholesky(MATRICES), "linalg_cholesky_ex", codes),
    (lambda: tl.linalg.inv(MATRICES), "linalg_inv_ex", codes),
    (lambda: tl.linalg.ldl_factor(MATRICES), "linalg_ldl_factor_ex", codes),
    (lambda: tl.linalg.solve_ex(MATRICES, MATRICES), "linalg_lu_factor_ex", codes),
]
CHANGES = {
    "type": lambda t: t.to(tl.int64),
    "narrow type": lambda t: t.to(tl.uint8),
    "one element everywhere": lambda t: t.new_zeros(()).expand(4, 3),
    "other layout": lambda t: t.new_zeros(4, 2)[:, 0],
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("call, part, in_results", MADE_OF_OTHERS)
def test_wrong_results_of_parts_are_refused(call, part, in_results, change):
    if "ldl" in part and lapack.library() is None:
        pytest.skip("needs a LAPACK library")
    liar = Liar(part, in_results(CHANGES[change]))
    with liar, pytest.raises(RuntimeError, match="a handler in Python returned it"):
        call()
    assert liar.asked == 1


def test_none_for_the_results_of_parts_is_refused():
    with Liar("linalg_lu_factor_ex", lambda out: None), pytest.raises(RuntimeError, match="Unable to cast"):
        tl.linalg.lu_factor(MATRICES)
    with (
        Liar("linalg_lu_factor_ex", codes(lambda t: None)),
        pytest.raises(RuntimeError, match="Unable to cast"),
    ):
        tl.linalg.lu_factor(MATRICES)


def test_elements_of_tensors_without_memory_are_refused():
    with FakeTensorMode():
        where, lengths = tl.tensor([1, 2, 3, 4]), tl.tensor([2, 1])
        x, table = tl.zeros(5, 2), tl.zeros(3, 2)
    for call in (
        lambda: x.tensor_split(where),
        lambda: tl.rnn_tanh(x, lengths, tl.zeros(1, 2, 3), [tl.zeros(3, 2)] * 4, True, 1, 0.0, False, False),
    ):
        with pytest.raises(RuntimeError, match="no memory of its own"):
            call()
    assert tl.embedding(table, where, scale_grad_by_freq=True).shape == (4, 2)


WITH_BITS = {
    "no bit": lambda: tl.rand(3, 3),
    "conjugate": lambda: tl.rand(3, 3, dtype=tl.complex64).conj(),
    "negative": lambda: tl.rand(3, 3, dtype=tl.complex64).conj().imag,
    "both": lambda: tl._neg_view(tl.rand(3, 3, dtype=tl.complex64).conj()),
}


@pytest.mark.parametrize("x", WITH_BITS.values(), ids=WITH_BITS)
@pytest.mark.parametrize("results", itertools.product(WITH_BITS, repeat=3), ids=", ".join)
def test_handlers_that_return_conjugate_and_negative_bits(x, results):
    """A tensor whose bits come back with each result raises; it was resolved until the stack was full."""

    class Bits(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return WITH_BITS[results[self.calls % 3]]()

    t = x()
    for call in (t.svd, t.sum, t.tolist, t.resolve_conj, t.resolve_neg, lambda: t + 1, lambda: t.real):
        # A refusal of the results is right; the number of calls shows that the chain ends.
        with Bits() as mode, contextlib.suppress(RuntimeError, TypeError, ValueError):
            call()
        assert mode.calls < 100


def test_a_handler_that_leaves_a_bit_is_named():
    class Same(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return args[0]

    for x, name, bit in (
        (WITH_BITS["conjugate"](), "_conj", "conjugate"),
        (WITH_BITS["negative"](), "_neg_view", "negative"),
    ):
        with (
            Same(),
            pytest.raises(RuntimeError, match=rf"{name}\(\): a .* handler must return .* without the {bit}"),
        ):
            x.sum()


@pytest.mark.parametrize("kwargs", [1, "a", [("dtype", tl.float64)], tl.preserve_format, tl.ones(1)])
def test_keywords_of_the_default_handler_are_a_dictionary(kwargs):
    with pytest.raises(TypeError, match="kwargs must be a dict, got"):
        tl.ones(2).__torch_dispatch__(tl.sum, (), (tl.ones(2),), kwargs)


def test_the_default_handler_calls_the_function():
    x = tl.ones(2)
    assert x.__torch_dispatch__(tl.sum, (), (x,)) == 2
    assert x.__torch_dispatch__(tl.sum, (), [x], None) == 2
    assert x.__torch_dispatch__(tl.sum, (), (x,), {"dtype": tl.float64}).dtype == tl.float64
    with pytest.raises(TypeError, match="iterable"):
        x.__torch_dispatch__(tl.sum, (), 3)
