"""The check of a trace: a second run of the function, which is compared with the trace call by call."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.traces import tracing


def count_traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The recordings that the calls below make."""
    recordings: list[Any] = []
    record = tracing.record
    monkeypatch.setattr(
        tracing, "record", lambda *a, **k: recordings.append(record(*a, **k)) or recordings[-1]
    )
    return recordings


MODELS = [
    nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(64, 2)).eval(),
    nn.LSTM(6, 3, batch_first=True), nn.TransformerEncoderLayer(6, 2, 8).eval(),
]  # fmt: skip


@pytest.mark.parametrize(("model", "shape"), zip(MODELS, [(2, 3, 6, 6), (2, 3, 6), (2, 3, 6)], strict=True))
def test_a_run_that_repeats_needs_one_recording(
    model: nn.Module, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings = count_traces(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.trace(model, tl.randn(shape))
    assert len(recordings) == 1


def test_sizes_are_compared_by_their_values(monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = count_traces(monkeypatch)
    traced = jit.trace(lambda x: x.view(x.shape[0] // 2, -1) * x.shape[1], tl.ones(4, 3))
    assert len(recordings) == 1 and traced(tl.ones(2, 5)).tolist() == [[5.0] * 10]


@pytest.mark.parametrize("change", ["a number", "an operator", "a tensor", "a count"])
def test_a_run_that_differs_is_refused(change: str) -> None:
    calls: list[int] = []

    def function(x: tl.Tensor) -> tl.Tensor:
        calls.append(1)
        first = len(calls) == 1
        y = x * 2
        if change == "a number":
            return x * len(calls)
        if change == "an operator":
            return x.sin() if first else x.cos()
        if change == "a tensor":
            return (x if first else y) + 1
        return y if first else y + 1

    with pytest.raises(jit.TracingCheckError, match="Graph diff"):
        jit.trace(function, tl.ones(2))


def test_other_inputs_are_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = count_traces(monkeypatch)
    jit.trace(lambda x: x * 2, tl.ones(2), check_inputs=[(tl.ones(3),), (tl.ones(4),)])
    assert len(recordings) == 3


def test_scripted_parts_are_traced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    recordings = count_traces(monkeypatch)
    jit.trace(nn.Sequential(jit.script(nn.ReLU()), nn.Linear(2, 2)), tl.ones(1, 2))
    assert len(recordings) == 2


def test_random_results_warn() -> None:
    with pytest.warns(jit.TracerWarning) as shown:
        jit.trace(nn.Dropout(0.5), tl.ones(100))
    assert "Trace had nondeterministic nodes" in str(shown[0].message) and len(shown) == 2
