"""The throughput of a module under calls from several threads."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tl_core

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(
    time_us: float | None = None, time_ms: float | None = None, time_s: float | None = None
) -> str:
    """Formats a time in the most readable unit.

    Args:
        time_us: the time in microseconds.
        time_ms: in milliseconds.
        time_s: in seconds.

    Raises:
        ValueError: the call passes none or several times.

    Example:
        >>> format_time(time_us=1500.0)
        '1.500ms'
    """
    times = [(t, f) for t, f in ((time_us, 1.0), (time_ms, 1e3), (time_s, 1e6)) if t is not None]
    if len(times) != 1:
        raise ValueError(f"format_time: expected one of time_us, time_ms and time_s, got {len(times)}")
    microseconds = times[0][0] * times[0][1]
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= scale:
            return f"{microseconds / scale:.3f}{unit}"
    return f"{microseconds:.3f}us"


@dataclass(frozen=True)
class BenchmarkConfig:
    """The configuration of a benchmark."""

    num_calling_threads: int
    num_warmup_iters: int
    num_iters: int
    profiler_output_path: str = ""


class ExecutionStats:
    """The results of a benchmark.

    Args:
        seconds: how long each call took.
        total: from the first call to the end of the last one, in seconds.
        benchmark_config: the configuration of the benchmark.

    Example:
        >>> stats = benchmark.benchmark(num_calling_threads=2)  # doctest: +SKIP
        >>> stats.latency_avg_ms  # doctest: +SKIP
    """

    def __init__(self, seconds: list[float], total: float, benchmark_config: BenchmarkConfig) -> None:
        self._seconds, self._total, self.benchmark_config = seconds, total, benchmark_config

    @property
    def latency_avg_ms(self) -> float:
        """The mean time of a call, in milliseconds."""
        return sum(self._seconds) / len(self._seconds) * 1e3

    @property
    def num_iters(self) -> int:
        """The number of calls."""
        return len(self._seconds)

    @property
    def iters_per_second(self) -> float:
        """The number of calls a second of all threads together."""
        return self.num_iters / self._total

    @property
    def total_time_seconds(self) -> float:
        """From the first call to the end of the last one, in seconds."""
        return self._total

    def __str__(self) -> str:
        return "\n".join(
            [
                "Average latency per example: " + format_time(time_ms=self.latency_avg_ms),
                f"Total number of iterations: {self.num_iters}",
                f"Total number of iterations per second (across all threads): {self.iters_per_second:.2f}",
                "Total time: " + format_time(time_s=self.total_time_seconds),
            ]
        )


class ThroughputBenchmark:
    """Calls a module from several threads at once, and measures how long that takes.

    Threads take turns where the module's code is Python; operators run at the same time.

    Args:
        module: the module, or anything that can be called.

    Example:
        >>> import tl_nn
        >>> bench = ThroughputBenchmark(tl_nn.Linear(4, 2))
        >>> bench.add_input(tl_core.ones(1, 4))
        >>> stats = bench.benchmark(num_calling_threads=2, num_warmup_iters=1, num_iters=20)
        >>> stats.num_iters, stats.iters_per_second > 0
        (20, True)
    """

    def __init__(self, module: Callable[..., Any]) -> None:
        if not callable(module):
            raise TypeError(f"ThroughputBenchmark(): module must be callable, got {type(module).__name__}")
        self._module = module
        self._inputs: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def run_once(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module once, without measuring."""
        return self._module(*args, **kwargs)

    def add_input(self, *args: Any, **kwargs: Any) -> None:
        """Adds arguments, with which some of the calls are made."""
        self._inputs.append((args, kwargs))

    def benchmark(self, num_calling_threads: int = 1, num_warmup_iters: int = 10, num_iters: int = 100,
                  profiler_output_path: str = "") -> ExecutionStats:  # fmt: skip
        """Measures.

        Args:
            num_calling_threads: the number of threads that call at once.
            num_warmup_iters: how many calls each thread makes before.
            num_iters: how many calls all threads make together.
            profiler_output_path: the path of a trace of the calls. Empty means no trace.

        Returns:
            ExecutionStats

        Raises:
            ValueError: a number isn't positive.
            RuntimeError: there is no input.
        """
        config = BenchmarkConfig(num_calling_threads, num_warmup_iters, num_iters, profiler_output_path)
        if num_calling_threads < 1 or num_iters < 1 or num_warmup_iters < 0:
            raise ValueError(f"benchmark: numbers of threads and calls must be positive, got {config}")
        if not self._inputs:
            raise RuntimeError("benchmark: there is no input; call add_input before")
        if not profiler_output_path:
            return self._run(config)
        from tl_autograd.profiler import profile

        recorded = profile()
        with recorded:
            stats = self._run(config)
        recorded.export_chrome_trace(profiler_output_path)
        return stats

    def _run(self, config: BenchmarkConfig) -> ExecutionStats:
        # The assignment of inputs to threads is drawn in advance, so that only calls are measured.
        threads = config.num_calling_threads
        generator = random.Random(0)
        calls = [generator.choice(self._inputs) for _ in range(config.num_iters)]
        shares = [calls[i::threads] for i in range(threads)]
        barrier = threading.Barrier(threads + 1)
        seconds: list[list[float]] = [[] for _ in range(threads)]
        failures: list[BaseException] = []
        grad = tl_core.is_grad_enabled()

        def work(index: int) -> None:
            try:
                with tl_core.set_grad_enabled(grad):
                    for i in range(config.num_warmup_iters):
                        args, kwargs = self._inputs[i % len(self._inputs)]
                        self._module(*args, **kwargs)
                    barrier.wait()
                    for args, kwargs in shares[index]:
                        start = time.perf_counter()
                        self._module(*args, **kwargs)
                        seconds[index].append(time.perf_counter() - start)
            except threading.BrokenBarrierError:
                pass  # another thread failed, and is named
            except BaseException as error:
                failures.append(error)
                barrier.abort()

        workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
        for worker in workers:
            worker.start()
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            if not failures:
                raise
        start = time.perf_counter()
        for worker in workers:
            worker.join()
        total = time.perf_counter() - start
        if failures:
            raise failures[0]
        return ExecutionStats([s for one in seconds for s in one], total, config)
