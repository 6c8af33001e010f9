"""`torch.cuda._memory_viz`: pictures of recorded memory. They are the page of `tl_profiler.memory_page`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .memory_page import render

__all__ = ["memory", "segment_plot", "segments", "trace_plot"]


def trace_plot(data: Any, device: Any = None, plot_segments: bool = False) -> str:
    """An HTML page of allocations and frees.

    Args:
        data: a snapshot, such as `torch.cuda.memory._snapshot()` gives.
        device: kept for programs: memory is the CPU's.
        plot_segments: kept for programs.
    """
    return render(data)


def segment_plot(data: Any, device: Any = None) -> str:
    """An HTML page of live blocks.

    Args:
        data: the result of `memory_history.snapshot()`.
        device: kept for programs: memory is the CPU's.
    """
    return render(data)


def segments(snapshot: Any, format_flamegraph: Any = None) -> str:
    """The bytes of each segment, a line each, largest first.

    Args:
        snapshot: the result of `memory_history.snapshot()`.
        format_flamegraph: a function from the lines to the result. With None, the result is the lines.
    """
    sizes = Counter({f"seg_{index}": s["total_size"] for index, s in enumerate(snapshot["segments"])})
    return _lines(sizes, format_flamegraph)


def memory(snapshot: Any, format_flamegraph: Any = None) -> str:
    """The bytes that are alive by the functions that allocated them, a line each, largest first.

    Args:
        snapshot: the result of `memory_history.snapshot()`.
        format_flamegraph: a function from the lines to the result. With None, the result is the lines.
    """
    sizes: Counter[str] = Counter()
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"].startswith("active"):
                frames = [frame["name"] for frame in reversed(block.get("frames", ()))]
                sizes[";".join(frames) or "<unknown>"] += block["size"]
    return _lines(sizes, format_flamegraph)


def _lines(sizes: Counter[str], finish: Any) -> str:
    text = "\n".join(f"{name} {size}" for name, size in sizes.most_common())
    return text if finish is None else finish(text)
