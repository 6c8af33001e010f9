"""Events written by hand, in the form of a profile's results."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

from tl_autograd.profiler_kinds import DeviceType, EventType

_numbers = itertools.count(1)


def event(
    name: str, start: int, end: int, *children: Any, tag: Any = EventType.TorchOp, inputs: Any = ()
) -> Any:
    """An event of the program, with the events inside it.

    Args:
        name: the name of the event.
        start: its first nanosecond.
        end: the nanosecond after it.
        children: the events inside it.
        tag: the kind of the event.
        inputs: the recorded inputs.
    """
    result = SimpleNamespace(
        id=next(_numbers), name=name, start_time_ns=start, end_time_ns=end, duration_time_ns=end - start,
        children=list(children), parent=None, tag=tag, start_tid=1, extra_fields=SimpleNamespace(inputs=inputs),
    )  # fmt: skip
    for child in children:
        child.parent = result
    return result


def launch(start: int, number: int) -> Any:
    """The launch of a kernel, which takes 2 ns.

    Args:
        start: its first nanosecond.
        number: the number of the kernel.
    """
    return _accelerator_event("cudaLaunchKernel", start, 2, number, DeviceType.CPU)


def kernel(start: int, length: int, number: int) -> Any:
    """A kernel.

    Args:
        start: its first nanosecond.
        length: its nanoseconds.
        number: the number of the kernel.
    """
    return _accelerator_event("kernel", start, length, number, DeviceType.CUDA)


def _accelerator_event(name: str, start: int, length: int, number: int, device: Any) -> Any:
    return SimpleNamespace(
        name=lambda: name,
        start_ns=lambda: start,
        duration_ns=lambda: length,
        device_type=lambda: device,
        linked_correlation_id=lambda: number,
    )


def profile_of(tree: list[Any], accelerator_events: Any = ()) -> Any:
    """A profile that has ended.

    Args:
        tree: the outermost events.
        accelerator_events: launches and kernels.
    """
    results = SimpleNamespace(experimental_event_tree=lambda: tree, events=lambda: list(accelerator_events))
    return SimpleNamespace(kineto_results=results)
