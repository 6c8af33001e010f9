"""Profiling: events as a table of text, in the columns that readers of profiles know."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

__all__ = ["build_table", "format_memory", "format_time", "format_time_share"]

_WIDTH = 12  # of a column of numbers
_GAP = "  "


def format_time(time_us: float, unit: str | None = None) -> str:
    """ "1.234ms" of 1234.0."""
    scales = {"s": 1e6, "ms": 1e3, "us": 1.0}
    unit = unit or ("s" if time_us >= 1e6 else "ms" if time_us >= 1e3 else "us")
    return f"{time_us / scales[unit]:.3f}{unit}"


def format_time_share(time_us: float, total_time_us: float) -> str:
    """ "12.50%" of an eighth; "NaN" of nothing."""
    if total_time_us == 0:
        if time_us != 0:
            raise AssertionError(f"Expected time_us == 0 but got {time_us}")
        return "NaN"
    return f"{time_us * 100.0 / total_time_us:.2f}%"


def format_memory(nbytes: int) -> str:
    """ "1.00 KB" of 1024."""
    for unit, scale in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(nbytes) >= scale:
            return f"{nbytes / scale:.2f} {unit}"
    return f"{nbytes} B"


class _Column(NamedTuple):
    title: str
    width: int
    cell: Callable[[Any], str]
    left: bool = False


def build_table(events: Sequence[Any], sort_by: str | None = None, header: str | None = None,
                row_limit: int = 100, max_src_column_width: int = 75, max_name_column_width: int | None = 55,
                max_shapes_column_width: int = 80, with_flops: bool = False, profile_memory: bool = False,
                top_level_events_only: bool = False, time_unit: str | None = None) -> str:  # fmt: skip
    """The events, or sums of events, one a line.

    Args:
        sort_by: an attribute such as "self_cpu_time_total"; the largest come first. None leaves the order.
        row_limit: the largest number of lines; a negative number shows all.
        time_unit: "s", "ms" or "us"; None chooses for each number.
        events: events, or sums of events.
        header: a line above the table; None for no line.
        max_src_column_width: the largest width of the column of sources, in characters.
        max_name_column_width: the largest width of the column of names, in characters.
        max_shapes_column_width: the largest width of the column of shapes, in characters.
        with_flops: whether operations are shown.
        profile_memory: whether memory is shown.
        top_level_events_only: whether events within others are left out.
    """
    if not events:
        return ""
    if sort_by is not None:
        events = sorted(events, key=lambda e: getattr(e, _present_name(sort_by)), reverse=True)
    total = sum(e.self_cpu_time_total for e in events)
    stacks = _stack_lines(events)
    columns = _columns(
        events, total, time_unit, max_name_column_width, max_shapes_column_width, profile_memory
    )
    if stacks:
        width = min(max(len(line) for line in stacks) + 4, max_src_column_width)
        columns.append(_Column("Source Location", width, lambda e: "", True))
    if with_flops:
        columns += _flop_columns(events)
    lines = _head(columns, header, top_level_events_only)
    count = 0
    for event in events:
        if count == row_limit:
            break
        if top_level_events_only and getattr(event, "cpu_parent", None) is not None:
            continue
        count += 1
        lines += _row(event, columns, bool(stacks), max_src_column_width)
    lines += [_rule(columns), f"Self CPU time total: {format_time(total, time_unit)}", ""]
    return "\n".join(lines)


def _present_name(name: str) -> str:
    return name.replace("cuda_", "device_") if name.startswith(("cuda_", "self_cuda_")) else name


def _stack_lines(events: Sequence[Any]) -> list[str]:
    return [line for e in events for line in (e.stack or ())]


def _columns(events: Sequence[Any], total: float, unit: str | None, widest_name: int | None, widest_shapes: int,
             memory: bool) -> list[_Column]:  # fmt: skip
    name_width = max(len(e.key or "") for e in events) + 4
    if widest_name is not None:
        name_width = min(name_width, widest_name)
    columns = [_Column("Name", name_width, lambda e: _short(e.key or "", widest_name, name_width))]
    if any(getattr(e, "overload_name", "") for e in events):
        width = min(max(len(e.overload_name or "") for e in events) + 4, widest_name or 10**6)
        columns.append(_Column("Overload Name", width, lambda e: e.overload_name or ""))
    columns += [
        _Column("Self CPU %", _WIDTH, lambda e: format_time_share(e.self_cpu_time_total, total)),
        _Column("Self CPU", _WIDTH, lambda e: format_time(e.self_cpu_time_total, unit)),
        _Column("CPU total %", _WIDTH, lambda e: "0" if e.is_async else format_time_share(e.cpu_time_total, total)),
        _Column("CPU total", _WIDTH, lambda e: format_time(e.cpu_time_total, unit)),
        _Column("CPU time avg", _WIDTH, lambda e: format_time(e.cpu_time, unit)),
    ]  # fmt: skip
    if memory:
        columns += [
            _Column("CPU Mem", _WIDTH, lambda e: format_memory(int(e.cpu_memory_usage))),
            _Column("Self CPU Mem", _WIDTH, lambda e: format_memory(int(e.self_cpu_memory_usage))),
        ]
    columns.append(_Column("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(e.node_id != -1 for e in events):
        columns.append(_Column("Node ID", _WIDTH, lambda e: str(e.node_id)))
    if any(e.input_shapes for e in events):
        width = min(max(len(str(e.input_shapes)) for e in events) + 4, widest_shapes)
        columns.append(_Column("Input Shapes", width, lambda e: str(e.input_shapes)[:width]))
    return columns


_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def _flop_columns(events: Sequence[Any]) -> list[_Column]:
    counts = [e.flops for e in events if e.flops and e.flops > 0]
    if not counts:
        return []
    power = int(max(0.0, min(math.log10(min(counts)) / 3, len(_UNITS) - 1)))

    def cell(event: Any) -> str:
        return f"{event.flops * 10.0 ** (-3 * power):8.3f}" if event.flops and event.flops > 0 else "--"

    return [_Column(f"Total {_UNITS[power]}", _WIDTH, cell)]


def _rule(columns: Sequence[_Column]) -> str:
    return "".join("-" * c.width + _GAP for c in columns)


def _align(columns: Sequence[_Column], cells: Sequence[str]) -> str:
    return "".join(
        (f"{cell:<{c.width}}" if c.left else f"{cell:>{c.width}}") + _GAP
        for c, cell in zip(columns, cells, strict=True)
    )


def _head(columns: Sequence[_Column], header: str | None, top_only: bool) -> list[str]:
    rule = _rule(columns)
    lines = ["=" * (len(rule) - len(_GAP)), header] if header is not None else []
    if top_only:
        lines += ["=" * (len(rule) - len(_GAP)), "This report only display top-level ops statistics"]
    return [*lines, rule, _align(columns, [c.title for c in columns]), rule]


def _row(event: Any, columns: Sequence[_Column], stacks: bool, widest_line: int) -> list[str]:
    cells = [c.cell(event) for c in columns]
    if not stacks:
        return [_align(columns, cells)]
    position = next(i for i, c in enumerate(columns) if c.title == "Source Location")
    frames = [
        line if len(line) <= widest_line else "..." + line[len(line) - widest_line + 3 :]
        for line in event.stack
    ]
    cells[position] = frames[0] if frames else ""
    below = [
        _align(columns, [line if i == position else "" for i in range(len(columns))])
        for line in [*frames[1:], ""]
    ]
    return [_align(columns, cells), *below]


def _short(name: str, widest: int | None, width: int) -> str:
    return name if widest is None or len(name) < widest else name[: width - 3] + "..."
