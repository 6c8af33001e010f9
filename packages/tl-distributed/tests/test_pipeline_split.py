"""Models cut into stages at marks in their graph: outputs and gradients are those of the whole model."""

from __future__ import annotations

import threading

import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.pipelining import (
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    build_stage,
    pipe_split,
    pipeline,
)
from tl_distributed.pipelining._utils import PipeliningShapeError

BUILDING = threading.Lock()  # ranks are threads, which share the generator


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(6, 12), nn.Linear(12, 6)
        self.register_buffer("scale", tl.full((6,), 0.5))

    def forward(self, x):
        return x + self.down(self.up(x).tanh()) * self.scale


class Deep(nn.Module):
    def __init__(self, count=4):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(count)))

    def forward(self, x):
        return self.blocks(x)


class Tangled(nn.Module):
    """Skip connections over several stages, tied weights, a buffer in two stages, an argument of the last one."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(tl.randn(6, 6) * 0.4)
        self.one, self.two = nn.Linear(6, 6), nn.Linear(6, 6)
        self.register_buffer("shift", tl.ones(6))
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x, *, bias, mask=None):
        x = x @ self.w
        skip, positive = x, x > 0
        left, right = (x + self.shift).split([2, 4], 1)
        x = self.norm(self.one(x))
        pipe_split()
        x = (x + bias).relu() @ self.w
        pipe_split()
        x = self.two(x) + self.shift + tl.cat([right, left], 1)
        pipe_split()
        return x * positive + skip @ self.w.t() + bias


def model_of(kind):
    with BUILDING:
        tl.manual_seed(0)
        return kind()


def drawn(count):
    generator = tl.Generator().manual_seed(7)
    return [tl.randn(8, 6, generator=generator) for _ in range(count)]


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def expected_of(model, args, kwargs, target, count):
    """The output and the losses of one process; the gradients are in the model."""
    cut = [value.tensor_split(count) for value in args]
    named = {name: value.tensor_split(count) for name, value in kwargs.items()}
    outputs = [
        model(*(part[m] for part in cut), **{name: part[m] for name, part in named.items()})
        for m in range(count)
    ]
    losses = [loss_of(o, t) for o, t in zip(outputs, target.tensor_split(count), strict=True)]
    (sum(losses) / count).backward()
    return tl.cat(outputs).detach(), tl.stack(losses).detach()


@pytest.mark.parametrize("point", SplitPoint)
def test_submodules_are_cut_at_either_side(point):
    model = model_of(Deep)
    (x,) = drawn(1)
    number = 2 if point is SplitPoint.BEGINNING else 1
    pipe = pipeline(model, (x,), split_spec={f"blocks.{number}": point})
    assert pipe.num_stages == 2
    names = [list(pipe.get_stage_module(i).state_dict()) for i in range(2)]
    assert names[0] + names[1] == list(model.state_dict())
    assert all(name.startswith(("blocks.0", "blocks.1")) for name in names[0])
    assert [name for name, _ in pipe.get_stage_module(1).blocks.named_children()] == ["2", "3"]
    assert pipe.get_stage_module(1).get_parameter("blocks.2.up.weight") is model.blocks[2].up.weight
    assert_close(pipe(x)[0], model(x))
    with pytest.raises(ValueError, match="Invalid stage index 2, must be from 0 to 1"):
        pipe.get_stage_module(2)


def test_a_policy_enters_the_cuts():
    model = model_of(Deep)
    (x,) = drawn(1)

    def after_each_sum(traced):
        sums = [node for node in traced.graph.nodes if "add" in str(node.target)]
        for node in sums[:-1]:
            with traced.graph.inserting_after(node):
                traced.graph.call_function(pipe_split)
        return traced

    pipe = pipeline(model, (x,), split_policy=after_each_sum)
    assert pipe.num_stages == 4
    assert_close(pipe(x)[0], model(x))
    with pytest.raises(ValueError, match="Cannot specify both"):
        pipeline(model, (x,), split_spec={}, split_policy=after_each_sum)
    with pytest.raises(AttributeError, match="has no attribute"):
        pipeline(model, (x,), split_spec={"blocks.9": SplitPoint.END})
    with pytest.raises(ValueError, match="must be a SplitPoint, got 'END'"):
        pipeline(model, (x,), split_spec={"blocks.1": "END"})


def test_values_and_weights_of_several_stages():
    model = model_of(Tangled)
    x, bias = drawn(2)
    pipe = pipeline(model, (x,), {"bias": bias})
    assert pipe.num_stages == 4
    owners = {name: i for i in range(4) for name, _ in pipe.get_stage_module(i).named_parameters()}
    assert owners["w"] == 0 and owners["one.weight"] == 0 and owners["two.weight"] == 2
    assert [name for name in pipe.get_stage_module(2).state_dict() if name == "shift"] == ["shift"]
    model.eval()
    evaluated = pipeline(model, (x,), {"bias": bias})
    assert_close(evaluated(x, bias=bias)[0], model(x, bias=bias))
    with pytest.raises(TypeError, match="the pipeline was cut for 1 positional arguments and the names"):
        pipe(x, bias=bias, mask=bias)
    pipe.print_readable()


def test_outputs_keep_their_structure():
    class Several(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6)

        def forward(self, values):
            h = self.layer(values["x"])
            pipe_split()
            return {"a": h * 2, "b": (values["y"], h.sum())}

    model = model_of(Several)
    x, y = drawn(2)
    pipe = pipeline(model, ({"x": x, "y": y},))
    (output,) = pipe({"x": x, "y": y})
    expected = model({"x": x, "y": y})
    assert list(output) == ["a", "b"] and output["b"][0].equal(y)
    assert_close(output["a"], expected["a"])
    assert_close(output["b"][1], expected["b"][1])


def test_without_pipeline_the_mark_does_nothing():
    assert pipe_split() is None
    model = model_of(Tangled).eval()
    x, bias = drawn(2)
    assert model(x, bias=bias).shape == (8, 6)


@pytest.mark.parametrize(
    ("schedule_kind", "size", "stages"),
    [
        (ScheduleGPipe, 4, 4),
        (Schedule1F1B, 4, 4),
        (ScheduleLoopedBFS, 2, 4),
        (ScheduleInterleavedZeroBubble, 2, 4),
        (ScheduleZBVZeroBubble, 2, 4),
    ],
)
@pytest.mark.parametrize("kind", [Deep, Tangled])
def test_training_over_ranks(ranks, kind, schedule_kind, size, stages):
    count = 4
    x, bias, y = drawn(3)
    kwargs = {"bias": bias} if kind is Tangled else {}
    spec = None if kind is Tangled else {f"blocks.{i}": SplitPoint.BEGINNING for i in range(1, 4)}
    model_alone = model_of(kind)
    output_of_whole, losses_of_whole = expected_of(model_alone, (x,), kwargs, y, count)

    def body(rank):
        model = model_of(kind)
        with BUILDING:  # exports share the names of traced modules
            part = {name: value[:2] for name, value in kwargs.items()}
            pipe = pipeline(model, (x[:2],), part, split_spec=spec)
        is_v = getattr(schedule_kind, "style", "") == "v"
        own = [rank, stages - 1 - rank] if is_v else list(range(rank, stages, size))
        built = [pipe.build_stage(number, "cpu") for number in own]
        schedule = schedule_kind(built[0] if size == stages else built, count, loss_of)
        losses = []
        has_last = stages - 1 in own
        arguments = ((x,), kwargs) if rank == 0 else ((), {})
        output = schedule.step(*arguments[0], **arguments[1], target=y if has_last else None, losses=losses)
        if has_last:
            assert_close(output, output_of_whole)
            assert_close(tl.stack(losses), losses_of_whole)
        for stage in built:
            for name, parameter in stage.submod.named_parameters():
                assert_close(parameter.grad, model_alone.get_parameter(name).grad, rtol=1e-5, atol=4e-5)
            for name, buffer in stage.submod.named_buffers():
                assert_close(buffer, model_alone.get_buffer(name))

    ranks(size, body)


def test_stages_of_wrapped_modules_and_faults(ranks):
    (x,) = drawn(1)

    def body(rank):
        model = model_of(Deep)
        with BUILDING:
            pipe = pipeline(model, (x[:2],), split_spec={"blocks.2": SplitPoint.BEGINNING})
        info = pipe.info()
        assert info.num_stages == 2 and not info.has_loss_and_backward and len(info.graph) == 2
        stage = build_stage(pipe.get_stage_module(rank), rank, info, "cpu")
        schedule = ScheduleGPipe(stage, 4)
        output = schedule.step(*(x,) if rank == 0 else ())
        if rank:
            assert_close(output, model(x).detach())
        else:
            with pytest.raises(PipeliningShapeError, match="dtype mismatch"):
                schedule.step(x.to(tl.int32))
        with pytest.raises(ValueError, match="stage 2 is out of range for 2 stages"):
            build_stage(pipe.get_stage_module(rank), 2, info, "cpu")

    ranks(2, body)


def test_cuts_that_make_no_sense():
    class Counted(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", tl.zeros(()))
            self.layer = nn.Linear(6, 6)

        def forward(self, x):
            x = self.layer(x) * self.count
            pipe_split()
            self.count.add_(1)
            return x * 2

    (x,) = drawn(1)
    with pytest.raises(RuntimeError, match="the buffer count is changed in one stage and used in another"):
        pipeline(model_of(Counted), (x,))
