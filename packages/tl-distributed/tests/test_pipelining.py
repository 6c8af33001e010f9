"""Pipelines: outputs, losses and gradients are those of the whole model, for every schedule."""

from __future__ import annotations

import threading

import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.pipelining import (
    Action,
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleLoopedBFS,
    TensorChunkSpec,
    check_tables,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from tl_distributed.pipelining.actions import (
    interleave_stages,
    loop_stages,
    one_forward_one_backward,
    peak_microbatches,
)

BUILDING = threading.Lock()  # ranks are threads, which share the generator
DEVICE = tl.device("cpu")


def layers(count):
    with BUILDING:
        tl.manual_seed(0)
        return [nn.Sequential(nn.Linear(6, 6), nn.Tanh()) for _ in range(count)]


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def batch():
    drawn = tl.Generator().manual_seed(3)
    return tl.randn(8, 6, generator=drawn), tl.randn(8, 6, generator=drawn)


@pytest.mark.parametrize(
    ("kind", "count", "local", "microbatches"),
    [
        (ScheduleGPipe, 2, 1, 4),
        (ScheduleGPipe, 3, 1, 1),
        (Schedule1F1B, 2, 1, 8),
        (Schedule1F1B, 4, 1, 4),
        (Schedule1F1B, 3, 1, 2),
        (ScheduleLoopedBFS, 2, 2, 4),
        (ScheduleInterleaved1F1B, 2, 2, 4),
        (ScheduleInterleaved1F1B, 2, 3, 2),
    ],
)
def test_results_of_the_whole_model(ranks, kind, count, local, microbatches):
    x, y = batch()
    whole = nn.Sequential(*layers(count * local))
    parts = [loss_of(whole(a), b) for a, b in zip(x.tensor_split(microbatches), y.tensor_split(microbatches))]
    (sum(parts) / microbatches).backward()
    expected = [[p.grad for p in layer.parameters()] for layer in whole]

    def body(rank):
        own = layers(count * local)
        numbers = list(range(rank, count * local, count))
        stages = [PipelineStage(own[n], n, count * local, DEVICE) for n in numbers]
        schedule = kind(stages[0] if local == 1 else stages, microbatches, loss_of)
        for _ in range(2):  # the second step meets no remains of the first
            for stage in stages:
                stage.submod.zero_grad()
            losses = []
            args = (x,) if rank == 0 else ()
            output = schedule.step(*args, target=y if rank == count - 1 else None, losses=losses)
            for number, stage in zip(numbers, stages, strict=True):
                for parameter, reference in zip(stage.submod.parameters(), expected[number], strict=True):
                    assert_close(parameter.grad, reference, rtol=1e-5, atol=4e-5)
                assert not stage._inputs and not stage._outputs and not stage._sends
        if rank == count - 1:
            assert_close(output, whole(x).detach())
            assert_close(tl.stack(losses), tl.stack(parts).detach())
        else:
            assert output is None and losses == []
        evaluated = schedule.eval(*args)
        if rank == count - 1:
            assert_close(evaluated, whole(x).detach())
            assert not evaluated.requires_grad

    ranks(count, body)


def test_tables_are_checked_before_they_run():
    assert [str(a) for a in one_forward_one_backward(1, 2, 3)] == ["1F0", "1B0", "1F1", "1B1", "1F2", "1B2"]
    for stages in (1, 2, 4, 8):
        for microbatches in (1, 3, 8):
            assert (
                check_tables([loop_stages([s], microbatches) for s in range(stages)], stages) == microbatches
            )
            tables = [one_forward_one_backward(s, stages, microbatches) for s in range(stages)]
            assert check_tables(tables, stages) == min(stages, microbatches)
            assert peak_microbatches(tables[-1]) == 1
    for count, local, microbatches in ((2, 2, 4), (4, 2, 8), (4, 3, 4)):
        check_tables([interleave_stages(r, count, local, microbatches) for r in range(count)], count * local)
    reverse = [[Action(0, "F", 0), Action(0, "B", 0)], [Action(1, "B", 0), Action(1, "F", 0)]]
    with pytest.raises(ValueError, match="rank 0 is at 0B0, which waits for 1B0"):
        check_tables(reverse, 2)
    with pytest.raises(ValueError, match="rank 0 has 0F0 twice"):
        check_tables([[Action(0, "F", 0)] * 2], 1)


def test_microbatches():
    x, y = tl.arange(6).reshape(2, 3), tl.arange(3)
    args, kwargs = split_args_kwargs_into_chunks(
        (x, "a"), {"y": y}, 3, (TensorChunkSpec(1), None), TensorChunkSpec.from_dict({"y": 0})
    )
    assert [a[0].tolist() for a in args] == [[[0], [3]], [[1], [4]], [[2], [5]]] and args[0][1] == "a"
    assert [k["y"].tolist() for k in kwargs] == [[0], [1], [2]]
    assert merge_chunks([a[0] for a in args], (TensorChunkSpec(1),)).equal(x)
    with pytest.raises(ValueError, match="can't be cut into 4 microbatches"):
        split_args_kwargs_into_chunks((y,), None, 4)


def test_pipelines_that_make_no_sense(ranks):
    def body(rank):
        layer = nn.Linear(2, 2)
        for call, error, text in (
            (lambda: PipelineStage(layer, 2, 2, DEVICE), ValueError, "out of range for 2 stages"),
            (
                lambda: ScheduleGPipe(PipelineStage(layer, rank, 3, DEVICE), 1),
                ValueError,
                "one stage on each rank",
            ),
            (lambda: ScheduleGPipe(PipelineStage(layer, rank, 2, DEVICE), 0), ValueError, "must be positive"),
            (
                lambda: ScheduleLoopedBFS([PipelineStage(layer, 1 - rank, 4, DEVICE)], 2),
                ValueError,
                f"rank {rank} has the stages",
            ),
            (
                lambda: PipelineStage(layer, 0, 2, DEVICE, dw_builder=lambda: None),
                NotImplementedError,
                "dw_builder is not there yet",
            ),
        ):
            with pytest.raises(error, match=text):
                call()

    ranks(2, body)
