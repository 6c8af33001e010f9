"""Profiling: traces of nvprof: ranges that `emit_nvtx` marked, with the kernels that were started in them."""

from __future__ import annotations

import sqlite3

from tl_autograd.profiler_util import EventList, FunctionEvent, StringTable

__all__ = ["read"]

_RANGES = """
SELECT start.id AS id, start.name AS name, start.timestamp AS begin, stop.timestamp AS finish
FROM CUPTI_ACTIVITY_KIND_MARKER AS start JOIN CUPTI_ACTIVITY_KIND_MARKER AS stop ON start.id = stop.id
WHERE start.name != 0 AND stop.name = 0
"""
_KERNELS = """
SELECT marker.id AS id, kernel.name AS name, kernel.start AS begin, kernel.end AS finish
FROM CUPTI_ACTIVITY_KIND_MARKER AS marker
JOIN CUPTI_ACTIVITY_KIND_MARKER AS stop ON marker.id = stop.id
JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS runtime
  ON marker.timestamp < runtime.start AND stop.timestamp > runtime.end
JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS kernel ON kernel.correlationId = runtime.correlationId
WHERE marker.name != 0 AND stop.name = 0
"""


def read(connection: sqlite3.Connection) -> list[FunctionEvent]:
    """The ranges in the order of their beginnings; each kernel belongs to the innermost range around its start."""
    connection.row_factory = sqlite3.Row
    texts = StringTable()
    for row in connection.execute("SELECT _id_ AS id, value FROM StringTable"):
        texts[row["id"]] = row["value"]
    by_id: dict[int, FunctionEvent] = {}
    for row in connection.execute(_RANGES):
        by_id.setdefault(row["id"], FunctionEvent(row["id"], texts[row["name"]], 0, row["begin"] / 1e3,
                                                  row["finish"] / 1e3, use_device="cuda"))  # fmt: skip
    events = sorted(by_id.values(), key=lambda e: e.time_range.start)
    EventList(events)._build_tree()
    for row in connection.execute(_KERNELS):
        event = by_id[row["id"]]
        if not event.cpu_children:
            event.append_kernel(texts[row["name"]], 0, (row["finish"] - row["begin"]) / 1e3)
    return events
