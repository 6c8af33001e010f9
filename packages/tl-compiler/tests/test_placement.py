"""Temporaries of a program share an arena, and results take over memory that is read for the last time."""

import pytest

import tl_core as tc
from tl_compiler import _C
from tl_compiler.compiler import compile as compiled
from tl_core.memory import usage

ROWS, COLUMNS = 512, 512
BYTES = ROWS * COLUMNS * 4  # of one matrix
SMALL = BYTES // 8  # sums, objects


@pytest.fixture(autouse=True)
def every_level_afterwards():
    threads = tc.get_num_threads()
    yield
    _C.limit_emission(2)
    tc.set_num_threads(threads)


def softmax_of_columns(x, y):
    e = tc.exp(x - x.amax(0, keepdim=True))
    return e / e.sum(0, keepdim=True)


def centered_twice(x, y):
    a = x * y
    b = a * y - a.mean(0)
    return (b * b - b.mean(0)).sum(0)


def held_between(x, y):
    a = x * y
    b = a / a.sum(0)
    return a, b, (b * y).sum(0)


def read_across(x, y):
    a = x * y
    s = a.sum(0)
    return a * s + a.flip(0)[:, :1], a.t()[:, :1] * 2


def read_after(x, y):
    a = x * y + 1
    b = a - a.mean(0)
    return b / ((a * b).sum(0) + a.amax(0)), a.amax(0)


def of_other_types(x, y):
    a = (x * y).double()
    b = (a / (a * a).sum(0)).to(x.dtype)
    return b, (b > b.amax(0) / 2) & (a > 0)


def twelve_rounds(x, y):
    for i in range(12):
        x = x * y + i
        x = x - x.mean(0)
    return x


def three_sums(x, y):
    return (x * y).sum(0), (tc.exp(x) * y).sum(0), (x - y).abs().sum(0)


PROGRAMS = [
    softmax_of_columns,
    centered_twice,
    held_between,
    read_across,
    read_after,
    of_other_types,
    twelve_rounds,
    three_sums,
]


def flat(result):
    return result if isinstance(result, tuple) else (result,)


def peak_of(function, *args):
    """The bytes that a call takes at a time, of its third run."""
    for _ in range(2):
        function(*args)
    usage.reset_peak_memory_stats()
    before = usage.memory_allocated()
    result = function(*args)
    peak = usage.max_memory_allocated() - before
    del result
    return peak


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_bits_are_those_of_eager(program, threads, level):
    _C.limit_emission(level)
    tc.set_num_threads(threads)
    random = tc.Generator().manual_seed(level)
    run = compiled(program)
    for rows, columns in [(2, 513), (33, 40), (300, 257), (1200, 100)]:
        for dtype in (tc.float32, tc.float64, tc.bfloat16):
            x, y = (tc.rand(rows, columns, generator=random).add_(0.1).to(dtype) for _ in range(2))
            for a, b in ((x, y), (x.t().contiguous().t(), y), (x[::2], y[::2])):
                expected = flat(program(a, b))
                inputs = a.clone(), b.clone()
                for _ in range(2):  # a saved plan as well
                    result = flat(run(a, b))
                    assert [t.stride() for t in result] == [t.stride() for t in expected]
                    assert all(tc.equal(s, t) for s, t in zip(result, expected, strict=True))
                assert tc.equal(a, inputs[0])
                assert tc.equal(b, inputs[1])


def test_results_do_not_share_memory():
    x, y = tc.rand(ROWS, COLUMNS), tc.rand(ROWS, COLUMNS)
    run = compiled(held_between)
    first = run(x, y)
    copies = [t.clone() for t in first]
    second = run(y, x)
    assert all(tc.equal(a, b) for a, b in zip(first, copies, strict=True))
    for t in (*first, *second):
        t.zero_()
    assert all(tc.equal(a, b) for a, b in zip(run(x, y), copies, strict=True))


@pytest.mark.parametrize(
    ("program", "matrices"),
    [(softmax_of_columns, 1), (centered_twice, 2), (twelve_rounds, 1), (three_sums, 3)],
    ids=lambda p: getattr(p, "__name__", ""),
)
def test_a_program_takes_no_more_memory_than_it_reads_at_a_time(program, matrices):
    x, y = tc.rand(ROWS, COLUMNS), tc.rand(ROWS, COLUMNS)
    assert peak_of(compiled(program), x, y) <= matrices * BYTES + SMALL
