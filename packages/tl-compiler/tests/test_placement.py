"""Temporaries of a program share an arena, and results take over memory that is read for the last time."""

import signal

import pytest

import tl_core as tc
from tl_compiler import _C
from tl_compiler.compiler import compile as compiled
from tl_core.memory import usage

ROWS, COLUMNS = 512, 512
BYTES = ROWS * COLUMNS * 4  # of one matrix
SMALL = BYTES // 4  # sums, buffers of threads, objects


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


# ---- inputs that nobody else holds
def linear(x, w, b):
    return tc.addmm(b, x, w)


def rectified(x, w, b):
    return tc.relu(linear(x, w, b))


def gated(x, w, b):
    y = linear(x, w, b)
    return y * tc.sigmoid(y) + x[:, :1]


def residual(x, w, b):
    return tc.relu(linear(x, w, b) + linear(x * 2, w, b))


def two_layers(x, w, b):
    h = tc.tanh(linear(x, w, b)) * 2
    return tc.relu(linear(h, w, b)) + h


def held_product(x, w, b):
    y = linear(x, w, b)
    return tc.relu(y), y


def viewed_product(x, w, b):
    y = linear(x, w, b)
    return tc.relu(y) + y[:, :1], y.t()


def written_product(x, w, b):
    y = linear(x, w, b)
    z = tc.relu(y)
    y.mul_(2)
    return z + y


def turned_product(x, w, b):
    y = linear(x, w, b)
    return y * 2 + y.t()


def reduced_product(x, w, b):
    y = linear(x, w, b)
    return (y - y.mean(0)) * 2, y.amax()


def cast_product(x, w, b):
    y = linear(x, w, b)
    return (y + 1).to(tc.float64), (y > 0) & (y < 1)


TAILS = [
    rectified,
    gated,
    residual,
    two_layers,
    held_product,
    viewed_product,
    written_product,
    turned_product,
    reduced_product,
    cast_product,
]


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("program", TAILS, ids=lambda p: p.__name__)
def test_what_follows_a_product_has_the_bits_of_eager(program, threads, level):
    _C.limit_emission(level)
    tc.set_num_threads(threads)
    random = tc.Generator().manual_seed(level)
    run = compiled(program)
    for size in (33, 129, 400):
        for dtype in (tc.float32, tc.float64, tc.bfloat16):
            args = [tc.randn(*s, generator=random).to(dtype) for s in ((size, size), (size, size), (size,))]
            copies = [t.clone() for t in args]
            expected = flat(program(*args))
            for _ in range(2):
                result = flat(run(*args))
                assert [t.stride() for t in result] == [t.stride() for t in expected]
                assert all(tc.equal(s, t) for s, t in zip(result, expected, strict=True))
                assert all(tc.equal(s, t) for s, t in zip(args, copies, strict=True))


@pytest.mark.parametrize("program", [rectified, gated])
def test_what_follows_a_product_takes_its_memory(program):
    x, w, b = tc.rand(ROWS, COLUMNS), tc.rand(COLUMNS, COLUMNS), tc.rand(COLUMNS)
    alone, both = peak_of(compiled(linear), x, w, b), peak_of(compiled(program), x, w, b)
    assert BYTES <= both <= alone + SMALL
    assert peak_of(program, x, w, b) >= 2 * BYTES


def test_a_view_of_a_larger_product_gets_memory_of_its_own():
    x = tc.rand(ROWS, COLUMNS)
    result = compiled(lambda x: tc.relu((x @ x)[: ROWS // 2]))(x)
    assert result.untyped_storage().nbytes() == BYTES // 2
    assert tc.equal(result, tc.relu((x @ x)[: ROWS // 2]))


def test_memory_that_numpy_sees_is_not_taken():
    x, arrays = tc.rand(64, 64), []

    def program(x):
        y = x @ x
        arrays.append(y.numpy())
        return tc.relu(y - 20)

    result = compiled(program)(x)
    assert tc.equal(tc.tensor(arrays[0]), x @ x)
    assert tc.equal(result, tc.relu(x @ x - 20))


def test_saved_products_are_not_taken():
    from tl_autograd import grad

    def loss(x, w):
        y = tc.mm(x, w)
        return (tc.tanh(y * y) + tc.relu(y)).square().sum()

    def step(x, w):
        return grad(loss(x, w), [x, w])

    x, w = tc.randn(80, 80).requires_grad_(), tc.randn(80, 80).requires_grad_()
    expected = step(x, w)
    for function in (compiled(step), lambda x, w: grad(compiled(loss)(x, w), [x, w])):
        assert all(tc.equal(s, t) for s, t in zip(function(x, w), expected, strict=True))


# A signal while results are written over a product: the error is raised, and the results are whole.
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_call_ends_what_it_overwrites(threads):
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    tc.set_num_threads(threads)
    results = []

    def program(x):
        y = x @ x[:, :1].expand(-1, 4_000_000 // 500)
        z = y
        for _ in range(60):
            z = tc.erfinv(tc.tanh(z * 0.5))
        del y
        results.append(z)

    x = tc.rand(500, 500)
    expected = []
    program(x)
    expected, results[:] = results[:], []
    run = compiled(program)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        with pytest.raises(Alarm):
            for _ in range(50):
                results.clear()
                run(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert results
    assert all(tc.equal(result, expected[0]) for result in results)
