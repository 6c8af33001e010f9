"""Replay of calls: context variables, values that change for a time, arguments that are reached in other ways."""

from __future__ import annotations

import collections
import contextvars
import functools
import threading
import types
from collections.abc import Callable
from typing import Any

import pytest

import tl_core as tl
from tl_compiler import _C
from tl_compiler.compiler import compile, is_compiling  # noqa: A004

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")
GAIN: contextvars.ContextVar[Any] = contextvars.ContextVar("gain")
WITH_DEFAULT: contextvars.ContextVar[Any] = contextvars.ContextVar("with_default", default=2)
LEVEL = 1


def fast(function: Callable[..., Any]) -> Any:
    return compile(function, mode="reduce-overhead")


def tapes(function: Any) -> list[Any]:
    replays = function.get_compiled().replays
    result: list[Any] = replays.tapes
    return result


def example() -> Any:
    return tl.tensor([1.0, -2.0, 4.0])


# ---- context variables
def read(x: Any) -> Any:
    return x * GAIN.get()


def read_with_default(x: Any) -> Any:
    return x * WITH_DEFAULT.get()


def read_or_three(x: Any) -> Any:
    return x * WITH_DEFAULT.get(3)


def read_list(x: Any) -> Any:
    return x * sum(GAIN.get())


def read_tensor(x: Any) -> Any:
    return x * GAIN.get()


def name_of(x: Any) -> Any:
    return x * len(GAIN.name)


CHANGES: dict[str, tuple[Callable[..., Any], list[Callable[[], Any]]]] = {
    "a number": (read, [lambda: GAIN.set(2), lambda: GAIN.set(5), lambda: GAIN.set(5.0), lambda: GAIN.set(True)]),
    "a default": (
        read_with_default,
        [lambda: None, lambda: WITH_DEFAULT.set(2), lambda: WITH_DEFAULT.set(7), lambda: WITH_DEFAULT.set(2)],
    ),
    "a default of the call": (
        read_or_three,
        [lambda: None, lambda: WITH_DEFAULT.set(2), lambda: WITH_DEFAULT.set(3), lambda: WITH_DEFAULT.set(4)],
    ),
    "a list": (read_list, [lambda: GAIN.set([1, 2]), lambda: GAIN.get().append(4), lambda: GAIN.set([1, 2])]),
    "a tensor": (
        read_tensor,
        [lambda: GAIN.set(tl.ones(3)), lambda: GAIN.get().mul_(3), lambda: GAIN.set(tl.full((3,), 2.0))],
    ),
    "a name": (name_of, [lambda: None, lambda: GAIN.set(1)]),
}  # fmt: skip


@recorded
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_a_context_variable_is_seen(name: str) -> None:
    program, changes = CHANGES[name]

    def run() -> None:
        f, x = fast(program), example()
        for change in changes:
            change()
            for _ in range(3):
                assert tl.equal(f(x), program(x))
                assert tl.equal(f(2 * x), program(2 * x))
        assert tapes(f)

    contextvars.copy_context().run(run)


@recorded
def test_a_call_in_another_context_reads_the_variable_there() -> None:
    f, x = fast(read_with_default), example()
    other = contextvars.copy_context()
    other.run(WITH_DEFAULT.set, 11)

    def run() -> None:
        WITH_DEFAULT.set(5)
        for _ in range(4):
            assert tl.equal(f(x), 5 * x)
            assert tl.equal(other.run(f, x), 11 * x)

    contextvars.copy_context().run(run)
    results = []
    thread = threading.Thread(target=lambda: results.append(f(x)))
    thread.start()
    thread.join()
    assert tl.equal(results[0], 2 * x)


@recorded
def test_an_unset_variable_raises_at_each_call() -> None:
    def run() -> None:
        f, x = fast(read), example()
        for _ in range(4):
            with pytest.raises(LookupError):
                f(x)
        GAIN.set(3)
        for _ in range(4):
            assert tl.equal(f(x), 3 * x)

    contextvars.copy_context().run(run)


def set_for_a_time(x: Any) -> Any:
    token = WITH_DEFAULT.set(WITH_DEFAULT.get() + 1)
    try:
        return x * WITH_DEFAULT.get()
    finally:
        WITH_DEFAULT.reset(token)


def set_for_good(x: Any) -> Any:
    WITH_DEFAULT.set(WITH_DEFAULT.get() + 1)
    return x * WITH_DEFAULT.get()


@recorded
@pytest.mark.parametrize("program", [set_for_a_time, set_for_good])
def test_variables_that_the_call_sets(program: Callable[..., Any]) -> None:
    def run() -> Any:
        f, x = fast(program), example()
        expected = 2
        for change in range(3):
            for _ in range(3):
                expected += 1
                assert tl.equal(f(x), expected * x)
                if program is set_for_a_time:
                    expected -= 1
                assert WITH_DEFAULT.get() == expected
            expected = 10 + change
            WITH_DEFAULT.set(expected)
        return f

    f = contextvars.copy_context().run(run)
    assert bool(tapes(f)) == (program is set_for_a_time)


# ---- attributes that have another value for a time
class Collector:
    """What libraries do whose hooks are active during a call."""

    extra: int

    def __init__(self) -> None:
        self.active: Any = None
        self.depth = 0
        self.scale = 2.0
        self.table = {"mode": "a"}

    def collect(self, x: Any) -> None:
        if self.active is not None:
            self.active["values"].append(x)


def run_collected(s: Collector, x: Any) -> Any:
    collected: dict[str, list[Any]] = {"values": []}
    s.active, s.depth = collected, s.depth + 1
    try:
        y = x * s.scale
        s.collect(y)
        y = y + s.depth
        s.collect(y)
    finally:
        s.active, s.depth = None, s.depth - 1
    return y, tuple(collected["values"])


@recorded
def test_an_attribute_that_changes_for_a_time_is_replayed() -> None:
    s, x = Collector(), example()
    f = fast(lambda v: run_collected(s, v))
    for number in range(6):
        v = x + number
        y, values = f(v)
        assert tl.equal(y, 2 * v + 1) and tl.equal(values[0], 2 * v) and values[1] is y
        assert s.active is None and s.depth == 0
    assert tapes(f)
    s.depth = 4
    assert tl.equal(f(x)[0], 2 * x + 5) and s.depth == 4
    s.active = {"values": []}
    assert tl.equal(f(x)[0], 2 * x + 5) and s.active is None
    s.scale = 3.0
    assert tl.equal(f(x)[0], 3 * x + 5)


def change_global(x: Any) -> Any:
    global LEVEL
    before = LEVEL
    LEVEL = before + 1
    y = x * LEVEL
    LEVEL = before
    return y


def change_entry(x: Any, s: Collector) -> Any:
    before = s.table["mode"]
    s.table["mode"] = "b"
    y = x * (2 if s.table["mode"] == "b" else 3)
    s.table["mode"] = before
    return y


@recorded
def test_globals_and_entries_that_change_for_a_time() -> None:
    f, g, x, s = fast(change_global), fast(change_entry), example(), Collector()
    for _ in range(4):
        assert tl.equal(f(x), x * (LEVEL + 1))
        assert tl.equal(g(x, s), 2 * x) and s.table == {"mode": "a"}
    globals()["LEVEL"] = 7
    assert tl.equal(f(x), 8 * x) and LEVEL == 7
    s.table["mode"] = "c"
    assert tl.equal(g(x, s), 2 * x) and s.table == {"mode": "c"}
    del s.table["mode"]
    with pytest.raises(KeyError):
        g(x, s)
    assert tapes(f) and tapes(g)
    globals()["LEVEL"] = 1


def test_a_variable_of_an_enclosing_function_that_changes_for_a_time() -> None:
    depth = 1

    def nested(x: Any) -> Any:
        nonlocal depth
        depth += 1
        y = x * depth
        depth -= 1
        return y

    f, x = fast(nested), example()
    for _ in range(4):
        assert tl.equal(f(x), 2 * x) and depth == 1
    depth = 5
    for _ in range(4):
        assert tl.equal(f(x), 6 * x) and depth == 5


# Programs whose change stays, in some calls or in all.
def never_restores(x: Any, s: Collector) -> Any:
    s.depth += 1
    return x * s.depth


def restores_another_value(x: Any, s: Collector) -> Any:
    s.depth = s.depth + 1
    y = x * s.depth
    s.depth = 3
    return y


def restores_an_equal_object(x: Any, s: Collector) -> Any:
    before = s.active
    s.active = [1]
    y = x * len(s.active)
    s.active = None if before is None else list(before)
    return y


def restores_where_the_value_says_so(x: Any, s: Collector) -> Any:
    before = s.depth
    s.depth = before + 1
    y = x * s.depth
    if y.sum() > 0:
        s.depth = before
    return y


def adds_an_attribute(x: Any, s: Collector) -> Any:
    s.extra = getattr(s, "extra", 0) + 1
    y = x * s.extra
    del s.extra
    return y


@recorded
@pytest.mark.parametrize(
    "program",
    [
        never_restores,
        restores_another_value,
        restores_an_equal_object,
        restores_where_the_value_says_so,
        adds_an_attribute,
    ],
)
def test_a_change_that_stays_happens_at_each_call(program: Callable[..., Any]) -> None:
    own, twin, x = Collector(), Collector(), example()
    f = fast(lambda v: program(v, own))
    for number in range(8):
        v = -x if number in (5, 6) else x
        if number == 3:
            own.active, twin.active = [1, 2], [1, 2]
        before = own.active
        assert tl.equal(f(v), program(v, twin))
        assert vars(own) == vars(twin)
        if program is restores_an_equal_object and before is not None:
            assert own.active is not before


def fails_inside(x: Any, s: Collector, index: Any) -> Any:
    s.depth += 1
    y = x.index_select(0, index)
    s.depth -= 1
    return y


def test_an_error_leaves_the_state_that_python_leaves() -> None:
    s, x = Collector(), example()
    f = fast(lambda i: fails_inside(x, s, i))
    good, bad = tl.tensor([0, 2]), tl.tensor([0, 9])
    for _ in range(4):
        assert tl.equal(f(good), x[good])
    assert s.depth == 0
    with pytest.raises((IndexError, RuntimeError)):
        f(bad)
    assert s.depth == 1
    with pytest.raises((IndexError, RuntimeError)):
        f(bad)
    assert s.depth == 2
    assert tl.equal(f(good), x[good]) and s.depth == 2


def writes_and_fails_inside(x: Any, s: Collector, index: Any) -> Any:
    x.mul_(2)
    s.depth += 1
    y = x.index_select(0, index)
    s.depth -= 1
    return y


def test_an_error_after_a_write_leaves_the_state_that_python_leaves() -> None:
    s, x = Collector(), example()
    f = fast(lambda i: writes_and_fails_inside(x, s, i))
    for number in range(1, 5):
        assert tl.equal(f(tl.tensor([0])), tl.tensor([2.0**number])) and s.depth == 0
    with pytest.raises((IndexError, RuntimeError)):
        f(tl.tensor([9]))
    assert s.depth == 1 and x[0] == 32


# ---- arguments that are reached in another way too
HELD: Any = None
HELD_IN_A_TUPLE: Any = None


def reads_a_global(x: Any, s: Any) -> Any:
    return x * 2 + HELD


def reads_a_tuple(x: Any, s: Any) -> Any:
    return x * 2 + HELD_IN_A_TUPLE[1][0]


def reads_an_attribute(x: Any, s: Any) -> Any:
    return x * 2 + s.held


def reads_a_list(x: Any, s: Any) -> Any:
    return x * 2 + s.items[0]


def reads_a_context(x: Any, s: Any) -> Any:
    return x * 2 + GAIN.get()


def reads_a_part(x: Any, s: Any) -> Any:
    return s.partial(x * 2)


def reads_a_default(x: Any, s: Any) -> Any:
    return s.function(x * 2)


def reads_a_gradient(x: Any, s: Any) -> Any:
    return x * 2 + s.weight.grad


def reads_a_method(x: Any, s: Any) -> Any:
    return s.method(x * 2)


@recorded
@pytest.mark.parametrize(
    "program",
    [
        reads_a_global, reads_a_tuple, reads_an_attribute, reads_a_list, reads_a_context, reads_a_part,
        reads_a_default, reads_a_gradient, reads_a_method,
    ],
)  # fmt: skip
def test_an_argument_that_the_state_holds_too(program: Callable[..., Any]) -> None:
    def hold(t: Any) -> types.SimpleNamespace:
        globals()["HELD"] = t
        globals()["HELD_IN_A_TUPLE"] = (1, (t, 2))
        GAIN.set(t)
        weight = tl.zeros(3).requires_grad_()
        weight.grad = t

        def added(v: Any, w: Any = t) -> Any:
            return v + w

        return types.SimpleNamespace(
            held=t,
            items=[t],
            partial=functools.partial(tl.add, t),
            function=added,
            weight=weight,
            method=t.__add__,
        )

    def run() -> None:
        x, y = example(), 10 * example()
        s = hold(x)
        f = fast(lambda v: program(v, s))
        for _ in range(3):
            assert tl.equal(f(x), 3 * x)
        for _ in range(3):
            assert tl.equal(f(y), 2 * y + x)
            assert tl.equal(f(x), 3 * x)
        s = hold(y)
        for _ in range(3):
            assert tl.equal(f(y), 3 * y)
            assert tl.equal(f(x), 2 * x + y)

    contextvars.copy_context().run(run)


@recorded
def test_a_list_that_is_an_argument_and_in_a_tuple() -> None:
    s = types.SimpleNamespace(pair=None, method=None)

    def program(x: Any, items: Any) -> Any:
        return x * len(s.pair[0]) + sum(items) + s.method(1)

    f, x = fast(program), example()
    first, second = [1, 2], [1, 2]
    s.pair, s.method = (first,), first.count
    for items in (first, first, first, second, second, first):
        assert tl.equal(f(x, items), program(x, items))
    first.append(1)
    for items in (second, first, second):
        assert tl.equal(f(x, items), program(x, items))


@recorded
def test_compiled_code_is_told_so_by_each_call() -> None:
    f = fast(lambda x: x * (2 if is_compiling() else 3))
    assert all(tl.equal(f(example()), 2 * example()) for _ in range(5))
    assert tapes(f)


# ---- what libraries of models use
THREAD = threading.local()


class Renaming(type):
    """A metaclass that only sees which attributes its classes get."""

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name.lower(), value)


class Output(collections.OrderedDict[str, Any], metaclass=Renaming):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, value in kwargs.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        super().__setattr__(name, value)


class Counting(type):
    """A metaclass that decides what a call of its classes does."""

    count = 0

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        Counting.count += 1
        return super().__call__(*args, **kwargs)


class Counted(metaclass=Counting):
    def __init__(self, n: float) -> None:
        self.n = n


@recorded
def test_an_object_whose_class_has_a_metaclass() -> None:
    f, x = fast(lambda v: Output(a=v * 2, b=(v + 1,))), example()
    for number in range(4):
        result = f(x + number)
        assert type(result) is Output and list(result) == ["a", "b"] and result.b is result["b"]  # type: ignore[attr-defined]
        assert tl.equal(result["a"], (x + number) * 2) and tl.equal(result["b"][0], x + number + 1)
    assert tapes(f)
    g = fast(lambda v: v * Counted(2.0).n)
    before = Counting.count
    for number in range(1, 6):
        assert tl.equal(g(x), 2 * x) and Counting.count == before + number


@recorded
def test_an_attribute_of_the_thread() -> None:
    def program(x: Any) -> Any:
        return x * getattr(THREAD, "gain", 3)

    f, x = fast(program), example()
    for change in (None, 2, 5, "absent", 2):
        if change == "absent":
            del THREAD.gain
        elif change is not None:
            THREAD.gain = change
        for _ in range(3):
            assert tl.equal(f(x), program(x))
    assert tapes(f)
    results = []
    thread = threading.Thread(target=lambda: results.append(f(x)))
    thread.start()
    thread.join()
    assert tl.equal(results[0], 3 * x)
    del THREAD.gain


@recorded
def test_an_attribute_that_a_tensor_lacks() -> None:
    weight = tl.ones(3)

    def program(x: Any) -> Any:
        return x * (2 if hasattr(x, "tag") else 3) * (weight.tag if hasattr(weight, "tag") else weight)

    f, x = fast(program), example()
    for _ in range(4):
        assert tl.equal(f(x), 3 * x)
    assert tapes(f)
    weight.tag = tl.full((3,), 5.0)
    for _ in range(4):
        assert tl.equal(f(x), 15 * x)
    weight.tag = tl.full((3,), 7.0)
    assert tl.equal(f(x), 21 * x)
    tagged = example()
    tagged.tag = 1
    assert tl.equal(f(tagged), 14 * x) and tl.equal(f(x), 21 * x)


@recorded
def test_views_of_an_ordered_dictionary_and_types_of_numbers() -> None:
    table = collections.OrderedDict(gain=2.0)

    def program(x: Any) -> Any:
        for name, value in table.items():
            x = x * value + len(name)
        return x.to(x.dtype.to_complex()).real

    f, x = fast(program), example()
    for _ in range(4):
        assert tl.equal(f(x), program(x))
    assert tapes(f)
    table["gain"] = 3.0
    assert tl.equal(f(x), program(x))
    table["other"] = 4.0
    assert tl.equal(f(x), program(x))


@recorded
def test_functions_of_programs_that_import_torch() -> None:
    names = {function: function.__module__ for function in (tl.relu, tl.add, tl.fft.rfft)}
    try:
        for function in names:
            function.__module__ = "torch"
        f, x = fast(lambda v: tl.fft.rfft(tl.add(tl.relu(v), 1)).abs()), example()
        for number in range(4):
            assert tl.equal(f(x + number), tl.fft.rfft(tl.add(tl.relu(x + number), 1)).abs())
        assert tapes(f)
    finally:
        for function, name in names.items():
            function.__module__ = name


@recorded
def test_a_mode_that_begins_after_the_recording() -> None:
    from tl_compiler.compiler import is_exporting
    from tl_core.subclasses.python_dispatch import TorchDispatchMode

    seen: list[Any] = []

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    f, x = fast(lambda v: v * (3 if is_exporting() else 2)), example()
    for _ in range(4):
        assert tl.equal(f(x), 2 * x)
    assert tapes(f)
    with Counter():
        assert tl.equal(f(x), 2 * x)
    assert seen
