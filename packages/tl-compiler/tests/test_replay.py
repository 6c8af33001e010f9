"""Tests of the replay of calls: what it sees between calls, what it leaves to Python, and that results are equal."""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
import weakref
from typing import Any

import pytest
import replay_programs

import tl_core
import tl_nn
from tl_compiler import _C
from tl_compiler.compiler import compile, explain  # noqa: A004
from tl_core.overrides import TorchFunctionMode

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")
_PROGRAMS = int(os.environ.get("TL_REPLAY_PROGRAMS", "10"))


def fast(function: Any) -> Any:
    return compile(function, mode="reduce-overhead")


def tapes(function: Any) -> list[Any]:
    compiled = getattr(function, "dynamo_ctx", function).get_compiled()
    return compiled.replays.tapes


def is_replayed(function: Any, *args: Any) -> bool:
    """Whether the next call runs no code of the function."""
    code = getattr(function, "_torchdynamo_orig_callable", function).__code__
    seen = []
    compiled = function.get_compiled()
    inner = compiled.replays.function

    def observed(*a: Any, **k: Any) -> Any:
        seen.append(code)
        return inner(*a, **k)

    compiled.replays.function = observed
    try:
        function(*args)
    finally:
        compiled.replays.function = inner
    return not seen


@pytest.mark.parametrize("seed", range(_PROGRAMS))
def test_random_programs_with_changing_state(seed: int) -> None:
    difference, _ = replay_programs.check(seed)
    assert difference is None, difference


@recorded
def test_random_programs_are_replayed() -> None:
    assert sum(bool(replay_programs.check(seed)[1]) for seed in range(100, 103)) >= 1


def ones() -> Any:
    return tl_core.ones(3)


class Holder:
    gain = 2.0

    def __init__(self) -> None:
        self.scale = 2.0
        self.items = [1, 2]
        self.weight = tl_core.ones(3)

    def __call__(self, x: Any) -> Any:
        return x * self.scale + self.weight * sum(self.items) + self.gain


@recorded
def test_a_call_of_operators_alone_is_replayed() -> None:
    @fast
    def f(x: Any, y: Any) -> Any:
        return {"sum": x + y, "parts": [x.relu(), (y.neg(), 3)]}

    for _ in range(3):
        f(ones(), ones())
    assert is_replayed(f, ones(), ones())
    result = f(tl_core.tensor([-1.0, 0.0, 2.0]), ones())
    assert result["sum"].tolist() == [0.0, 1.0, 3.0]
    assert result["parts"][0].tolist() == [0.0, 0.0, 2.0]
    assert result["parts"][1][1] == 3
    assert f(ones(), ones())["parts"] is not result["parts"]


@recorded
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda h: setattr(h, "scale", 5.0), 5 + 3 + 2),
        (lambda h: h.items.append(4), 2 + 7 + 2),
        (lambda h: h.items.__setitem__(0, 0), 2 + 2 + 2),
        (lambda h: setattr(h, "weight", 2 * tl_core.ones(3)), 2 + 6 + 2),
        (lambda h: h.weight.mul_(3), 2 + 9 + 2),
        (lambda h: setattr(h, "gain", 7), 2 + 3 + 7),
        (lambda h: setattr(type(h), "gain", 8), 2 + 3 + 8),
        (lambda h: setattr(h, "__dict__", {**vars(h), "scale": 4.0}), 4 + 3 + 2),
        (lambda h: setattr(h, "__class__", type("Other", (type(h),), {"gain": 9})), 2 + 3 + 9),
    ],
)
def test_a_change_of_an_object_is_seen(change: Any, expected: float) -> None:
    holder = type("Own", (Holder,), {"gain": 2.0})()
    f = fast(lambda x: holder(x))
    for _ in range(3):
        assert f(ones()).tolist() == [7.0] * 3
    assert len(tapes(f)) == 1
    change(holder)
    for _ in range(3):
        assert f(ones()).tolist() == [float(expected)] * 3


@recorded
def test_functions_and_their_defaults_are_seen() -> None:
    def inner(x: Any, *, k: int = 2) -> Any:
        return x * k

    bound = functools.partial(inner, k=3)
    f = fast(lambda x: inner(x) + bound(x))
    for _ in range(3):
        assert f(ones()).tolist() == [5.0] * 3
    assert tapes(f)
    inner.__kwdefaults__["k"] = 4
    assert f(ones()).tolist() == [7.0] * 3
    bound.keywords["k"] = 1
    assert f(ones()).tolist() == [5.0] * 3
    inner.__code__ = (lambda x, *, k=2: x - k).__code__
    assert f(ones()).tolist() == [-3.0] * 3


@recorded
def test_closures_and_settings_are_seen() -> None:
    factor = 2

    def set_factor(n: int) -> None:
        nonlocal factor
        factor = n

    f = fast(lambda x: x * factor + tl_core.zeros(3).element_size())
    for _ in range(3):
        assert f(ones()).tolist() == [6.0] * 3
    assert tapes(f)
    set_factor(3)
    assert f(ones()).tolist() == [7.0] * 3
    tl_core.set_default_dtype(tl_core.float64)
    try:
        assert f(ones().float()).tolist() == [11.0] * 3
    finally:
        tl_core.set_default_dtype(tl_core.float32)


@recorded
def test_values_are_compared_where_they_were_read() -> None:
    @fast
    def f(x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x - 1

    for _ in range(3):
        f(ones())
    assert is_replayed(f, ones())
    assert f(-ones()).tolist() == [-2.0] * 3
    assert f(ones()).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "line",
    [
        "print('called')",
        "log.append(1)",
        "count[0] += 1",
        "x = x + random.random()",
        "time.time()",
        "open(os.devnull).close()",
        "next(it)",
        "state.last = x",
    ],
)
def test_effects_happen_each_time(line: str, capsys: Any) -> None:
    names: dict[str, Any] = {"log": [], "count": [0], "it": iter(range(9)), "state": Holder()}
    exec(f"import os, random, time\ndef f(x):\n    {line}\n    return x + 1", names)
    f = fast(names["f"])
    for _ in range(5):
        f(ones())
    assert not tapes(f)
    assert capsys.readouterr().out.count("called") in (0, 5)
    assert len(names["log"]) in (0, 5)
    assert names["count"][0] in (0, 5)
    assert next(names["it"]) in (0, 5)


@recorded
def test_explain_names_the_line() -> None:
    def f(x: Any) -> Any:
        y = x + 1
        print(y.shape)
        return y

    report = explain(f)(ones())
    assert not report.is_replayed
    assert "print is called" in str(report)
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(report)
    report = explain(fast(lambda x: x + 1))(ones())
    assert report.is_replayed
    assert "replay: 1 functions" in str(report)
    with pytest.raises(TypeError, match="expected a function"):
        explain(3)  # type: ignore[arg-type]


def train(compiled: bool) -> tuple[list[float], Any]:
    tl_core.manual_seed(0)
    model = tl_nn.Sequential(tl_nn.Linear(4, 8), tl_nn.Tanh(), tl_nn.Dropout(0.1), tl_nn.Linear(8, 2))
    optimizer = tl_nn.optim.Adam(model.parameters(), lr=0.01)
    y = tl_core.arange(6) % 2

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = tl_nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    call = fast(step) if compiled else step
    losses = []
    for i in range(12):
        if i == 8:
            optimizer.param_groups[0]["lr"] = 0.1
        if i == 10:
            model.eval()
        losses.append(call(tl_core.randn(6, 4)).item())
    if compiled and _C.reads_frames():
        assert len(tapes(call)) == 3
    return losses, [(p.detach(), p.grad) for p in model.parameters()]


def test_training_steps_are_equal_to_eager_ones() -> None:
    eager, compiled = train(False), train(True)
    assert eager[0] == compiled[0]
    for (p, g), (q, h) in zip(eager[1], compiled[1], strict=True):
        assert tl_core.equal(p, q)
        assert tl_core.equal(g, h)


@recorded
def test_arguments_that_are_the_same_tensor() -> None:
    @fast
    def f(x: Any, y: Any) -> Any:
        x.add_(1)
        return x * y + (1 if x is y else 0)

    for _ in range(3):
        assert f(ones(), ones()).tolist() == [2.0] * 3
    assert is_replayed(f, ones(), ones())
    x = ones()
    assert f(x, x).tolist() == [5.0] * 3
    assert f(ones(), ones()).tolist() == [2.0] * 3


@recorded
def test_a_list_that_is_an_argument_and_held() -> None:
    held = [1, 2]

    @fast
    def f(x: Any, items: Any) -> Any:
        return x * sum(items) + sum(held)

    for _ in range(3):
        assert f(ones(), held).tolist() == [6.0] * 3
    held.append(3)
    assert f(ones(), [1, 2]).tolist() == [9.0] * 3


@recorded
def test_hooks_of_gradients_are_seen() -> None:
    w = tl_core.ones(3, requires_grad=True)

    @fast
    def f(x: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        return w.grad * 1

    for _ in range(3):
        assert f(ones()).tolist() == [1.0] * 3
    assert is_replayed(f, ones())
    handle = w.register_hook(lambda g: g * 5)
    assert f(ones()).tolist() == [5.0] * 3
    handle.remove()
    assert f(ones()).tolist() == [1.0] * 3


@recorded
def test_who_looks_on_sees_the_frames() -> None:
    def inner(x: Any) -> Any:
        return x + 1

    f = fast(lambda x: inner(x))
    for _ in range(3):
        f(ones())
    assert tapes(f)
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code))
    f(ones())
    sys.setprofile(None)
    assert inner.__code__ in seen

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {})) * 2

    x = ones()
    with Mode():
        y = f(x)
    assert y.tolist() == [4.0] * 3
    assert f(ones()).tolist() == [2.0] * 3


@recorded
def test_errors_are_those_of_python() -> None:
    table = tl_core.randn(4, 2)

    @fast
    def f(i: Any) -> Any:
        return table.index_select(0, i)

    for _ in range(3):
        f(tl_core.tensor([1, 2]))
    assert tapes(f)
    with pytest.raises(IndexError):
        f(tl_core.tensor([1, 9]))
    assert tl_core.equal(f(tl_core.tensor([3, 0])), table[[3, 0]])


@recorded
def test_two_threads() -> None:
    f = fast(lambda x: (x * 2).relu() + 1)
    failures: list[Any] = []

    def work(n: int) -> None:
        for _ in range(200):
            if f(n * ones()).tolist() != [2.0 * n + 1] * 3:
                failures.append(n)
                break

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@recorded
def test_a_tape_keeps_no_arguments_and_dies_with_its_function() -> None:
    model = tl_nn.Linear(3, 3)
    f = fast(model.forward)
    x = ones()
    with tl_core.no_grad():
        for _ in range(3):
            f(x)
    assert tapes(f)
    argument, held = weakref.ref(x), weakref.ref(model)
    del x
    assert argument() is None
    model.replayed = f  # a cycle
    del model, f
    gc.collect()
    assert held() is None


def test_descriptions_are_checked() -> None:
    for description in ((), (1, (), (7, 0), (0, {}), (), (), (), (0, None)), ("x",) * 8):
        with pytest.raises((ValueError, IndexError, TypeError)):
            _C.Tape(description)


@recorded
def test_explain_names_what_differs_from_recorded_calls() -> None:
    holder = Holder()
    fast = compile(holder, mode="reduce-overhead")
    for _ in range(4):
        fast(ones())
    assert explain(fast)(ones()).differences == [None]
    assert "recorded call 1: this call is the same" in str(explain(fast)(ones()))
    holder.scale = 3.0
    report = str(explain(fast)(ones()))
    assert "another one: the variable or attribute 'scale', which the call reads, has changed" in report
    holder.scale = 2.0
    assert "another type, size" in str(explain(fast)(ones().double()))
    assert explain(fast)(ones()).differences == [None]
    assert explain(holder)(ones()).differences == []
