"""Compares ways of compiling a model."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tl_compiler import compiler

__all__ = ["bench_all", "benchmark_compile"]

_WARM_UP = 3


def _seconds(loop: Callable[[], Any], iterations: int) -> float:
    for _ in range(_WARM_UP):
        loop()
    start = time.perf_counter()
    for _ in range(iterations):
        loop()
    return (time.perf_counter() - start) / iterations


def _loop(model: Callable[..., Any], sample_input: Any, optimizer: Any, loss_fn: Any) -> Callable[[], Any]:
    def step() -> Any:
        if optimizer is not None:
            optimizer.zero_grad(True)
        out = model(*sample_input) if isinstance(sample_input, tuple) else model(sample_input)
        if optimizer is not None:
            (loss_fn(out) if loss_fn is not None else out.sum()).backward()
            optimizer.step()
        return out

    return step


def benchmark_compile(model: Callable[..., Any], sample_input: Any, num_iters: int = 5, backend: str | None = None,
                      mode: str | None = "default", optimizer: Any = None, loss_fn: Callable[..., Any] | None = None
                      ) -> tuple[float | None, float | None]:  # fmt: skip
    """Measures a model, compiled or not.

    Args:
        model: a module or function.
        sample_input: the input of the model, or a tuple of several.
        num_iters: over how many runs the time is averaged.
        backend: the backend of `compile`. None means the eager model.
        mode: of `compile`.
        optimizer: the optimizer of a training step. None means a forward only.
        loss_fn: the loss of the output, by default its sum.

    Returns:
        (float or None, float), seconds of the first call, in which it is compiled, and of a later run.

    Example:
        >>> import tl_core, tl_nn
        >>> compilation, running = benchmark_compile(tl_nn.Linear(3, 2), tl_core.ones(1, 3), backend="eager")
        >>> compilation > 0.0, running > 0.0
        (True, True)
    """
    if backend is None:
        return None, _seconds(_loop(model, sample_input, optimizer, loss_fn), num_iters)
    compiler.reset()
    step = _loop(compiler.compile(model, backend=backend, mode=mode), sample_input, optimizer, loss_fn)
    start = time.perf_counter()
    step()
    return time.perf_counter() - start, _seconds(step, num_iters)


def bench_all(model: Callable[..., Any], sample_input: Any, num_iters: int = 5, optimizer: Any = None,
              loss_fn: Callable[..., Any] | None = None) -> str:  # fmt: skip
    """Measures a model as it is and compiled by each backend.

    Args:
        model: a module or function.
        sample_input: the input of the model, or a tuple of several.
        num_iters: over how many runs each time is averaged.
        optimizer: the optimizer of a training step. None means a forward only.
        loss_fn: the loss of the output, by default its sum.

    Returns:
        str, a table.

    Example:
        >>> import tl_core, tl_nn
        >>> print(bench_all(tl_nn.Linear(3, 2), tl_core.ones(1, 3)))  # doctest: +SKIP
    """
    rows = [("Train/Inference", "Backend", "Compilation Time", "Average Running Time", "Speedup")]
    kind = "Inference" if optimizer is None else "Training"
    _, plain = benchmark_compile(model, sample_input, num_iters, None, None, optimizer, loss_fn)
    rows.append((kind, "Eager", "-", f"{plain or 0.0:.6f} s", "-"))
    for backend in compiler.list_backends():
        first, running = benchmark_compile(
            model, sample_input, num_iters, backend, "default", optimizer, loss_fn
        )
        speedup = (plain or 0.0) / (running or 1.0)
        rows.append((kind, backend, f"{first or 0.0:.6f} s", f"{running or 0.0:.6f} s", f"{speedup:.2f}x"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(t.ljust(w) for t, w in zip(row, widths, strict=True)).rstrip() for row in rows)
