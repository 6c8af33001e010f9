"""Random programs with subclasses, modes and fakes, whose handlers fail and return what they like."""

import contextlib
import random
import warnings

import pytest

import tl_core as tl
from tl_core import _C
from tl_core.python_dispatch import TorchDispatchMode, no_dispatch, return_and_correct_aliasing
from tl_core.pytree import tree_map
from tl_core.subclasses import FakeTensorMode

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


class Boxed(tl.Tensor):
    draw: random.Random

    @staticmethod
    def __new__(cls, inner):
        made = tl.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype,
            device=inner.device,
        )  # fmt: skip
        made.inner = inner
        return made

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
        return func(*args, **(kwargs or {}))


def leaf(draw):
    size = draw.choice([(), (3,), (2, 3), (3, 3), (0,), (2, 3, 4)])
    t = tl.rand(size) if draw.random() < 0.8 else tl.randint(0, 3, size)
    return Boxed(t) if draw.random() < 0.4 else t


def argument(draw, pool):
    return draw.choice([draw.choice(pool), 0, 1, -1, 2, 1.5, (0, 1), [2, 3], None, "sum", tl.float64, True])


def call(draw, pool):
    name, x = draw.choice(NAMES), draw.choice(pool)
    made = getattr(x, name)(*[argument(draw, pool) for _ in range(draw.choice([0, 0, 1, 1, 1, 2, 3]))])
    for t in made if isinstance(made, (tuple, list)) else [made]:
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
        for _ in range(60):
            with contextlib.suppress(LookupError, RuntimeError, TypeError, AttributeError):
                program(draw)
                completed += 1
            assert not _C._mode_stack(_C._LAYER_PYTHON) and not _C._mode_stack(_C._LAYER_TRACE)
    assert completed > 30
