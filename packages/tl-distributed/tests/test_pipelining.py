"""Pipelines: outputs, losses and gradients are those of the whole model, for every schedule."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import tl_core as tl
import tl_nn as nn
from tl_autograd import Function
from tl_core.testing import assert_close
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.pipelining import (
    Action,
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    TensorChunkSpec,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from tl_distributed.pipelining._backward import stage_backward_input, stage_backward_weight
from tl_distributed.pipelining._utils import PipeliningShapeError
from tl_distributed.pipelining.schedules import (
    PipelineScheduleMulti,
    PipelineScheduleSingle,
    _PipelineScheduleRuntime,
)

BUILDING = threading.Lock()  # ranks are threads, which share the generator
DEVICE = tl.device("cpu")


def layers(count):
    with BUILDING:
        tl.manual_seed(0)
        return [nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)) for _ in range(count)]


def loss_of(output, target):
    return ((output - target) ** 2).mean()


def batch():
    drawn = tl.Generator().manual_seed(3)
    return tl.randn(8, 6, generator=drawn), tl.randn(8, 6, generator=drawn)


def placement(kind, count, local):
    """The stages of each rank."""
    if getattr(kind, "style", "loop") == "v":
        return {rank: [rank, 2 * count - 1 - rank] for rank in range(count)}
    return {rank: list(range(rank, count * local, count)) for rank in range(count)}


def schedule_of(kind, stages, *args, **kwargs):
    return kind(stages[0] if issubclass(kind, PipelineScheduleSingle) else stages, *args, **kwargs)


def whole_model(count, microbatches):
    """The output, the loss of each microbatch and the gradients of each layer of one process."""
    x, y = batch()
    whole = nn.Sequential(*layers(count))
    parts = [loss_of(whole(a), b) for a, b in zip(x.tensor_split(microbatches), y.tensor_split(microbatches))]
    (sum(parts) / microbatches).backward()
    grads = [[p.grad for p in layer.parameters()] for layer in whole]
    return whole(x).detach(), tl.stack(parts).detach(), grads


def check_gradients(stages, numbers, expected):
    for number, stage in zip(numbers, stages, strict=True):
        for parameter, reference in zip(stage.submod.parameters(), expected[number], strict=True):
            assert_close(parameter.grad, reference, rtol=1e-5, atol=4e-5)


SCHEDULES = [
    (ScheduleGPipe, 2, 1, 4),
    (ScheduleGPipe, 3, 1, 1),
    (Schedule1F1B, 2, 1, 8),
    (Schedule1F1B, 4, 1, 4),
    (Schedule1F1B, 3, 1, 2),
    (ScheduleLoopedBFS, 2, 2, 4),
    (ScheduleLoopedBFS, 4, 2, 2),
    (ScheduleInterleaved1F1B, 2, 2, 4),
    (ScheduleInterleaved1F1B, 2, 3, 2),
    (ScheduleInterleaved1F1B, 4, 2, 8),
    (ScheduleInterleavedZeroBubble, 2, 1, 4),
    (ScheduleInterleavedZeroBubble, 2, 2, 4),
    (ScheduleInterleavedZeroBubble, 4, 2, 8),
    (ScheduleZBVZeroBubble, 2, 2, 1),
    (ScheduleZBVZeroBubble, 2, 2, 8),
    (ScheduleZBVZeroBubble, 4, 2, 8),
    (ScheduleDualPipeV, 2, 2, 4),
    (ScheduleDualPipeV, 4, 2, 8),
]


@pytest.mark.parametrize(("kind", "count", "local", "microbatches"), SCHEDULES)
def test_results_of_the_whole_model(ranks, kind, count, local, microbatches):
    x, y = batch()
    output_of_whole, losses_of_whole, expected = whole_model(count * local, microbatches)

    def body(rank):
        own, numbers_of = layers(count * local), placement(kind, count, local)
        numbers = numbers_of[rank]
        has_last = count * local - 1 in numbers
        stages = [PipelineStage(own[n], n, count * local, DEVICE) for n in numbers]
        schedule = schedule_of(kind, stages, microbatches, loss_of)
        args = (x,) if rank == 0 else ()
        for _ in range(2):  # the second step meets no remains of the first
            for stage in stages:
                stage.submod.zero_grad()
            losses = []
            output = schedule.step(*args, target=y if has_last else None, losses=losses)
            check_gradients(stages, numbers, expected)
            for stage in stages:
                for kept in (
                    stage._inputs,
                    stage._outputs,
                    stage._input_grads,
                    stage._weights,
                    stage._arriving,
                ):
                    assert not kept
        if has_last:
            assert_close(output, output_of_whole)
            assert_close(tl.stack(losses), losses_of_whole)
        else:
            assert output is None and losses == []
        losses = []
        evaluated = schedule.eval(*args, target=y if has_last else None, losses=losses)
        if has_last:
            assert_close(evaluated, output_of_whole)
            assert not evaluated.requires_grad
            assert_close(tl.stack(losses), losses_of_whole)
        nothing = schedule.step(*args, target=y if has_last else None, return_outputs=False)
        assert nothing is None

    ranks(count, body)


def test_gradients_accumulate_over_steps(ranks):
    x, y = batch()
    *_, expected = whole_model(2, 4)

    def body(rank):
        stage = PipelineStage(layers(2)[rank], rank, 2, DEVICE)
        schedule = Schedule1F1B(stage, 4, loss_of)
        for _ in range(3):
            schedule.step(*(x,) if rank == 0 else (), target=y if rank else None)
        for parameter, reference in zip(stage.submod.parameters(), expected[rank], strict=True):
            assert_close(parameter.grad, 3 * reference, rtol=1e-5, atol=4e-5)

    ranks(2, body)


def test_sums_of_losses_are_not_scaled(ranks):
    x, y = batch()
    whole = nn.Sequential(*layers(2))
    ((whole(x) - y) ** 2).sum().backward()

    def body(rank):
        stage = PipelineStage(layers(2)[rank], rank, 2, DEVICE)
        schedule = ScheduleGPipe(
            stage, 4, lambda output, target: ((output - target) ** 2).sum(), scale_grads=False
        )
        schedule.step(*(x,) if rank == 0 else (), target=y if rank else None)
        for parameter, reference in zip(stage.submod.parameters(), whole[rank].parameters(), strict=True):
            assert_close(parameter.grad, reference.grad, rtol=1e-5, atol=4e-5)

    ranks(2, body)


FORWARD_FIRST = "{s}F0 {s}F1 {s}F2 {s}F3".format
IN_TWO_PARTS = "{s}I0 {s}W0 {s}I1 {s}W1 {s}I2 {s}W2 {s}I3 {s}W3".format
OWN_TABLES = {  # the stages of the ranks are uneven, or go there and back
    5: (
        "0F0 1F0 0F1 1F1 4F0 4B0 0F2 1F2 4F1 4B1 0F3 1F3 4F2 4B2 4F3 4B3 1B0 0B0 1B1 0B1 1B2 0B2 1B3 0B3",
        "2F0 3F0 2F1 3F1 2F2 3F2 2F3 3F3 3I0 3W0 2I0 2W0 3I1 3W1 2I1 2W1 3I2 3W2 2I2 2W2 3I3 3W3 2I3 2W3",
    ),
    3: (
        f"{FORWARD_FIRST(s=0)} {IN_TWO_PARTS(s=0)}",
        f"{FORWARD_FIRST(s=1)} {FORWARD_FIRST(s=2)} {IN_TWO_PARTS(s=2)} {IN_TWO_PARTS(s=1)}",
    ),
    4: (
        "0F0 0F1 3F0 3I0 0F2 3F1 3I1 3W0 0F3 3F2 3I2 3F3 3I3 0I0 3W1 0I1 0I2 0W0 0I3 0W1 3W2 3W3 0W2 0W3",
        "1F0 2F0 1F1 2F1 1F2 2F2 1F3 2F3 2I0 2W0 1I0 1W0 2I1 2W1 1I1 1W1 2I2 2W2 1I2 1W2 2I3 2W3 1I3 1W3",
    ),
}


@pytest.mark.parametrize("count", OWN_TABLES)
def test_tables_of_your_own(ranks, count, tmp_path):
    microbatches = 4
    x, y = batch()
    _, losses_of_whole, expected = whole_model(count, microbatches)
    tables = {r: [Action.from_str(text) for text in row.split()] for r, row in enumerate(OWN_TABLES[count])}
    where = {action.stage_index: rank for rank, table in tables.items() for action in table}

    class Schedule(PipelineScheduleMulti):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.pipeline_order = tables

    def body(rank):
        own, numbers = layers(count), sorted(stage for stage, owner in where.items() if owner == rank)
        stages = [PipelineStage(own[n], n, count, DEVICE) for n in numbers]
        options = {"loss_fn": loss_of, "stage_index_to_group_rank": where}
        schedule = Schedule(stages, microbatches, **options)
        runtime = _PipelineScheduleRuntime(stages, microbatches, **options)
        runtime._load_actions(schedule.pipeline_order)
        path = str(tmp_path / f"{rank}.csv")
        runtime._dump_csv(path)
        again = _PipelineScheduleRuntime(stages, microbatches, **options)
        again._load_csv(path, format="compute_comms")
        assert again.pipeline_order_with_comms == runtime.pipeline_order_with_comms
        late = _PipelineScheduleRuntime(stages, microbatches, **options, defer_pp_recv=True)
        late._load_actions(schedule.pipeline_order)
        args, target = (x,) if 0 in numbers else (), y if count - 1 in numbers else None
        for each in (schedule, runtime, again, late):
            for stage in stages:
                stage.submod.zero_grad()
            losses = []
            each.step(*args, target=target, losses=losses)
            check_gradients(stages, numbers, expected)
            if count - 1 in numbers:
                assert_close(tl.stack(losses), losses_of_whole)

    ranks(2, body)


def test_arguments_by_name_and_of_several_tensors(ranks):
    drawn = tl.Generator().manual_seed(5)
    x, y, bias = (tl.randn(8, 6, generator=drawn) for _ in range(3))

    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layers(1)[0]

        def forward(self, x, number, *, bias):
            h = self.layer(x) * number + bias
            return h, bias, (h > 0).long()

    class Second(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = layers(1)[0]

        def forward(self, h, bias, mask):
            return self.layer(h) + bias * mask

    first, second = First(), Second()
    parts = [
        loss_of(second(*first(a, 3, bias=c)), b)
        for a, b, c in zip(x.tensor_split(4), y.tensor_split(4), bias.tensor_split(4))
    ]
    (sum(parts) / 4).backward()

    def body(rank):
        for kind in (ScheduleGPipe, Schedule1F1B, ScheduleInterleavedZeroBubble):
            module = Second() if rank else First()
            stage = PipelineStage(module, rank, 2, DEVICE)
            schedule = schedule_of(kind, [stage], 4, loss_of)
            losses = []
            if rank == 0:
                schedule.step(x, 3, bias=bias)
            else:
                schedule.step(target=y, losses=losses)
                assert_close(tl.stack(losses), tl.stack(parts).detach())
            for parameter, reference in zip(
                module.parameters(), (second if rank else first).parameters(), strict=True
            ):
                assert_close(parameter.grad, reference.grad, rtol=1e-5, atol=4e-5)

    ranks(2, body)


def test_frozen_stages_get_no_gradient(ranks):
    x, y = batch()
    whole = nn.Sequential(*layers(3))
    whole[0].requires_grad_(False)
    whole[1][0].requires_grad_(False)
    (sum(loss_of(whole(a), b) for a, b in zip(x.tensor_split(4), y.tensor_split(4))) / 4).backward()

    def body(rank):
        for kind in (Schedule1F1B, ScheduleInterleavedZeroBubble):
            own = layers(3)
            own[0].requires_grad_(False)
            own[1][0].requires_grad_(False)
            stage = PipelineStage(own[rank], rank, 3, DEVICE)
            schedule = schedule_of(kind, [stage], 4, loss_of)
            schedule.step(*(x,) if rank == 0 else (), target=y if rank == 2 else None)
            for parameter, reference in zip(own[rank].parameters(), whole[rank].parameters(), strict=True):
                if reference.grad is None:
                    assert parameter.grad is None
                else:
                    assert_close(parameter.grad, reference.grad, rtol=1e-5, atol=4e-5)

    ranks(3, body)


def test_gradients_of_data_parallel_stages_are_averaged_once(ranks):
    """Two pipelines of two ranks, each with half of the batch."""
    import tl_distributed as dist

    x, y = batch()
    *_, expected = whole_model(2, 4)

    def body(rank):
        pipelines = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        copies = [dist.new_group([0, 2]), dist.new_group([1, 3])]
        index, number = rank % 2, rank // 2
        module = DistributedDataParallel(layers(2)[index], process_group=copies[index])
        stage = PipelineStage(module, index, 2, DEVICE, group=pipelines[number])
        for kind in (Schedule1F1B, ScheduleInterleavedZeroBubble):
            module.zero_grad()
            schedule = schedule_of(kind, [stage], 2, loss_of)
            half = slice(4 * number, 4 * number + 4)
            schedule.step(*(x[half],) if index == 0 else (), target=y[half] if index else None)
            for parameter, reference in zip(module.parameters(), expected[index], strict=True):
                assert_close(parameter.grad, reference, rtol=1e-5, atol=4e-5)

    ranks(4, body)


@pytest.mark.parametrize("kind", [ScheduleGPipe, Schedule1F1B, ScheduleInterleavedZeroBubble])
def test_no_tensor_is_alive_afterwards(ranks, kind):
    x, y = batch()

    def body(rank):
        alive = weakref.WeakSet()

        class Watched(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = layers(2)[rank]

            def forward(self, value):
                output = self.layer(value)
                alive.add(output)
                alive.add(value)
                return output

        stage = PipelineStage(Watched(), rank, 2, DEVICE)
        schedule = schedule_of(kind, [stage], 4, loss_of)
        schedule.step(*(x,) if rank == 0 else (), target=y if rank else None)
        gc.collect()
        assert not list(alive)

    ranks(2, body)


def test_live_activations_are_those_of_the_table(ranks):
    """Counts the graphs that a rank keeps at once, against `peak_microbatches`."""
    x, y = batch()
    peaks = {}

    def body(rank):
        for kind in (ScheduleGPipe, Schedule1F1B):
            counts = []

            class Count(Function):
                live = 0

                @staticmethod
                def forward(ctx, value, counts=counts):
                    Count.live += 1
                    counts.append(Count.live)
                    return value.clone()

                @staticmethod
                def backward(ctx, grad):
                    Count.live -= 1
                    return grad

            class Counted(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = layers(2)[rank]

                def forward(self, value):
                    return Count.apply(self.layer(value))

            schedule = kind(PipelineStage(Counted(), rank, 2, DEVICE), 8, loss_of)
            schedule.step(*(x,) if rank == 0 else (), target=y if rank else None)
            peaks[kind, rank] = max(counts)
            assert max(counts) <= schedule.peak_microbatches

    ranks(2, body)
    assert peaks == {(ScheduleGPipe, 0): 8, (ScheduleGPipe, 1): 8, (Schedule1F1B, 0): 2, (Schedule1F1B, 1): 1}


class TestBackwardInTwoParts:
    def compare(self, module, *inputs):
        """Both parts together against one backward pass; between them, no weight has a gradient."""
        inputs = [value.clone().requires_grad_() for value in inputs]
        loss = module(*inputs).square().mean()
        loss.backward()
        expected = [p.grad for p in module.parameters()]
        of_inputs = [value.grad for value in inputs]
        module.zero_grad()
        again = [value.detach().clone().requires_grad_() for value in inputs]
        results, groups = stage_backward_input(
            [module(*again).square().mean()], None, again, module.parameters()
        )
        for result, reference in zip(results, of_inputs, strict=True):
            assert (result is None) == (reference is None)
            if result is not None:
                assert_close(result, reference)
        assert all(p.grad is None for p in module.parameters())
        stage_backward_weight(module.parameters(), groups)
        for parameter, reference in zip(module.parameters(), expected, strict=True):
            assert (parameter.grad is None) == (reference is None)
            if reference is not None:
                assert_close(parameter.grad, reference)

    def test_layers(self):
        x = batch()[0]
        self.compare(nn.Sequential(*layers(3)), x)
        self.compare(nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 2)), x)
        self.compare(nn.TransformerEncoderLayer(6, 2, 12, dropout=0.0, batch_first=True), x.reshape(2, 4, 6))
        self.compare(nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.ReLU()), x.reshape(4, 2, 6))

    def test_weights_with_a_graph_of_their_own_and_shared_weights(self):
        class Shared(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(batch()[1][:6].clone())
                self.v = nn.Parameter(batch()[0][:6].clone())
                self.unused = nn.Parameter(tl.ones(2))
                self.scale = nn.Parameter(tl.ones(1) * 0.5)

            def forward(self, x, other):
                h = (x @ self.w.tanh() * self.scale).tanh()  # the graph of tanh(w) is no part of the way
                h = h @ self.w + (h @ self.v).relu()  # w is used twice
                return h * self.scale + self.v.sum()  # v leaves the way and ends beside it

        x, other = batch()
        self.compare(Shared(), x, other)

    def test_several_outputs_and_outputs_without_a_way_to_an_input(self):
        w, v = (tl.ones(3, requires_grad=True) for _ in range(2))
        x = tl.arange(3.0).requires_grad_()
        one, two = (x * w).split([1, 2])
        outputs = [one, two, v * 2]
        grads = [tl.ones(1), tl.full((2,), 3.0), tl.full((3,), 5.0)]
        (gradient,), groups = stage_backward_input(outputs, grads, [x], [w, v])
        assert gradient.tolist() == [1, 3, 3] and w.grad is None and v.grad is None
        stage_backward_weight([w, v], groups)
        assert w.grad.tolist() == [0, 3, 6] and v.grad.tolist() == [10, 10, 10]

    def test_each_part_computes_its_own_share_only(self):
        """The products of the first part and those of the second are together those of a whole pass."""
        calls = []

        class Scaled(Function):
            @staticmethod
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x * w

            @staticmethod
            def backward(ctx, grad):
                calls.append(tuple(ctx.needs_input_grad))
                x, w = ctx.saved_tensors
                return grad * w, grad * x

        x, w, v = (tl.ones(3, requires_grad=True) for _ in range(3))
        _, groups = stage_backward_input(
            [Scaled.apply(Scaled.apply(x, w.tanh()), v).sum()], None, [x], [w, v]
        )
        assert len(calls) == 2  # one for each node on the way to the input
        stage_backward_weight([w, v], groups)
        assert len(calls) == 4  # and one more for each weight's
        assert_close(v.grad, x.detach() * w.detach().tanh())


def test_own_weight_gradients(ranks):
    """`dw_builder`: the module's backward pass leaves the weights out, and its runner computes them."""
    x, y = batch()

    def body(rank):
        for kind, length in ((ScheduleGPipe, 4), (ScheduleInterleavedZeroBubble, 4)):
            runs = []

            def builder(runs=runs):
                return lambda: runs.append(1)

            stage = PipelineStage(layers(2)[rank], rank, 2, DEVICE, dw_builder=builder)
            schedule = schedule_of(kind, [stage], length, loss_of)
            schedule.step(*(x,) if rank == 0 else (), target=y if rank else None)
            assert len(runs) == length
        with pytest.raises(AssertionError, match="backward_one_chunk of microbatch 0"):
            stage.backward_weight_one_chunk(0)

    ranks(2, body)


def test_functions_instead_of_actions(ranks):
    x, y = batch()

    def body(rank):
        actions = []
        stage = PipelineStage(layers(1)[0], 0, 1, DEVICE)
        schedule = _PipelineScheduleRuntime([stage], 2, loss_fn=loss_of)
        schedule._load_actions({0: [Action.from_str(t) for t in ("0F0", "0F1", "0I0", "0I1", "0W0", "0W1")]})
        schedule.register_custom_function(
            Action.from_str("0W0").computation_type, lambda a, c: actions.append(str(a))
        )
        schedule.step(x, target=y)
        assert actions == ["0W0", "0W1"]
        assert all(p.grad is None for p in stage.submod.parameters())  # the functions compute none
        with pytest.raises(ValueError, match="messages can't be replaced"):
            schedule.register_custom_function(Action.from_str("0SEND_F0").computation_type, print)

    ranks(1, body)


class TestFaults:
    def test_microbatches_of_another_size(self, ranks):
        x, y = batch()

        def body(rank):
            stage = PipelineStage(layers(2)[rank], rank, 2, DEVICE)
            schedule = Schedule1F1B(stage, 4, loss_of)
            args = (x,) if rank == 0 else ()
            schedule.step(*args, target=y if rank else None)
            if rank == 0:
                with pytest.raises(
                    PipeliningShapeError, match=r"stage 0: microbatch 0: input 0: shape mismatch"
                ):
                    schedule.step(tl.randn(9, 6))
                with pytest.raises(
                    PipeliningShapeError, match=r"dtype mismatch, expected torch\.float32, got"
                ):
                    schedule.step(x.double())
                stage.submod.register_forward_hook(lambda module, args, output: output.flatten())
                with pytest.raises(
                    PipeliningShapeError, match=r"stage 0: microbatch 0: output 0: shape mismatch"
                ):
                    schedule.step(x)

        ranks(2, body)

    def test_uneven_microbatches_and_examples(self, ranks):
        def body(rank):
            stage = PipelineStage(layers(1)[0], 0, 1, DEVICE)
            with pytest.raises(PipeliningShapeError, match=r"microbatch 1: input 0: shape mismatch"):
                ScheduleGPipe(stage, 2, loss_of).step(tl.randn(9, 6), target=tl.randn(9, 6))
            examples = PipelineStage(layers(1)[0], 0, 1, DEVICE, (tl.randn(4, 6),), tl.randn(4, 7))
            with pytest.raises(PipeliningShapeError, match=r"output 0: shape mismatch, expected \(4, 7\)"):
                ScheduleGPipe(examples, 2, loss_of).step(tl.randn(8, 6), target=tl.randn(8, 6))
            with pytest.raises(
                PipeliningShapeError, match=r"microbatch 0: input 0: shape mismatch, expected \(4, 6\)"
            ):
                ScheduleGPipe(examples, 2, loss_of).step(tl.randn(6, 6), target=tl.randn(6, 6))
            with pytest.raises(PipeliningShapeError, match="output gradient 0: dtype mismatch"):
                PipelineStage(layers(1)[0], 0, 1, DEVICE, None, tl.ones(2), tl.ones(2).double())

        ranks(1, body)

    def test_stages_without_gradient(self, ranks):
        x, y = batch()

        class Cut(nn.Module):
            def __init__(self, rank, how):
                super().__init__()
                self.layer, self.how = layers(2)[rank], how

            def forward(self, value):
                if self.how == "input":
                    return self.layer(value.detach())
                return self.layer(value).detach() if self.how == "output" else self.layer(value)

        def body(rank):
            schedule = ScheduleGPipe(PipelineStage(Cut(rank, "output"), rank, 2, DEVICE), 2, loss_of)
            if rank == 0:
                with pytest.raises(
                    RuntimeError, match="stage 0 gets no gradient: 0B0 waits for one from 1B0"
                ):
                    schedule.step(x)

        ranks(2, body)

        def below(rank):
            schedule = ScheduleGPipe(
                PipelineStage(Cut(rank, "input" if rank else ""), rank, 2, DEVICE), 2, loss_of
            )
            if rank == 0:
                with pytest.raises(RuntimeError):  # the other rank has left
                    schedule.step(x)
            else:
                with pytest.raises(
                    RuntimeError, match="stage 0 gets no gradient: 0B0 waits for 1B0, but what 1F0"
                ):
                    schedule.step(target=y)
                raise KeyError

        with pytest.raises(KeyError):
            ranks(2, below)

        def alone(rank):
            schedule = ScheduleGPipe(PipelineStage(Cut(0, "output"), 0, 1, DEVICE), 2, loss_of)
            with pytest.raises(
                RuntimeError, match="stage 0 gets no gradient: 0B0 waits for one from its loss"
            ):
                schedule.step(x, target=y)
            with tl.no_grad(), pytest.raises(RuntimeError, match="call eval"):
                schedule.step(x, target=y)

        ranks(1, alone)

    def test_schedules_that_would_stand_still(self, ranks):
        texts = {0: ["0F0", "0B0"], 1: ["1B0", "1F0"]}
        tables = {rank: [Action.from_str(text) for text in row] for rank, row in texts.items()}

        def body(rank):
            stage = PipelineStage(layers(2)[rank], rank, 2, DEVICE)
            schedule = PipelineScheduleMulti([stage], 1, loss_of)
            schedule.pipeline_order = tables
            with pytest.raises(ValueError, match="rank 0 is at 0B0, which waits for 1B0"):
                schedule.step(batch()[0])
            runtime = _PipelineScheduleRuntime([stage], 1, loss_of)
            with pytest.raises(AssertionError, match="rank 1, step 0: 1B0 comes before 1F0"):
                runtime._load_actions(tables)
            crossed = {0: ["0F0", "0F1", "0SEND_F1", "0SEND_F0"], 1: ["1RECV_F0", "1RECV_F1", "1F0", "1F1"]}
            crossed[0] += ["0RECV_B0", "0B0", "0RECV_B1", "0B1"]
            crossed[1] += ["1B0", "1SEND_B0", "1B1", "1SEND_B1"]
            both = {r: [Action.from_str(text) for text in row] for r, row in crossed.items()}
            two = _PipelineScheduleRuntime([stage], 2, loss_of)
            with pytest.raises(
                ValueError, match="messages cross: rank 0 sends the tensors of 1RECV_F1, rank 1 is"
            ):
                two._load_actions(both, format="compute_comms")
            with pytest.raises(ValueError, match="has no messages, got 0SEND_F1 on rank 0"):
                two._load_actions(both)
            with pytest.raises(NotImplementedError, match="format must be one of"):
                two._load_actions(both, format="text")

        ranks(2, body)

    def test_pipelines_that_make_no_sense(self, ranks):
        def body(rank):
            layer = nn.Linear(2, 2)
            stages = [PipelineStage(layer, n, 4, DEVICE) for n in (rank, 3 - rank)]
            for call, text in (
                (lambda: PipelineStage(layer, 2, 2, DEVICE), "out of range for 2 stages"),
                (lambda: PipelineStage(layer, 0, 1, DEVICE), "a pipeline of 1 stages can't have 2 ranks"),
                (lambda: ScheduleGPipe(PipelineStage(layer, rank, 3, DEVICE), 1), "one stage on each rank"),
                (lambda: ScheduleGPipe(PipelineStage(layer, rank, 2, DEVICE), 0), "must be positive"),
                (
                    lambda: ScheduleLoopedBFS([PipelineStage(layer, 1 - rank, 4, DEVICE)], 2),
                    f"rank {rank} has the st",
                ),
                (lambda: ScheduleDualPipeV(stages, 3), "at least as many microbatches as stages, got 3"),
                (lambda: ScheduleZBVZeroBubble(stages[:1], 3), f"rank {rank} has the stages"),
                (
                    lambda: ScheduleInterleaved1F1B([PipelineStage(layer, rank, 3, DEVICE)], 2),
                    "has the stages|multiple",
                ),
                (
                    lambda: ScheduleInterleavedZeroBubble([PipelineStage(layer, rank, 2, DEVICE)], 5),
                    "of 2 rounds",
                ),
            ):
                with pytest.raises(ValueError, match=text):
                    call()

        ranks(2, body)


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
