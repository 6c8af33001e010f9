"""Replay of calls on few elements: the steps between others run as programs over elements, with equal results."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tl_core as tl
from tl_compiler import _C
from tl_compiler.compiler import compile  # noqa: A004

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")


def fast(function: Callable[..., Any]) -> Any:
    return compile(function, mode="reduce-overhead")


def fused_steps(function: Any) -> int:
    return sum(tape.fused_steps for tape, _ in function.get_compiled().replays.tapes)


def equal(a: Any, b: Any) -> bool:
    """Whether tensors are equal bit by bit, and lie in memory in the same way."""
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    if (a.dtype, a.shape, a.stride(), a.requires_grad) != (b.dtype, b.shape, b.stride(), b.requires_grad):
        return False
    a, b = a.detach().contiguous().reshape(-1), b.detach().contiguous().reshape(-1)
    return a.numel() == 0 or bool(tl.equal(a.view(tl.uint8), b.view(tl.uint8)))


# Lines of a program over x, y, z of one shape, a row, and a number in a tensor.
LINES = """
z = z * x + y
z = z - row
z = (z * 2).tanh() + one
z = z.exp().log1p()
z = tl.where(z > y, z, x)
z = (z > 0).to(z.dtype) - z
z = z.abs().sqrt() * (y != 0)
z = z.transpose(0, 1).neg().transpose(0, 1)
z = z + x[..., :1]
z = z + z[0]
z = z * z[:, None, 0]
z = z.clamp(-2, 2).sigmoid()
z = z.to(tl.float64).sin().to(z.dtype)
z = (z.to(tl.int32) & 3).to(z.dtype) + z
z = z.reshape(-1).add(1).reshape(z.shape)
z = z.contiguous() + z.to(z.dtype)
z = tl.maximum(z, y).pow(2)
z = tl.cat([z[:, 1:], z[:, :1]], 1)
z = z / (1 + row.abs())
z = z.expand(2, *z.shape)[1] * y.t().t()
z = z.sum(-1, keepdim=True) + z
z = z.clone().mul_(2)
z = z.unbind(0)[0] + z
""".strip().splitlines()
RESULTS = ["z", "(z, z.t())", "(z[0], z)", "(z > 0, x + y)", "z.t()", "(z, z.to(z.dtype))", "z.sum()"]


def program(rng: random.Random) -> Callable[..., Any]:
    lines = [rng.choice(LINES) for _ in range(rng.randint(3, 9))]
    text = "def f(x, y, row, one):\n    z = x * 1\n"
    text += "".join(f"    {line}\n" for line in lines) + f"    return {rng.choice(RESULTS)}\n"
    names: dict[str, Any] = {"tl": tl}
    exec(text, names)
    function: Callable[..., Any] = names["f"]
    function.__doc__ = text
    return function


def arguments(rng: random.Random, rows: int, columns: int, dtype: Any) -> list[Any]:
    """Tensors of their own, or parts of a larger one."""
    if rng.random() < 0.5:
        x, y = tl.randn(rows, columns).to(dtype), tl.randn(rows, columns).to(dtype)
    else:
        matrix = tl.randn(2 * rows + 1, columns).to(dtype)
        x, y = matrix[1 : rows + 1], matrix[rows + 1 :]
    return [x, y, tl.randn(columns).to(dtype), tl.tensor(rng.choice([0.5, 2.0])).to(dtype)]


@recorded
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    tl.manual_seed(seed)
    function = program(rng)
    f = fast(function)
    dtype = rng.choice([tl.float32, tl.float32, tl.float64, tl.bfloat16, tl.float16])
    rows, columns = rng.choice([(1, 1), (1, 7), (3, 5), (8, 4), (2, 33), (5, 64), (17, 19)])
    for _ in range(6):
        args = arguments(rng, rows, columns, dtype)
        with tl.set_grad_enabled(rng.random() < 0.8):
            assert equal(f(*args), function(*args)), function.__doc__
    wide = [tl.randn(2 * columns, rows).to(dtype).t()[:, ::2] for _ in range(2)]
    for _ in range(3):
        args = [*wide, *arguments(rng, rows, columns, dtype)[2:]]
        assert equal(f(*args), function(*args)), function.__doc__
    args = arguments(rng, rows, columns, dtype)
    args[0].requires_grad_()
    for _ in range(3):
        assert equal(f(*args), function(*args)), function.__doc__


def formula(x: Any, y: Any) -> Any:
    return ((x * y + 1).tanh() - x).exp() * y


@recorded
def test_steps_are_fused() -> None:
    f = fast(formula)
    for rows in (1, 3, 64):
        for _ in range(5):
            x, y = tl.randn(rows, 5), tl.randn(rows, 5)
            assert equal(f(x, y), formula(x, y))
    assert fused_steps(f) == 18


@recorded
def test_arguments_that_shared_memory_and_do_not_any_more() -> None:
    f = fast(formula)
    matrix = tl.randn(4, 6)
    for _ in range(4):
        assert equal(f(matrix[:2], matrix[2:]), formula(matrix[:2], matrix[2:]))
    for _ in range(4):
        x, y = tl.randn(9, 6)[3:5], tl.randn(2, 6)
        assert equal(f(x, y), formula(x, y))
    assert fused_steps(f) == 6


@recorded
def test_tensors_that_the_function_holds_change() -> None:
    held = {"w": tl.randn(3, 4)}

    def program(x: Any) -> Any:
        w = held["w"].t()
        return (w.t() * x + 1).tanh() * w.t()[0] - x

    f = fast(program)
    for number in range(12):
        x = tl.randn(3, 4)
        assert equal(f(x), program(x))
        if number == 4:
            held["w"].mul_(2)
        if number == 6:
            held["w"].data = tl.randn(3, 4)
        if number == 8:
            held["w"].data = tl.randn(4, 3).t()
        if number == 10:
            held["w"] = tl.randn(3, 4)
    assert fused_steps(f) > 0


@recorded
def test_writes_into_results_and_arguments() -> None:
    def program(x: Any, y: Any) -> Any:
        z = (x * 2 + y).relu() - 1
        view = z[0]
        z.add_(1)
        w = (z * x - y).abs() + view
        y.add_(w)
        return (y * 2 - w).tanh() * z, view, z

    f = fast(program)
    for _ in range(6):
        x, y = tl.randn(3, 4), tl.randn(3, 4)
        copy = y.clone()
        results, expected = f(x, y), program(x, copy)
        assert equal(results, expected) and equal(y, copy)
        results[2].zero_()
        assert bool((results[1] == 0).all())
    assert fused_steps(f) > 0


@recorded
def test_gradients_and_many_elements_are_left_to_the_operators() -> None:
    f, g = fast(formula), fast(formula)
    for _ in range(5):
        x, y = tl.randn(3, 4).requires_grad_(), tl.randn(3, 4)
        result = f(x, y)
        result.sum().backward()
        again = x.detach().clone().requires_grad_()
        formula(again, y).sum().backward()
        assert equal(x.grad, again.grad)
        x, y = tl.randn(200, 100), tl.randn(200, 100)
        assert equal(g(x, y), formula(x, y))
    assert fused_steps(f) == fused_steps(g) == 0


@recorded
def test_threads_replay_one_recording() -> None:
    f = fast(formula)
    pairs = [(tl.randn(3, 4), tl.randn(3, 4)) for _ in range(8)]
    for x, y in pairs[:4]:
        f(x, y)
    expected = [formula(x, y) for x, y in pairs]
    failures = []

    def run(x: Any, y: Any, result: Any) -> None:
        failures.extend(x for _ in range(200) if not equal(f(x, y), result))

    threads = [
        threading.Thread(target=run, args=(*pair, result))
        for pair, result in zip(pairs, expected, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@recorded
def test_an_index_is_one_operator() -> None:
    def program(x: Any) -> Any:
        return x[0], x[..., 1:], x[:, None], x[:, -1], x[None, :, None], x[1:, :2], x[:], x[:, 5:], x[..., -2]

    f = fast(program)
    for _ in range(5):
        x = tl.randn(3, 4)
        assert equal(f(x), program(x))
        assert all(part.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for part in f(x))
