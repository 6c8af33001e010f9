"""Habits that cost time, found in the tree of events of a profile."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

from tl_autograd.profiler_kinds import EventType
from tl_profiler._utils import index_of_first_match, traverse_bfs, traverse_dfs

__all__ = ["Conv2dBiasFollowedByBatchNorm2dPattern", "ExtraCUDACopyPattern", "FP32MatMulPattern",
           "ForLoopIndexingPattern", "GradNotSetToNonePattern", "MatMulDimInFP16Pattern", "NamePattern",
           "OptimizerSingleTensorPattern", "Pattern", "SynchronizedDataLoaderPattern",
           "report_all_anti_patterns"]  # fmt: skip


def source_of(event: Any) -> Any:
    """The innermost Python call of a file around the event, or None."""
    outer = event.parent
    while outer is not None:
        if outer.tag == EventType.PyCall and re.search(r"\.py\(\d+\): ", outer.name):
            return outer
        outer = outer.parent
    return None


class Pattern:
    """A pattern of events. Derived classes implement `match`.

    Args:
        prof: a profile that has ended.
        should_benchmark: accepted and unused: no change is benchmarked.
    """

    name = "Please specify a name for pattern"
    description = "Please specify a description for pattern"
    url = ""
    skip = False

    def __init__(self, prof: Any, should_benchmark: bool = False) -> None:
        self.prof, self.should_benchmark = prof, should_benchmark
        collector = getattr(prof, "profiler", prof)
        if collector is None or collector.kineto_results is None:
            raise AssertionError("Pattern: the profile has not ended")
        self.event_tree = collector.kineto_results.experimental_event_tree()
        self.tid_root: dict[int, list[Any]] = {}
        for event in self.event_tree:
            self.tid_root.setdefault(event.start_tid, []).append(event)

    def match(self, event: Any) -> bool:
        """Whether the event shows the habit."""
        raise NotImplementedError

    def eventTreeTraversal(self) -> Iterator[Any]:
        """The events that are looked at."""
        yield from traverse_dfs(self.event_tree)

    def matched_events(self) -> list[Any]:
        """The events that match."""
        return [] if self.skip else [e for e in self.eventTreeTraversal() if self.match(e)]

    def report(self, event: Any) -> str:
        """The text of an event for the report."""
        where = source_of(event)
        return f"{self.description}\n{where.name if where else 'No source code location found'}"

    def summary(self, events: list[Any]) -> str:
        """The summary of all events for the report."""
        return f"{self.name}: {len(events)} events matched."

    def root_of(self, event: Any) -> Any:
        """The outermost event around it."""
        while event.parent:
            event = event.parent
        return event

    def siblings_of(self, event: Any) -> tuple[list[Any], list[Any]]:
        """The events before and after it inside its parent."""
        children = event.parent.children if event.parent else self.tid_root[event.start_tid]
        index = children.index(event)
        return children[:index], children[index + 1 :]

    def next_of(self, event: Any) -> Any:
        """The event after it, or None at the end."""
        behind = self.siblings_of(event)[1]
        return behind[0] if behind else None

    def prev_of(self, event: Any) -> Any:
        """The event before it, or None at the beginning."""
        before = self.siblings_of(event)[0]
        return before[-1] if before else None


class NamePattern(Pattern):
    """Events whose name a regular expression finds."""

    def __init__(self, prof: Any, name: str, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self.description = f"Matched Name Event: {name}"
        self.name = name

    def match(self, event: Any) -> bool:
        return re.search(self.name, event.name) is not None


class ExtraCUDACopyPattern(Pattern):
    """Tensors made on the CPU and copied to CUDA. Without CUDA no event matches."""

    name = "Extra CUDA Copy Pattern"
    description = "A tensor is made on the CPU and copied to the GPU: make it there."
    skip = True


class ForLoopIndexingPattern(Pattern):
    """Rows of a tensor taken one by one in a loop: at least ten in a row."""

    name = "For Loop Indexing Pattern"
    description = "A loop takes a tensor apart row by row: work on all rows at once."

    def __init__(self, prof: Any, should_benchmark: bool = False) -> None:
        super().__init__(prof, should_benchmark)
        self._seen: set[int] = set()

    def eventTreeTraversal(self) -> Iterator[Any]:
        yield from traverse_bfs(self.event_tree)

    def match(self, event: Any) -> bool:
        if event.name != "aten::select" or event.id in self._seen:
            return False
        _, behind = self.siblings_of(event)
        if not behind:
            return False
        family = [event, *behind]
        again = index_of_first_match(family, lambda e: e.name == "aten::select", start=1)
        if again is None:
            return False
        shape = [e.name for e in family[:again]]
        count = 0
        for i in range(0, len(family), len(shape)):
            part = family[i : i + len(shape)]
            if [e.name for e in part] != shape:
                break
            self._seen.update(e.id for e in part)
            count += 1
        return count >= 10


class FP32MatMulPattern(Pattern):
    """Products in float32 where CUDA has tensor cores. Without CUDA no event matches."""

    name = "FP32 MatMul Pattern"
    description = "Products run in float32 though the GPU has TF32."
    skip = True


class OptimizerSingleTensorPattern(Pattern):
    """Optimizers that step parameter by parameter."""

    name = "Optimizer Single Tensor Pattern"
    description = (
        "The optimizer steps each parameter by itself: foreach=True or fused=True steps all at once."
    )

    def match(self, event: Any) -> bool:
        if not event.name.startswith("Optimizer.step#"):
            return False
        names = [e.name for e in traverse_dfs(event.children) if e.tag == EventType.TorchOp]
        return bool(names) and not any(re.search(r"_foreach_|_fused_", n) for n in names)


class SynchronizedDataLoaderPattern(Pattern):
    """Loaders that load in the program's own process."""

    name = "Synchronized DataLoader Pattern"
    description = "The loader has no workers: num_workers of at least 1 loads while the program computes."

    def match(self, event: Any) -> bool:
        return event.name == "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


class GradNotSetToNonePattern(Pattern):
    """Gradients that are filled with zeros in place of being dropped."""

    name = "Gradient Set To Zero Instead of None Pattern"
    description = "Gradients are filled with zeros: zero_grad(set_to_none=True) drops them."

    def match(self, event: Any) -> bool:
        if not re.search(r"zero_grad", event.name) or (
            event.parent and re.search(r"zero_grad", event.parent.name)
        ):
            return False
        names = {e.name for e in traverse_dfs(event.children)}
        return bool(names & {"aten::zero_", "aten::_foreach_zero_"})


_CONVOLUTION = re.compile(r"aten::_?(conv2d|convolution)$")


class Conv2dBiasFollowedByBatchNorm2dPattern(Pattern):
    """Convolutions with a bias before a batch normalization, which takes it away again."""

    name = "Enabling Bias in Conv2d Followed By BatchNorm Pattern"
    description = (
        "A Conv2d with a bias is followed by a BatchNorm2d, which removes it: bias=False saves the sum."
    )

    def match(self, event: Any) -> bool:
        if not event.name.startswith("nn.Module: Conv2d"):
            return False
        convolution = next((e for e in traverse_dfs(event.children) if _CONVOLUTION.match(e.name)), None)
        if convolution is None or len(convolution.extra_fields.inputs) < 3:
            return False
        behind = [
            e
            for e in traverse_dfs(self.tid_root[event.start_tid])
            if e.name.startswith("nn.Module: ") and e.start_time_ns >= event.end_time_ns
        ]
        has_bias = convolution.extra_fields.inputs[2] is not None
        return has_bias and bool(behind) and behind[0].name.startswith("nn.Module: BatchNorm2d")


class MatMulDimInFP16Pattern(Pattern):
    """Products in float16 on CUDA whose sizes don't suit tensor cores. Without CUDA no event matches."""

    name = "Matrix Multiplication Dimension Not Aligned Pattern"
    description = "Sizes of a product in float16 are no multiples of 8."
    skip = True


_ALL = (ExtraCUDACopyPattern, ForLoopIndexingPattern, FP32MatMulPattern, OptimizerSingleTensorPattern,
        SynchronizedDataLoaderPattern, GradNotSetToNonePattern, Conv2dBiasFollowedByBatchNorm2dPattern,
        MatMulDimInFP16Pattern)  # fmt: skip


def report_all_anti_patterns(prof: Any, should_benchmark: bool = False, print_enable: bool = True,
                             json_report_dir: str | None = None) -> None:  # fmt: skip
    """Reports every pattern that matches a profile.

    Args:
        prof: a profile with stacks that has ended.
        should_benchmark: accepted and unused.
        print_enable: whether to print the report.
        json_report_dir: a folder for `torchtidy_report.json`, by files of the program.
    """
    report: dict[str, list[dict[str, Any]]] = {}
    lines = ["-" * 40, "TorchTidy Report", "-" * 40]
    for kind in _ALL:
        pattern = kind(prof, should_benchmark)
        events = pattern.matched_events()
        lines += [pattern.summary(events)] if events else []
        for event in events:
            lines.append(pattern.report(event))
            where = source_of(event)
            location = re.match(r"(.*)\((\d+)\): ", where.name) if where else None
            if location is not None:
                report.setdefault(location[1], []).append(
                    {"line_number": int(location[2]), "name": pattern.name, "url": pattern.url,
                     "message": pattern.description}
                )  # fmt: skip
    if print_enable:
        print("\n".join(lines))
    if json_report_dir is not None:
        with open(os.path.join(json_report_dir, "torchtidy_report.json"), "w", encoding="utf-8") as file:
            json.dump(report, file, indent=2)
