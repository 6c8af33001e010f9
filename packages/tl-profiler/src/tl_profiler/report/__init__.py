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
import zlib
from importlib.resources import files
from typing import Any

from tl_autograd.profiler_results import ProfilerResult
from tl_core.base import recording
from tl_core.memory.whole_files import write_whole
from tl_profiler.report import frames
from tl_profiler.report.events import Events, pack, select

__all__ = ["file_text", "fill", "render", "timeline_page", "write"]


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
    events = Events(data)
    select(events)
    head = _head(result, events, data["threads"])
    head["columns"], packed = pack(events.columns)
    head["compressed"] = len(packed) > 1 << 16
    body = zlib.compress(packed, 9) if head["compressed"] else packed
    return fill(
        "page.html",
        TITLE=html.escape(title),
        WHEN=html.escape(datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")),
        STYLE=file_text("page.css"),
        HEAD=json.dumps(head).replace("<", "\\u003c"),
        DATA=base64.b64encode(body).decode(),
        SCRIPT=file_text("page.js"),
        FACTS=html.escape(_facts(result, events, head)),
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


def _result_of(profile: Any) -> ProfilerResult:
    if isinstance(profile, ProfilerResult):
        return profile
    collector = getattr(profile, "profiler", profile)
    result = getattr(collector, "kineto_results", None)
    if not isinstance(result, ProfilerResult):
        raise RuntimeError("report: the profile has not ended, so that there is nothing to show")
    return result


def _head(result: ProfilerResult, events: Events, threads: Any) -> dict[str, Any]:
    folders = frames.roots()
    numbers = sorted(set(events.columns["stack"]))
    stacks = {number: recording.stack_frames(number) for number in numbers if number}
    start = result.trace_start_ns()
    return {
        "count": len(events),
        "names": [frames.short_name(name, folders) for name in events.names],
        "threads": threads,
        "duration_us": (result.trace_end_ns() - start) / 1e3,
        "stacks": {number: frames.format_frames(stack, folders) for number, stack in stacks.items()},
        "lines": {number: frames.line_of(stack, folders) for number, stack in stacks.items() if stack},
        "extra": [[p, name, kind, (b - start) / 1e3, (e - b) / 1e3] for p, name, kind, b, e in result.extra],
    }


def _facts(result: ProfilerResult, events: Events, head: dict[str, Any]) -> str:
    seconds = head["duration_us"] / 1e6
    text = f"{seconds:.3f} s · {head['count']} events · {len(head['threads'])} threads"
    if events.omissions:
        text += f" · {events.omissions} short calls of Python functions are left out"
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
