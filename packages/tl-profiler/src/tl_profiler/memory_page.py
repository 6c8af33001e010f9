"""Memory as one self-contained HTML page: live blocks by module, line and time, and at the peak.

>>> import os, tempfile, tl_core
>>> from tl_core.memory import history as memory_history
>>> memory_history.record_memory_history()
>>> x = tl_core.zeros(1000)
>>> path = os.path.join(tempfile.mkdtemp(), "memory.html")
>>> write(path)
>>> memory_history.record_memory_history(None)
>>> os.path.getsize(path) > 1000
True
"""

from __future__ import annotations

import html
import json
import os
import pickle
from typing import Any

from tl_core.memory import history as memory_history
from tl_core.memory.whole_files import write_whole
from tl_profiler.report import file_text, fill, frames

__all__ = ["render", "write"]


def write(path: str, snapshot: Any = None, title: str = "memory") -> None:
    """Writes the page to a file.

    Args:
        path: the path of the file.
        snapshot: the result of `memory_history.snapshot()`, or the name of a file that `dump_snapshot` wrote. By
            default the current recording.
        title: the title of the page.

    Raises:
        OSError: the file cannot be written. No partial file remains.
        ValueError: the argument is no snapshot.

    Example:
        >>> write(snapshot, "memory.html")  # doctest: +SKIP
    """
    page = render(snapshot, title)

    def put(to: str) -> None:
        with open(to, "w", encoding="utf-8") as file:
            file.write(page)

    write_whole(path, put)


def render(snapshot: Any = None, title: str = "memory") -> str:
    """Returns the page as a text.

    Example:
        >>> page = render(snapshot)  # doctest: +SKIP
    """
    if snapshot is None:
        snapshot = memory_history.snapshot()
    elif isinstance(snapshot, (str, os.PathLike)):
        snapshot = _read(os.fspath(snapshot))
    if not isinstance(snapshot, dict) or not {"segments", "device_traces"} <= set(snapshot):
        raise ValueError("memory_page: expected a snapshot with 'segments' and 'device_traces'")
    try:
        data = _data(snapshot)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"memory_page: the snapshot is broken: {type(error).__name__}: {error}") from error
    text = json.dumps(data).replace("<", "\\u003c")
    return fill("memory.html", TITLE=html.escape(title), STYLE=file_text("page.css"), DATA=text,
                SCRIPT=file_text("memory.js"))  # fmt: skip


class _Plain(pickle.Unpickler):
    """Reads dicts, lists and numbers only: a snapshot may come from somebody else."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"a snapshot holds plain data, not {module}.{name}")


def _read(path: str) -> Any:
    with open(path, "rb") as file:
        try:
            return _Plain(file).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, ValueError) as error:
            raise ValueError(f"memory_page: {path} holds no snapshot: {error}") from error


class _Texts:
    """Texts by number."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(text)
        return self._numbers[text]


def _data(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Blocks as [bytes, begin, end, line, module, stack], with a null end for live blocks."""
    lines, modules, stacks = _Texts(), _Texts(), _Texts()
    folders = frames.roots()
    blocks: list[list[Any]] = []
    live: dict[int, list[Any]] = {}

    def begin(address: int, size: int, at: float | None, entry: dict[str, Any]) -> None:
        stack = _stack(entry)
        line = frames.line_of(stack, folders) if stack else "no line known"
        block = [size, at, None, lines.number(line), modules.number(entry.get("module") or ""),
                 stacks.number("\n".join(frames.format_frames(stack, folders)))]  # fmt: skip
        live[address] = block
        blocks.append(block)

    trace = [e for part in snapshot["device_traces"] for e in part]
    first = min((e["time_us"] for e in trace if e.get("time_us")), default=0)
    last = max((e["time_us"] for e in trace if e.get("time_us")), default=0)
    failures = []
    for entry in trace:
        at = entry.get("time_us", first) - first
        if entry["action"] == "alloc":
            begin(entry["addr"], entry["size"], at, entry)
        elif entry["action"] == "free_completed" and entry["addr"] in live:
            live.pop(entry["addr"])[2] = at
        elif entry["action"] == "oom":
            failures.append([at, entry["size"], "\n".join(frames.format_frames(_stack(entry), folders))])
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated" and block["address"] not in live:
                begin(block["address"], block["size"], 0, block)
    return {"blocks": blocks, "lines": lines.all, "modules": modules.all, "stacks": stacks.all, "failures": failures,
            "duration_us": max(last - first, 1)}  # fmt: skip


def _stack(entry: dict[str, Any]) -> list[frames.Frame]:
    return [(f["filename"], f["line"], f["name"]) for f in entry.get("frames") or ()]
