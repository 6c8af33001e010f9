"""What a compiled region lets wait is computed as if it had not waited, whatever a program does meanwhile."""

import copy
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import threading

import deferral_programs
import numpy as np
import pytest

import tl_core as tc
from tl_compiler import _C, compiler
from tl_compiler.compiler import compile as compiled

LEVELS = {"loops": 0, "avx2": 1, "avx512": 2}


@pytest.fixture(autouse=True)
def every_level_afterwards():
    yield
    _C.limit_emission(2)


@pytest.fixture
def x():
    return tc.randn(4096, generator=tc.Generator().manual_seed(1))


def counted(function, *args):
    """What a compiled function returns, and how the counters have grown."""
    before = _C.counters()
    result = compiled(function)(*args)
    return result, {name: count - before[name] for name, count in _C.counters().items()}


# ---- the same elements
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("threads", [1, 3])
def test_random_programs_compute_the_same_bits(level, threads):
    _C.limit_emission(LEVELS[level])
    before = tc.get_num_threads()
    tc.set_num_threads(threads)
    run = compiled(deferral_programs.run)
    count = int(os.environ.get("TL_DEFERRAL_PROGRAMS", "170"))
    first = LEVELS[level] * count
    try:
        result = {
            s: text for s in range(first, first + count) if (text := deferral_programs.differences(s, run))
        }
    finally:
        tc.set_num_threads(before)
    assert result == {}


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_random_programs_have_the_same_gradients(inside):
    run = compiled(deferral_programs.run_gradients if inside else deferral_programs.run_loss)
    count = int(os.environ.get("TL_DEFERRAL_PROGRAMS", "60" if inside else "200"))
    matches = {
        s: text
        for s in range(10_000, 10_000 + count)
        if (text := deferral_programs.gradient_differences(s, run, inside))
    }
    assert matches == {}


def arithmetic(np_or_tc, x, y, z):
    where, absolute = np_or_tc.where, np_or_tc.abs
    total = (x + y) * (x - y) / z - absolute(y) * 0.5
    return where(total > z, total * x, -total), np_or_tc.sqrt(absolute(total)), 1 / (z * z + 1)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1024, 1039, 5000, 100_001])
def test_arithmetic_rounds_as_numpy_does(level, dtype, size):
    _C.limit_emission(LEVELS[level])
    random = np.random.default_rng(size)
    arrays = [random.standard_normal(size).astype(dtype) for _ in range(3)]
    arrays[0][::7] = [np.nan, np.inf, -0.0, 0.0][size % 4]
    with np.errstate(all="ignore"):
        expected = arithmetic(np, *arrays)
    result, counts = counted(lambda *t: arithmetic(tc, *t), *(tc.tensor(a) for a in arrays))
    for a, b in zip(expected, result, strict=True):
        np.testing.assert_array_equal(b.numpy(), a)
    assert counts["groups"] == 1
    assert (counts["emitted"] > 10) == (level != "loops" and _C.emission_level() > 0)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [tc.float32, tc.float64])
def test_comparisons_and_bounds_choose_as_numpy_does(level, dtype):
    _C.limit_emission(LEVELS[level])
    x = tc.randn(64, 65, dtype=dtype).round(decimals=1)
    x[0, :3] = tc.tensor([float("nan"), float("inf"), float("-inf")])
    y = x.flip(0)
    a, b = x.numpy(), y.numpy()
    for name in ("gt", "ge", "lt", "le", "eq", "ne"):
        function = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}.get(
            name, {"eq": np.equal, "ne": np.not_equal}.get(name)
        )
        result = compiled(lambda x, y, name=name: tc.where(getattr(tc, name)(x, y), x * 2, y))(x, y)
        np.testing.assert_array_equal(result.numpy(), np.where(function(a, b), a * 2, b))
    result = compiled(lambda x, y: (tc.maximum(x, y) + tc.minimum(x, y), (x + 0).clamp(-1, 1)))(x, y)
    np.testing.assert_array_equal(result[0].numpy(), np.maximum(a, b) + np.minimum(a, b))
    np.testing.assert_array_equal(result[1].numpy(), np.clip(a, -1, 1))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_powers_are_products(level, dtype):
    _C.limit_emission(LEVELS[level])
    a = np.random.default_rng(3).standard_normal(2055).astype(dtype)
    a[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42]
    result, counts = counted(lambda x: (x**2 + 1, x**3 + 1, x**-1 + 1), tc.tensor(a))
    with np.errstate(all="ignore"):
        expected = (a * a + 1, a * a * a + 1, 1 / a + 1)
    for x, y in zip(expected, result, strict=True):
        np.testing.assert_array_equal(y.numpy(), x)
    assert counts["groups"] == 1
    result, counts = counted(lambda x: (x**1.7 + 1, (-x) ** 1), tc.tensor(a))
    assert counts["groups"] == 1
    if dtype is np.float32:
        np.testing.assert_array_equal(result[1].numpy(), -a)


@pytest.mark.parametrize("columns", [1, 3, 48, 1000, 1500, 4096])
def test_broadcasts_over_rows_of_any_length(columns):
    a, row, column = np.random.default_rng(columns).standard_normal(
        (3, 5000 // columns + 2, columns), "float32"
    )
    row, column = row[:1], column[:, :1]
    result, counts = counted(
        lambda a, row, column: ((a * row + column) * a - row).exp() * column,
        *(tc.tensor(x) for x in (a, row, column)),
    )
    expected = tc.exp(tc.tensor((a * row + column) * a - row)).numpy() * column
    np.testing.assert_array_equal(result.numpy(), expected)
    assert (counts["operators"], counts["groups"]) == (6, 1)


def test_transposed_and_strided_tensors_keep_their_strides(x):
    base = x.view(64, 64)
    function = lambda t: (t.t() * 2 + t.t()).relu() + t[:, :1]  # noqa: E731
    result = compiled(function)(base)
    assert result.stride() == function(base).stride()
    np.testing.assert_array_equal(result.numpy(), np.maximum(base.numpy().T * 3, 0) + base.numpy()[:, :1])
    assert compiled(lambda t: t.t() + 1)(base).stride() == (1, 64)


def test_numbers_are_parameters(x):
    step = compiled(lambda p, g, rate: p - rate * g)
    array = x.numpy()
    for i in range(50):
        rate = 0.1 / (i + 1)
        np.testing.assert_array_equal(step(x, x, rate).numpy(), array - np.float32(rate) * array)


@pytest.mark.parametrize("level", LEVELS)
def test_the_last_elements_of_a_tile_fall_on_no_other_buffer(level):
    _C.limit_emission(LEVELS[level])
    a = np.random.default_rng(0).uniform(1, 100, (2, 601, 12)).astype("float32").transpose(0, 2, 1)

    def program(x, y):  # a condition has smaller elements, and its buffer is free when `root` needs one
        larger, root = tc.where(x > y, x, y), tc.sqrt(x)
        full = x.to(tc.int64)
        return tc.rsqrt(root), root * y, tc.fmod(larger, full), full

    y = np.ones((1, 601), "float32")
    match = compiled(program)(tc.tensor(a), tc.tensor(y))
    root = np.sqrt(a)
    full = a.astype("int64")
    for result, expected in zip(
        match,
        (1 / np.sqrt(root), root, np.fmod(np.maximum(a, 1), full.astype("float32")), full),
        strict=True,
    ):
        np.testing.assert_array_equal(result.numpy(), expected)


def test_norms_and_softmax_of_rows_are_one_pass():
    a = np.random.default_rng(0).standard_normal((37, 600), "float32")
    x, w = tc.tensor(a), tc.tensor(a[0] + 1)
    mean = a.mean(-1, keepdims=True, dtype="float64")
    cases = [
        (lambda x: x * tc.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w,
         a / np.sqrt((a.astype("float64") ** 2).mean(-1, keepdims=True) + 1e-6) * (a[0] + 1), 6),
        (lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt(),
         (a - mean) / np.sqrt(a.astype("float64").var(-1, ddof=1, keepdims=True) + 1e-5), 6),
        (lambda x: (x * 2).softmax(-1) * w,
         np.exp(2 * a.astype("float64")) / np.exp(2 * a.astype("float64")).sum(-1, keepdims=True) * (a[0] + 1), 3),
        (lambda x: tc.max(x * 2, -1)[0] + tc.max(x * 2, -1)[1],
         a.max(-1) * 2 + a.argmax(-1), 5),
    ]  # fmt: skip
    for function, expected, operators in cases:
        result, counts = counted(function, x)
        np.testing.assert_allclose(result.numpy(), expected, rtol=3e-5, atol=3e-5)
        assert tc.equal(result, function(x))
        assert (counts["operators"], counts["batches"], counts["groups"]) == (operators, 1, 1)


def test_rows_in_an_order_that_is_not_theirs():
    a = np.random.default_rng(0).standard_normal((6, 7, 80), "float32")
    x = tc.tensor(a)
    function = lambda x, y: (x * y - (x * y).sum(-1, keepdim=True)) * x[..., :1] + x[..., 1:2]  # noqa: E731
    for y in (x[0], x[:, :1], x.transpose(0, 1).contiguous().transpose(0, 1), x[..., :1]):
        assert tc.equal(compiled(function)(x, y), function(x, y))
    for y in (x.transpose(0, 1), x.flip(-1).transpose(-1, -2), x[..., ::2], x[:, 1:]):
        z = y * 1
        function = lambda x, z: ((x + 1).softmax(-1) * z).amax(-1) + z.sum(-1)  # noqa: E731
        assert tc.equal(compiled(function)(y, z), function(y, z))
        assert tc.equal(compiled(lambda y: (y * 2).mean((0, 2)) / y.sum(1).amax())(y),
                        (y * 2).mean((0, 2)) / y.sum(1).amax())  # fmt: skip


def test_the_default_type_decides_anew():
    f = compiled(lambda t: t * 0.5)
    t = tc.arange(2000)
    assert f(t).dtype is tc.float32
    before = tc.get_default_dtype()
    tc.set_default_dtype(tc.float64)
    try:
        assert f(t).dtype is tc.float64
    finally:
        tc.set_default_dtype(before)


# ---- what waits
def test_only_work_on_many_elements_waits(x):
    assert counted(lambda t: t * 2 + 1, x)[1]["operators"] == 2
    assert counted(lambda t: t * 2 + 1, x[:1023])[1]["operators"] == 0


def test_nobody_waits_outside_of_regions(x):
    compiled(lambda t: t * 2)(x)
    before = _C.counters()
    x * 2 + 1
    assert _C.counters() == before


def test_results_that_nobody_holds_are_not_stored(x):
    result, counts = counted(lambda t: ((t + 1) * 2 - t).sum(), x)
    assert (counts["groups"], counts["loops"]) == (2, 4)
    assert result.item() == pytest.approx(float((x.double() + 2).sum()), rel=1e-4)
    result, counts = counted(lambda t: (t * 3, None)[1], x)
    assert (result, counts["operators"], counts["groups"]) == (None, 1, 0)


def test_regions_within_regions_are_one(x):
    inner = compiled(lambda t: t + 1)
    result, counts = counted(lambda t: inner(t) * 2, x)
    np.testing.assert_array_equal(result.numpy(), (x.numpy() + 1) * 2)
    assert (counts["operators"], counts["batches"]) == (2, 1)


# ---- what a program does meanwhile
def test_values_decide_and_python_runs(x):
    lines = []

    def program(t):
        y = t * 2
        lines.append(float(y[0]))
        return y - 1 if y.sum() > 0 else y + 1

    f = compiled(program)
    for t in (x.abs(), -x.abs()):
        sign = 1 if float(t.sum()) > 0 else -1
        np.testing.assert_array_equal(f(t).numpy(), t.numpy() * 2 - sign)
    assert lines == [float(x[0].abs() * 2), -float(x[0].abs() * 2)]


def test_writes_to_what_is_read(x):
    def program(t):
        y = t * 2
        t.add_(1)
        z = t * 3
        t[:] = 7
        return y, z

    before = x.numpy().copy()
    y, z = compiled(program)(x)
    np.testing.assert_array_equal(y.numpy(), before * 2)
    np.testing.assert_array_equal(z.numpy(), (before + 1) * 3)
    assert (x == 7).all()


def test_writes_to_what_waits_and_to_views_of_it(x):
    def program(t):
        y = t * 2
        v = y.view(64, 64)[::2]
        w = y.data
        z = y + 0
        v.add_(1)
        w[0] = 5
        return y, z, v

    y, z, v = compiled(program)(x)
    expected = x.numpy() * 2
    np.testing.assert_array_equal(z.numpy(), expected)
    expected.reshape(64, 64)[::2] += 1
    expected[0] = 5
    np.testing.assert_array_equal(y.numpy(), expected)
    assert v.data_ptr() == y.data_ptr()
    assert y._version == 1


def test_a_write_over_a_whole_result_waits_too(x):
    def program(t):
        y = t * 2
        before = y + 0
        v = y.view(64, 64)
        y.add_(1).mul_(t)
        y += v.view(-1)
        return y, before, v

    (y, before, v), counts = counted(program, x)
    array = x.numpy()
    expected = (array * 2 + 1) * array
    np.testing.assert_array_equal(y.numpy(), expected + expected)
    np.testing.assert_array_equal(v.numpy().reshape(-1), expected + expected)
    np.testing.assert_array_equal(before.numpy(), array * 2)
    assert (counts["operators"], counts["batches"], y._version) == (5, 1, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        compiled(lambda t: (t > 0).add_(1.5))(x)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        compiled(lambda t: (t * 2).add_(tc.ones(2, 4096)))(x)


def test_results_larger_than_the_caches():
    array = np.arange(8_500_003, dtype="float32") / 1e6
    t = tc.tensor(array)
    result, counts = counted(lambda t: (t * 2 + 1) * t - 3, t)
    np.testing.assert_array_equal(result.numpy(), (array * 2 + 1) * array - 3)
    assert counts["groups"] == 1


def test_memory_that_others_write_to():
    array = np.ones(4096, "float32")

    def from_array():
        y = tc.from_numpy(array) * 2
        array[:] = 5
        return y

    def through_array(t):
        y = t * 2
        t.numpy()[:] = 3
        z = t * 2
        t.numpy()[:] = 4
        return y, z

    def through_pointer(t):
        y = t * 2
        ctypes.memset(t.data_ptr(), 0, t.nbytes)
        return y

    def through_dlpack(t):
        y = t * 2
        np.from_dlpack(t)[:] = 3
        return y

    def through_storage(t):
        y = t * 2
        ctypes.memset(t.untyped_storage().data_ptr(), 0, t.nbytes)
        return y

    assert (compiled(from_array)() == 2).all()
    y, z = compiled(through_array)(tc.ones(4096))
    assert (y == 2).all() and (z == 6).all()
    for program in (through_pointer, through_dlpack, through_storage):
        t = tc.ones(4096)
        assert (compiled(program)(t) == 2).all(), program
        assert not (t == 1).any()


def test_doors_to_the_memory_of_what_waits(x):
    expected = x.numpy() * 2

    def program(t):
        make = lambda: t * 2  # noqa: E731
        copies = [make().numpy(), np.from_dlpack(make()), make().tolist(), memoryview(make()).tolist()]
        copies += [
            pickle.loads(pickle.dumps(make())).numpy(),
            copy.deepcopy(make()).numpy(),
            make().clone().numpy(),
        ]
        copies += [
            bytes(make().untyped_storage().tolist()),
            make().untyped_storage().nbytes(),
            make()[3].item(),
        ]
        return [*copies, str(make()), make().resize_(2, 2), make().share_memory_(), make().to(tc.float64)]

    *copies, raw, nbytes, item, text, small, shared, wide = compiled(program)(x)
    for array in copies:
        np.testing.assert_array_equal(np.asarray(array, "float32"), expected)
    assert (raw, nbytes, item, text) == (expected.tobytes(), 4 * 4096, expected[3], str(x * 2))
    np.testing.assert_array_equal(small.numpy(), expected[:4].reshape(2, 2))
    np.testing.assert_array_equal(shared.numpy(), expected)
    np.testing.assert_array_equal(wide.numpy(), expected)


def test_errors_are_raised_at_their_line(x):
    reached = []

    def program(t):
        y = t * 2
        reached.append("first")
        with pytest.raises(RuntimeError, match="must match the size"):
            y + tc.ones(3)
        with pytest.raises(RuntimeError, match=r"Subtraction, the `-` operator, with a bool tensor"):
            (t > 0) - (t > 0)
        reached.append("second")
        return y.view(-1, 5)

    with pytest.raises(RuntimeError, match="invalid for input of size"):
        compiled(program)(x)
    assert reached == ["first", "second"]


def test_errors_that_depend_on_values_are_raised_at_their_line():
    t = tc.arange(4096)
    records = []

    def program(t):
        try:
            return t // (t * 0)
        except RuntimeError as error:
            records.append(str(error))
            return t + 1

    assert compiled(program)(t)[0] == 1
    assert records == ["ZeroDivisionError"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_waits_outlives_an_exception(x, error):
    values = []

    def program(t):
        values.append(t * 2)
        values.append(values[0] + 1)
        if error is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise error("stop")

    with pytest.raises(error):
        compiled(program)(x)
    np.testing.assert_array_equal(values[1].numpy(), x.numpy() * 2 + 1)
    assert counted(lambda t: t * 2, x.clone())[1]["operators"] == 1
    assert tc.equal(x * 2, values[0])


def test_threads_meet_what_waits(x):
    result = {}

    def program(t):
        y = t * 2

        def read():
            result["sum"] = float((y + 1).sum())

        def write():
            t.fill_(9)

        for work in (read, write):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return y

    expected = x.numpy() * 2
    np.testing.assert_array_equal(compiled(program)(x).numpy(), expected)
    assert result["sum"] == pytest.approx(float((expected + 1).sum(dtype="float64")), rel=1e-3)


def test_two_threads_compile_at_once():
    f = compiled(lambda t, n: (t * n + 1) * t)
    wrong = []

    def work(n):
        t = tc.full((70_000,), float(n))
        wrong.extend(i for i in range(50) if not bool((f(t, i) == (n * i + 1) * n).all()))

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_forked_child_has_what_waits(x):
    def program(t):
        y = t * 2
        child = os.fork()
        if child == 0:
            os._exit(0 if bool((y == t + t).all()) else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return y

    np.testing.assert_array_equal(compiled(program)(x).numpy(), x.numpy() * 2)


# Two results of 400 MB where there is memory for one: the error, and then each of them by itself.
SCARCE = """
import resource, tl_core as tc
from tl_compiler.compiler import compile
x = tc.ones(100_000_000)
held = []
f = compile(lambda t: held.extend([t * 2, t * 3]))
f(x[:2000]); held.clear()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 600_000_000, -1))
try:
    f(x)
except RuntimeError as error:
    print("memory" in str(error))
del held[1]
print(float(held[0][-1]))
"""


def test_results_that_do_not_fit_wait_on():
    process = subprocess.run([sys.executable, "-c", SCARCE], capture_output=True, text=True, timeout=300)
    assert process.stdout.split() == ["True", "2.0"], process.stderr


# ---- gradients
def test_gradients_are_the_same_bits(x):
    from tl_autograd import grad

    def loss(t, w):
        return (0.5 * t * (1 + tc.tanh(0.8 * (t + 0.04 * t * t * t))) * w).sum()

    def step(t, w):
        return grad(loss(t, w), [t, w])

    def inputs():
        return x.clone().requires_grad_(), (x * 0.5).requires_grad_()

    expected = step(*inputs())
    result, counts = counted(step, *inputs())
    assert all(tc.equal(a, b) for a, b in zip(expected, result, strict=True))
    assert counts["operators"] > 20
    t, w = inputs()
    assert all(tc.equal(a, b) for a, b in zip(expected, grad(compiled(loss)(t, w), [t, w]), strict=True))


def test_a_write_to_what_a_gradient_needs_is_still_an_error(x):
    def program(t):
        y = t.exp()
        z = y * 2
        y.add_(1)
        return z, y

    z, y = compiled(program)(x.clone().requires_grad_())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (z.sum() + y.sum()).backward()


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_modes_hold_inside(x, mode):
    context = {"no_grad": tc.no_grad, "inference_mode": tc.inference_mode}[mode]

    def program(t):
        with context():
            return t * 2 + 1

    result = compiled(program)(x.clone().requires_grad_())
    assert not result.requires_grad
    assert result.is_inference() == (mode == "inference_mode")
    np.testing.assert_array_equal(result.numpy(), x.numpy() * 2 + 1)


def test_code_in_a_region_is_compiling(x):
    states = []

    def program(t):
        states.append((compiler.is_compiling(), compiler.is_dynamo_compiling(), compiler.is_exporting()))
        other = threading.Thread(target=lambda: states.append(compiler.is_compiling()))
        other.start()
        other.join()
        return t * 2

    compiled(program)(x)
    assert states == [(True, True, False), False]
    assert not compiler.is_compiling()


# ---- settings
def test_what_is_told_not_to_compile_does_not(x):
    f = lambda t: t * 2  # noqa: E731
    with compiler.set_stance("force_eager"):
        assert counted(f, x)[1]["operators"] == 0
    assert counted(f, x)[1]["operators"] == 1
    assert compiled(f, disable=True) is f


def test_functions_of_the_module_check_their_arguments():
    with pytest.raises(TypeError, match=r"run\(function, args, kwargs\) expects a tuple and a dictionary"):
        _C.run(len, [1], {})
    with pytest.raises(ValueError, match=r"limit_emission\(level\): expected 0, 1 or 2, got 3"):
        _C.limit_emission(3)


def test_functions_of_dlpack_in_c_wait_for_the_elements():
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = get_pointer(tc.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    entries = (ctypes.c_void_p * 6).from_address(table + 8)  # behind the two numbers of the version
    describe = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(entries[4])

    def third_element(x):
        y = x * 2 + 1
        view = (ctypes.c_void_p * 8)()  # DLTensor: the address of the elements comes first
        assert describe(y, ctypes.addressof(view)) == 0
        return (ctypes.c_float * 3).from_address(view[0])[2], y

    x = tc.arange(4096, dtype=tc.float32)
    element, y = compiled(third_element)(x)
    assert element == 5.0 == y[2].item()
