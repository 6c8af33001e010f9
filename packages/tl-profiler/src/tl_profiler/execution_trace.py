"""Execution traces: the operators of a program with their arguments and results, as a graph in a JSON file."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Self

from tl_autograd.profiler_results import ProfilerResult
from tl_autograd.recorded_event import Kind, RecordedEvent, is_tensor
from tl_core.base import recording
from tl_core.memory.whole_files import write_whole
from tl_profiler.trace_observer import _ITraceObserver

__all__ = ["ExecutionTraceObserver"]

_SCHEMA = "1.1.1-chakra.0.0.4"
_TYPES = {"bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
          "int64": "long int", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
          "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>"}  # fmt: skip


class ExecutionTraceObserver(_ITraceObserver):
    """Writes the operators that run between `start` and `stop`, with their arguments and results.

    Pass it to a profile, or use it alone.

    Example::

        >>> import os, tempfile, tl_core
        >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
        >>> observer = ExecutionTraceObserver().register_callback(path)
        >>> observer.start()
        >>> x = tl_core.ones(2) + 1
        >>> observer.stop(); observer.unregister_callback()
        >>> import json
        >>> with open(path) as file:
        ...     "aten::add" in {node["name"] for node in json.load(file)["nodes"]}
        True
    """

    def __init__(self) -> None:
        self._path: str | None = None
        self._running = self._alone = False
        self.extra_resources_collection = False
        self._parts: list[ProfilerResult] = []

    @staticmethod
    def from_environment() -> ExecutionTraceObserver | None:
        """An observer that writes to a new file, if ENABLE_PYTORCH_EXECUTION_TRACE is 1."""
        if os.environ.get("ENABLE_PYTORCH_EXECUTION_TRACE", "0") != "1":
            return None
        handle, path = tempfile.mkstemp("_execution_trace.json")
        os.close(handle)
        return ExecutionTraceObserver().register_callback(path)

    build_execution_trace_obs_from_env = from_environment

    def set_extra_resource_collection(self, val: bool) -> None:
        """Accepted. Kernels that are compiled at run time are not collected."""
        self.extra_resources_collection = val

    def register_callback(self, output_file_path: str) -> Self:
        """Sets the path of the file, which is compressed if the name ends with ".gz".

        Raises:
            OSError: it cannot be written.
        """
        if self._path is None:
            self._path = output_file_path
            self._write()
        return self

    def unregister_callback(self) -> None:
        """Stops the observer and closes the file."""
        self.stop()
        self._path = None
        self._parts = []

    @property
    def is_registered(self) -> bool:
        """Whether the observer has a file."""
        return self._path is not None

    def is_running(self) -> bool:
        """Whether the observer records operators."""
        return self._running

    @property
    def _execution_trace_running(self) -> bool:
        return self._running

    def start(self) -> None:
        """Starts recording operators."""
        if self._path is None or self._running:
            return
        self._running = True
        self._alone = not recording.is_recording()  # a running profile passes its events to `take`
        if self._alone:
            recording.start(values=True, results=True)

    def stop(self) -> None:
        """Stops recording and writes the file."""
        if not self._running:
            return
        self._running = False
        if self._alone:
            self._parts.append(ProfilerResult(recording.stop()))
        self._write()

    def take(self, result: ProfilerResult | None) -> None:
        """Adds the events of a profile to the trace."""
        if result is not None and self._running and not self._alone:
            self._parts.append(result)

    def cleanup(self) -> None:
        """As `unregister_callback`."""
        self.unregister_callback()

    def get_output_file_path(self) -> str | None:
        """The path of the file, or None."""
        return self._path

    def get_resources_dir(self, can_create: bool = False) -> str | None:
        """The folder of the file's resources, or None unless resources are collected."""
        if self._path is None or not self.extra_resources_collection:
            return None
        return self.get_resources_dir_for_et_path(self._path, create_dir=can_create)

    @staticmethod
    def get_resources_dir_for_et_path(trace_path: str, create_dir: bool = False) -> str | None:
        """The folder of a file's resources."""
        folder = os.path.splitext(trace_path)[0] + "_resources"
        if create_dir:
            os.makedirs(folder, exist_ok=True)
        return folder if os.path.isdir(folder) else None

    def _write(self) -> None:
        if self._path is None:
            return
        nodes = list(_Nodes().of(self._parts))
        trace = {"schema": _SCHEMA, "pid": os.getpid(), "time": "", "start_ts": 0, "nodes": nodes,
                 "finish_ts": 0}  # fmt: skip

        def write(path: str) -> None:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(trace, file)

        write_whole(self._path, write)


class _Nodes:
    """The nodes of a trace: a root, a node a thread, and a node an event inside the node that it ran inside."""

    def __init__(self) -> None:
        self._next = 1
        self._tensors: dict[int, int] = {}
        self._storages: dict[int, int] = {}

    def of(self, parts: list[ProfilerResult]) -> Iterator[dict[str, Any]]:
        root = self._number()
        yield self._node(root, "[pytorch|profiler|execution_trace|process]", root - 1, None, 0)
        threads: dict[int, int] = {}
        for part in parts:
            numbers: dict[int, int] = {}
            results = self._results(part.recorded)
            for index, event in enumerate(part.recorded):
                if event.kind not in (Kind.OPERATOR, Kind.NODE, Kind.EVALUATION, Kind.RANGE):
                    continue
                if event.thread not in threads:
                    threads[event.thread] = self._number()
                    name = "[pytorch|profiler|execution_trace|thread]"
                    yield self._node(threads[event.thread], name, root, None, event.thread)
                numbers[index] = self._number()
                parent = numbers.get(event.parent, threads[event.thread])
                yield self._node(
                    numbers[index], event.name, parent, event, event.thread, results.get(index, ()), index + 1
                )

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    @staticmethod
    def _results(events: list[RecordedEvent]) -> dict[int, tuple[Any, ...]]:
        """The results by operator: they follow the operator that ended just before, inside one event."""
        results: dict[int, tuple[Any, ...]] = {}
        waiting: dict[tuple[int, int, int], int] = {}
        for index, e in enumerate(events):
            if e.kind == Kind.OPERATOR:
                waiting[e.thread, e.parent, e.what] = index
            elif e.kind == Kind.RESULTS:
                owner = waiting.pop((e.thread, e.parent, e.what), None)
                if owner is not None:
                    results[owner] = e.values or ()
        return results

    def _node(self, number: int, name: str, parent: int, event: RecordedEvent | None, thread: int,
              results: tuple[Any, ...] = (), recorded: int = 0) -> dict[str, Any]:  # fmt: skip
        sequence = -1 if event is None else event.number
        attributes = [
            ("rf_id", "uint64", recorded),
            ("fw_parent", "uint64", 0),
            ("seq_id", "int64", sequence),
            (
                "scope",
                "uint64",
                7 if event is None or event.kind == Kind.RANGE else int(event.kind == Kind.NODE),
            ),
            ("tid", "uint64", thread),
            ("fw_tid", "uint64", thread if event is not None and event.kind == Kind.NODE else 0),
            ("op_schema", "string", self._schema(event)),
            ("kernel_backend", "string", ""),
            ("kernel_file", "string", ""),
        ]
        return {"id": number, "name": name, "ctrl_deps": parent,
                "inputs": self._describe(event.values or () if event else ()),
                "outputs": self._describe(results),
                "attrs": [{"name": n, "type": t, "value": v} for n, t, v in attributes]}  # fmt: skip

    @staticmethod
    def _schema(event: RecordedEvent | None) -> str:
        if event is None or event.kind != Kind.OPERATOR:
            return ""
        return event.name + (f".{event.overload}" if event.overload else "")

    def _describe(self, values: tuple[Any, ...]) -> dict[str, list[Any]]:
        rows = [self._value(v) for v in values]
        return {"values": [t[0] for t in rows], "shapes": [t[1] for t in rows], "types": [t[2] for t in rows],
                "strides": [t[3] for t in rows]}  # fmt: skip

    def _value(self, value: Any) -> tuple[Any, Any, str, Any]:
        if is_tensor(value):
            return self._tensor(value)
        if isinstance(value, list):
            rows = [self._value(v) for v in value]
            kind = ",".join(t[2] for t in rows)
            return (
                [t[0] for t in rows],
                [t[1] for t in rows],
                f"GenericList[{kind}]",
                [t[3] for t in rows],
            )
        kinds = {bool: "Bool", int: "Int", float: "Double", str: "String"}
        if value is None:
            return "<None>", [], "None", []
        return value if type(value) in kinds else str(value), [], kinds.get(type(value), "Device"), []

    def _tensor(self, value: Any) -> tuple[Any, Any, str, Any]:
        _, impl, memory, dtype, device, _, sizes, strides = value
        tensor = self._tensors.setdefault(impl, len(self._tensors) + 1)
        storage = self._storages.setdefault(memory, len(self._storages) + 1)
        name = str(dtype).rsplit(".", 1)[-1]
        count = 1
        for n in sizes:
            count *= n
        described = [tensor, storage, 0, count, dtype.itemsize, str(device)]
        return described, list(sizes), f"Tensor({_TYPES.get(name, name)})", list(strides)
