"""A profile as one self-contained HTML page: time line, tables, memory.

>>> import os, tempfile, tl_core
>>> from tl_profiler import profile
>>> with profile(profile_memory=True) as prof:
...     x = tl_core.ones(8, 8) @ tl_core.ones(8, 8)
>>> path = os.path.join(tempfile.mkdtemp(), "report.html")
>>> write(prof, path, title="products")
>>> os.path.getsize(path) > 10000
True
"""

from __future__ import annotations

import base64
import datetime
import html
import json
import os
import zlib
from importlib.resources import files
from typing import Any

from tl_autograd.profiler_results import ProfilerResult
from tl_core.base import recording
from tl_core.memory.whole_files import write_whole

__all__ = ["file_text", "fill", "render", "timeline_page", "write"]

# The columns in the order of the page, with the types of its typed arrays.
_COLUMNS = (("start", "f8"), ("bytes", "f8"), ("address", "f8"), ("duration", "f4"), ("name", "u4"), ("stack", "u4"),
            ("parent", "i4"), ("thread", "u2"), ("kind", "u1"))  # fmt: skip


def write(profile: Any, path: str, title: str = "profile") -> None:
    """Writes the page to a file.

    Args:
        profile: a profile that has ended, or its `kineto_results`.
        path: the path of the file.
        title: the title of the page.

    Raises:
        OSError: the file cannot be written. No partial file remains.
        RuntimeError: the profile has not ended.

    Example:
        >>> write(profile, "report.html")  # doctest: +SKIP
    """
    page = render(profile, title)

    def put(to: str) -> None:
        with open(to, "w", encoding="utf-8") as file:
            file.write(page)

    write_whole(path, put)


def render(profile: Any, title: str = "profile") -> str:
    """Returns the page as a text.

    Example:
        >>> page = render(profile)  # doctest: +SKIP
    """
    result = _result_of(profile)
    data = result.columns()
    head = _head(result, data)
    packed = b"".join(_pad(data[name]) for name, _ in _COLUMNS)
    head["compressed"] = len(packed) > 1 << 16
    body = zlib.compress(packed, 6) if head["compressed"] else packed
    return fill(
        "page.html",
        TITLE=html.escape(title),
        WHEN=html.escape(datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")),
        STYLE=file_text("page.css"),
        HEAD=json.dumps(head).replace("<", "\\u003c"),
        DATA=base64.b64encode(body).decode(),
        SCRIPT=file_text("page.js"),
        FACTS=html.escape(_facts(result, head)),
    )


def fill(template: str, **parts: str) -> str:
    """Returns the text of a page with each {{NAME}} replaced.

    Example:
        >>> fill("<p>{title}</p>", title="run")  # doctest: +SKIP
    """
    first, *rest = file_text(template).split("{{")
    pieces = [first]
    for piece in rest:
        name, _, text = piece.partition("}}")
        pieces += [parts[name], text]
    return "".join(pieces)


def file_text(name: str) -> str:
    """Reads a file of the report.

    Example:
        >>> file_text("page.html")  # doctest: +SKIP
    """
    return (files(__package__ or __name__) / name).read_text(encoding="utf-8")


def _pad(column: bytes) -> bytes:
    return column + bytes(-len(column) % 8)


def _result_of(profile: Any) -> ProfilerResult:
    if isinstance(profile, ProfilerResult):
        return profile
    collector = getattr(profile, "profiler", profile)
    result = getattr(collector, "kineto_results", None)
    if not isinstance(result, ProfilerResult):
        raise RuntimeError("report: the profile has not ended, so that there is nothing to show")
    return result


def _head(result: ProfilerResult, data: dict[str, Any]) -> dict[str, Any]:
    used = sorted(set(memoryview(data["stack"]).cast("I")))
    frames = {number: recording.stack_frames(number) for number in used if number}
    start = result.trace_start_ns()
    return {
        "count": len(data["kind"]),
        "columns": _COLUMNS,
        "names": data["names"],
        "threads": data["threads"],
        "duration_us": (result.trace_end_ns() - start) / 1e3,
        "stacks": {
            n: [f"{f}:{line} in {name}" for f, line, name in stack[:24]] for n, stack in frames.items()
        },
        "lines": {n: _line(stack) for n, stack in frames.items() if stack},
        "extra": [[p, name, kind, (b - start) / 1e3, (e - b) / 1e3] for p, name, kind, b, e in result.extra],
    }


# The innermost frame of the program itself: frames of tl's own packages count for the line that called them.
_OWN = tuple(f"{os.sep}tl_{name}{os.sep}" for name in (
    "core", "autograd", "nn", "amp", "data", "distributed", "distributions", "quantization", "checkpoint", "compiler",
    "profiler", "backends", "utils"))  # fmt: skip


def _line(frames: list[tuple[str, int, str]]) -> str:
    file, line, name = next((f for f in frames if not any(own in f[0] for own in _OWN)), frames[0])
    return f"{file}:{line} in {name}"


def _facts(result: ProfilerResult, head: dict[str, Any]) -> str:
    seconds = head["duration_us"] / 1e6
    text = f"{seconds:.3f} s · {head['count']} events · {len(head['threads'])} threads"
    return text + (f" · {result.forgotten} older events were not kept" if result.forgotten else "")


def timeline_page(title: str, times: list[int], series: list[tuple[str, str, list[int]]], height: int) -> str:
    """A page with bytes over time, one series on the other.

    Args:
        title: the title of the page.
        times: the moments, in microseconds.
        series: (name, color, bytes at each time).
        height: the height of the picture, in pixels.

    Example:
        >>> page = timeline_page(profile)  # doctest: +SKIP
    """
    data = json.dumps({"times": times, "series": series}).replace("<", "\\u003c")
    return fill(
        "timeline.html", TITLE=html.escape(title), STYLE=file_text("page.css"), DATA=data, HEIGHT=str(height)
    )
