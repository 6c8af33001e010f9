"""Measuring: the profiler with a schedule, benchmarks, memory, TensorBoard-like records."""

import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import perf_counter

import tl as torch
from tl import nn
from tl.profiler import ProfilerActivity, profile, record_function, schedule
from tl.utils import benchmark


@contextmanager
def timed(label: str) -> Generator[None, None, None]:
    start = perf_counter()
    yield
    print(f"{label}: {perf_counter() - start:.3f} s")


def measure(f: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> float:
    timer = benchmark.Timer(stmt="f(x)", globals={"f": f, "x": x}, num_threads=1, label="f")
    return timer.timeit(3).median


def main() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4))
    x = torch.randn(8, 16)
    activities = [ProfilerActivity.CPU]
    with profile(activities=activities, record_shapes=True) as prof, record_function("forward"):
        model(x)
    print(prof.key_averages().table(sort_by="cpu_time_total", row_limit=3))
    for event in prof.events()[:2]:
        print(event.name, event.cpu_time_total)
    with tempfile.TemporaryDirectory() as folder:
        prof.export_chrome_trace(f"{folder}/trace.json")

    def handler(p: profile) -> None:
        print(p.step_num)

    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=1, repeat=1),
        on_trace_ready=handler,
    ) as steps:
        for _ in range(4):
            model(x).sum().backward()
            steps.step()
    with timed("forward"), torch.autograd.profiler.record_function("timed"):
        model(x)
    print(measure(model, x) > 0, torch.get_num_threads(), torch.__version__)
    torch.set_num_threads(1)
    print(torch.cuda.is_available(), torch.cuda.device_count(), torch.backends.cudnn.enabled)


if __name__ == "__main__":
    main()
