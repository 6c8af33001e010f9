"""Numbers of tensors in the results of replayed calls, and the way from a program to a recorded call."""

from __future__ import annotations

from typing import Any

import pytest

import tl_core
import tl_nn
from tl_compiler import _C
from tl_compiler.compiler import compile, dynamo_config, set_stance  # noqa: A004
from tl_nn.optim import SGD

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")


def item(loss: Any, x: Any) -> Any:
    return loss.item()


def items(loss: Any, x: Any) -> Any:
    return {"loss": loss.item(), "twice": (loss * 2).item()}, [x.sum().item()], loss.detach()


def variable(loss: Any, x: Any) -> Any:
    value = loss.item()
    return value, x * 2, (value, 3.0)


def closure(loss: Any, x: Any) -> Any:
    def read() -> Any:
        return loss.item()

    return read(), x.mean().item()


def arithmetic(loss: Any, x: Any) -> Any:
    return loss.item() + 1.0


def decision(loss: Any, x: Any) -> Any:
    value = loss.item()
    return x if value > 0.5 else value


def text(loss: Any, x: Any) -> Any:
    return f"{loss.item():.9f}"


def key(loss: Any, x: Any) -> Any:
    return {loss.item(): 1}


def attribute(loss: Any, x: Any) -> Any:
    attribute.last = loss.item()  # type: ignore[attr-defined]
    return attribute.last  # type: ignore[attr-defined]


def loop(loss: Any, x: Any) -> Any:
    total = 0.0
    for value in [loss.item(), 1.0]:
        total += value
    return total


def training(result: Any) -> Any:
    tl_core.manual_seed(0)
    net = tl_nn.Linear(3, 2)
    optimizer = SGD(net.parameters(), lr=0.1)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return result(loss, x)

    return step


REPLAYED = [item, items, variable, closure]
REFUSED = [arithmetic, decision, text, key, attribute, loop]


@pytest.mark.parametrize("result", REPLAYED + REFUSED)
def test_results_with_numbers(result: Any) -> None:
    plain, fast = training(result), compile(training(result), mode="reduce-overhead")
    for seed in range(7):
        tl_core.manual_seed(seed)
        x, y = tl_core.randn(4, 3), tl_core.randn(4, 2)
        assert repr(fast(x, y)) == repr(plain(x, y))
    if _C.reads_frames():
        assert (fast.get_compiled().entry.hits > 3) == (result in REPLAYED)


@recorded
def test_numbers_that_decide_are_compared_before_a_write() -> None:
    def choose(x: Any) -> Any:
        value = x.sum().item()
        return x * 2 if value > 0 else -x

    fast = compile(choose, mode="reduce-overhead")
    for sign in (1, 1, 1, 1, -1, 1, -1):
        x = tl_core.ones(3) * sign
        assert tl_core.equal(fast(x), choose(x))
    assert fast.get_compiled().entry.hits >= 2


@recorded
@pytest.mark.parametrize("kind", ["function", "module"])
def test_settings_that_keep_recorded_calls_from_running(kind: str) -> None:
    net = tl_nn.Sequential(tl_nn.Linear(3, 3), tl_nn.ReLU())
    function = net if kind == "module" else net.forward
    fast, x = compile(function, mode="reduce-overhead"), tl_core.ones(2, 3)
    entry = getattr(fast, "dynamo_ctx", fast).get_compiled().entry
    for _ in range(5):
        fast(x)

    def hits() -> int:
        before = entry.hits
        assert tl_core.equal(fast(x), net(x))
        return int(entry.hits - before)

    assert hits() == 1
    with set_stance("force_eager"):
        assert hits() == 0
    assert hits() == 1
    with dynamo_config.patch(disable=True):
        assert hits() == 0
    assert hits() == 1
    if kind == "module":
        records: list[int] = []
        handle = fast.register_forward_hook(lambda *_: records.append(1))
        assert hits() == 1 and records
        handle.remove()
        with pytest.raises(RuntimeError):
            fast(tl_core.ones(2, 4))


def test_the_native_entry_checks_what_it_gets() -> None:
    with pytest.raises(TypeError, match="a condition is"):
        _C.ReplayedCall(print, [], ((1, 2, 3),))
    calls = _C.ReplayedCall(lambda args, kwargs, tried: (args, kwargs, tried), [], (([0], 0, (1,)),))
    assert calls(1, a=2) == ((1,), {"a": 2}, False)
    calls.name = "native"
    assert calls.name == "native" and calls.hits == 0
    tapes: list[Any] = [(lambda x: NotImplemented, False), (lambda x: x + 1, True), (1, 2)]
    assert _C.ReplayedCall(print, tapes, ())(3) == 4
    with pytest.raises(ZeroDivisionError):
        _C.ReplayedCall(print, [(lambda: 1 // 0, False)], ())()
