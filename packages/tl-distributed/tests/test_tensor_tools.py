"""Functions on parts, rules of programs, counts of collectives, tables of pieces, context parallelism."""

from __future__ import annotations

import json
import sys
import threading

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
import tl_nn.functional as F
from tl_core.testing import assert_close
from tl_distributed.nn import functional_collectives
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, ones
from tl_distributed.tensor.debug import CommDebugMode, visualize_sharding
from tl_distributed.tensor.experimental import (
    attention,
    context_parallel,
    context_parallel_unshard,
    implicit_replication,
    local_map,
    register_sharding,
)
from tl_distributed.tensor.experimental.attention import set_rotate_method
from tl_distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from tl_distributed.tensor.parallel.ddp import _pre_dp_module_transform
from tl_distributed.tensor.parallel.input_reshard import input_reshard
from tl_distributed.tensor.strategies import REGISTERED


def test_functions_on_parts(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        w = distribute_tensor(tl.arange(12.0).reshape(3, 4), mesh, [Shard(1)])
        x = distribute_tensor(tl.arange(8.0).reshape(4, 2), mesh, [Shard(0)])

        def multiply(w, x, factor):
            return w @ x * factor, factor

        call = local_map(multiply, ([Partial()], None), ([Shard(1)], [Shard(0)], None))
        result, factor = call(w, x, 2)
        assert result.placements == (Partial("sum"),) and factor == 2
        assert_close(result.full_tensor(), w.full_tensor() @ x.full_tensor() * 2)
        with pytest.raises(ValueError, match="redistribute_inputs"):
            call(w.redistribute(placements=[Replicate()]), x, 2)
        moving = local_map(
            multiply, ([Partial()], None), ([Shard(1)], [Shard(0)], None), redistribute_inputs=True
        )
        assert_close(
            moving(w.redistribute(placements=[Replicate()]), x, 2)[0].full_tensor(), result.full_tensor()
        )
        with pytest.raises(AssertionError, match="does not match the number of input args"):
            call(w, x)
        with pytest.raises(AssertionError, match=r"(?s)DTensor input .* placements but received None"):
            local_map(multiply, [Partial()], ([Shard(1)], None, None))(w, x, 2)
        with pytest.raises(AssertionError, match="Non-Tensor input 2 expects None placements"):
            local_map(multiply, [Partial()], ([Shard(1)], [Shard(0)], [Shard(0)]))(w, x, 2)
        with pytest.raises(AssertionError, match="2 out_placements but 1 is expected"):
            local_map(lambda x: x, ([Shard(0)], [Shard(0)]))(x)
        assert local_map(lambda x: x + 1, [Shard(0)])(tl.ones(1)).tolist() == [2]

    ranks(2, body)


def test_rules_of_programs(ranks):
    @tl.library.custom_op("shards::double", mutates_args=())
    def double(x: tl.Tensor, factor: float) -> tl.Tensor:
        return x * factor

    @double.register_fake
    def _(x, factor):
        return tl.empty_like(x)

    operator = tl.ops.shards.double.default

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(tl.arange(5.0), mesh, [Shard(0)])
        full = x.redistribute(placements=[Replicate()])
        if operator not in REGISTERED:
            assert operator(full, 2.0).placements == (Replicate(),)
            with pytest.raises(
                NotImplementedError,
                match=r"shards.double.default does not have a sharding strategy.*register_sharding",
            ):
                operator(x, 2.0)
            with implicit_replication():
                assert operator(x, 2.0).full_tensor().tolist() == [0, 2, 4, 6, 8]
        dist.barrier()
        register_sharding(operator)(
            lambda x, factor: [([Shard(d)], [Shard(d), None]) for d in range(x.dim())]
        )
        dist.barrier()
        assert operator(x, 3.0).placements == (Shard(0),)
        return operator(x, 3.0).full_tensor().tolist()

    with pytest.warns(UserWarning, match="no rule says"):
        assert ranks(2, body) == [[0, 3, 6, 9, 12]] * 2
    REGISTERED.pop(operator)


def test_a_wrong_rule_is_noticed_at_the_first_call(ranks):
    @tl.library.custom_op("shards::half", mutates_args=())
    def half(x: tl.Tensor) -> tl.Tensor:
        return x / 2

    @half.register_fake
    def _(x):
        return tl.empty_like(x)

    operator = tl.ops.shards.half.default
    register_sharding(operator)(lambda x: [([Replicate()], [Shard(0)])])

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor(tl.arange(4.0), mesh, [Shard(0)])
        with pytest.raises(
            RuntimeError, match=r"shards.half.default: a rank's part has the size \(2,\).*is \(4,\)"
        ):
            operator(x)

    ranks(2, body)
    REGISTERED.pop(operator)


def test_plain_tensors_beside_distributed_ones(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = ones(4, device_mesh=mesh, placements=[Shard(0)])
        with pytest.raises(
            RuntimeError, match=r"aten.add.Tensor: got mixed torch.Tensor and DTensor.*size \(4,\).*Shard"
        ):
            x + tl.ones(4)
        with implicit_replication():
            assert (x + tl.ones(4)).to_local().tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="mixed"):
            x + tl.ones(4)
        assert (x * tl.tensor(3.0)).to_local().tolist() == [3, 3]
        other = ones(4, device_mesh=dist.DeviceMesh("cpu", [1, 0]))
        with pytest.raises(RuntimeError, match="two meshes"):
            x + other

    ranks(2, body)


def test_random_numbers_are_those_of_one_process(ranks):
    shape = (5, 3)

    def numbers(x, generator):
        yield x.clone().uniform_(generator=generator)
        yield tl.bernoulli(x / 2, generator=generator)
        yield x.clone().normal_(1.0, 2.0, generator=generator)
        yield tl.normal(x, x, generator=generator)

    expected = [value.tolist() for value in numbers(tl.ones(shape), tl.Generator().manual_seed(7))]

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (3,))
        for placement in (Shard(0), Shard(1), Replicate()):
            generator = tl.Generator().manual_seed(7 + rank)  # that of the first rank counts
            x = distribute_tensor(tl.ones(shape), mesh, [placement])
            for value, reference in zip(numbers(x, generator), expected, strict=True):
                assert value.placements == (placement,) and value.full_tensor().tolist() == reference

    ranks(3, body)


def test_dropout_of_pieces(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        x = distribute_tensor((tl.arange(40.0) + 1).reshape(10, 4).requires_grad_(), mesh, [Shard(0)])
        result = F.dropout(x, 0.5)
        result.sum().backward()
        ratio = (result / x).full_tensor()
        assert result.placements == (Shard(0),) and set(ratio.flatten().tolist()) == {0.0, 2.0}
        assert x.grad.full_tensor().equal(ratio)

    ranks(2, body)


def test_counts_of_collectives(ranks, tmp_path):
    counted = []

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        model = parallelize_module(model, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})
        dist.barrier()
        if rank == 1:  # the block counts for the whole process, of which both ranks are threads
            dist.barrier()
            model(tl.ones(2, 4))
            dist.barrier()
            return
        with CommDebugMode() as mode:
            dist.barrier()
            model(tl.ones(2, 4))
            dist.barrier()
        counted.append(mode.get_comm_counts())
        assert mode.get_total_counts() == 2 and set(mode.get_parameter_info()) >= {"Sequential.Linear"}
        assert mode.get_sharding_info()["Sequential.Linear"]["bias"] in ((Shard(0),), (Replicate(),))
        assert "*_c10d_functional.all_reduce: " in mode.generate_comm_debug_tracing_table(0)
        mode.generate_json_dump(str(tmp_path / "mode.json"))
        mode.log_comm_debug_tracing_table_to_file(str(tmp_path / "mode.txt"))
        assert json.loads((tmp_path / "mode.json").read_text())[0]["fqn"] == "Global"
        assert "Linear" in (tmp_path / "mode.txt").read_text()

    ranks(2, body)
    assert counted == [{tl.ops._c10d_functional.all_reduce: 2}]


class Total(nn.Module):
    """The sum over ranks of a tensor times a weight."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(tl.ones(2))

    def forward(self, x):
        return functional_collectives.all_reduce(x * self.weight, "sum", dist.group.WORLD)


def test_the_table_of_a_model(world, tmp_path):
    model, mode = nn.Sequential(nn.Sequential(Total(), Total())), CommDebugMode()
    for _ in range(2):  # the second block begins with empty counts
        with mode:
            model(tl.ones(2))
            functional_collectives.all_reduce(tl.ones(2), "sum", dist.group.WORLD)
            model(ones(2, device_mesh=dist.init_device_mesh("cpu", (1,))).to_local())
    model(tl.ones(2))  # after the block
    assert mode.get_total_counts() == 5 == sum(mode.get_comm_counts().values())
    assert mode.get_comm_counts() == {tl.ops._c10d_functional.all_reduce: 5}
    info = mode.get_parameter_info()
    assert list(info) == ["Sequential.Sequential.Total"] and list(info.popitem()[1]) == ["weight"]
    assert mode.get_sharding_info() == {}
    lines = [
        "Global",
        "  *_c10d_functional.all_reduce: 1",
        "    Total",
        "      *_c10d_functional.all_reduce: 4",
    ]
    assert mode.generate_comm_debug_tracing_table(0).splitlines() == lines
    entries = [
        ("Global", {"_c10d_functional.all_reduce": 1}),
        ("Sequential.Sequential.Total", {"_c10d_functional.all_reduce": 4}),
    ]
    mode.generate_json_dump(str(tmp_path / "mode.json"), noise_level=0)
    assert json.loads((tmp_path / "mode.json").read_text()) == [
        {"fqn": name, "collectives": counts, "operators": []} for name, counts in entries
    ]
    mode.log_comm_debug_tracing_table_to_file(str(tmp_path / "mode.txt"), noise_level=0)
    assert (tmp_path / "mode.txt").read_text().splitlines() == lines


def test_the_operators_of_distributed_tensors_in_a_table(world):
    x = ones(2, device_mesh=dist.init_device_mesh("cpu", (1,)))
    with CommDebugMode() as mode:
        x + x
    assert mode.generate_comm_debug_tracing_table(1).splitlines() == ["Global", "  **aten.add.Tensor"]
    assert mode.generate_comm_debug_tracing_table(0) == "Global"
    x * x  # after the block
    assert mode.operators == {"Global": ["aten.add.Tensor"]}


def test_no_count_of_several_threads_is_lost():
    """Ranks may be threads of one process, and the block counts for all of them."""
    mode, interval = CommDebugMode(), sys.getswitchinterval()

    def count():
        for _ in range(2000):
            mode._count("all_reduce")

    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert mode.get_total_counts() == 8000


def test_tables_of_pieces(ranks, capsys):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2))
        visualize_sharding(ones(3, 4, device_mesh=mesh, placements=[Shard(0), Shard(1)]), header="pieces")
        with pytest.raises(RuntimeError, match="only implemented for 1D or 2D"):
            visualize_sharding(ones(1, 1, 1, device_mesh=mesh))

    ranks(4, body)
    assert capsys.readouterr().out.splitlines() == [
        "pieces",
        "|     | 0-1   | 2-3   |",
        "|-----|-------|-------|",
        "| 0-1 | cpu:0 | cpu:1 |",
        "| 2-2 | cpu:2 | cpu:3 |",
    ]


def test_tables_of_one_dimension(ranks, capsys):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        for placement in (Shard(0), Replicate()):
            visualize_sharding(ones(5, device_mesh=mesh, placements=[placement]))
        visualize_sharding(ones(0, device_mesh=mesh), header="nothing")
        with pytest.raises(NotImplementedError, match="use_rich"):
            visualize_sharding(ones(5, device_mesh=mesh), use_rich=True)

    ranks(2, body)
    assert capsys.readouterr().out.splitlines() == [
        "|     | 0-2   | 3-4   |",
        "|-----|-------|-------|",
        "| 0-0 | cpu:0 | cpu:1 |",
        "|     | 0-4          |",
        "|-----|--------------|",
        "| 0-0 | cpu:0, cpu:1 |",
    ]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "count, method", [(2, "alltoall"), (2, "allgather"), (3, "alltoall"), (3, "allgather")]
)
def test_attention_of_a_sequence_on_several_ranks(ranks, count, method, causal, monkeypatch):
    monkeypatch.setattr(attention, "_rotate_method", method)
    sample = tl.Generator().manual_seed(1)
    full = [tl.randn(2, heads, 12, 8, generator=sample) for heads in (4, 2, 2)]
    leaves = [t.clone().requires_grad_() for t in full]
    expected = F.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=True)
    (expected * expected).sum().backward()

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (count,))
        buffers = [t.clone() for t in full]
        with context_parallel(
            mesh, buffers=buffers, buffer_seq_dims=[2] * 3, no_restore_buffers={buffers[2]}
        ):
            own = [t.detach().clone().requires_grad_() for t in buffers]
            assert own[0].shape[2] == 12 // count
            output = F.scaled_dot_product_attention(*own, is_causal=causal, enable_gqa=True)
            (output * output).sum().backward()
            with pytest.raises(NotImplementedError, match="neither a mask nor dropout"):
                F.scaled_dot_product_attention(*own, dropout_p=0.5)
        results = context_parallel_unshard(mesh, [output.detach(), *[t.grad for t in own]], [2] * 4)
        for result, reference in zip(results, [expected.detach(), *[t.grad for t in leaves]], strict=True):
            assert_close(result, reference, rtol=1e-5, atol=2e-5)
        assert buffers[0].equal(full[0]) and buffers[2].shape[2] == 12 // count
        with (
            pytest.raises(ValueError, match="same number of elements"),
            context_parallel(mesh, buffers=buffers),
        ):
            pass
        odd = {"buffers": [tl.ones(3)], "buffer_seq_dims": [0]}
        with pytest.raises(ValueError, match="must be a multiple of"), context_parallel(mesh, **odd):
            pass

    ranks(count, body)


def test_the_way_of_keys_and_values(monkeypatch):
    monkeypatch.setattr(attention, "_rotate_method", "alltoall")
    set_rotate_method("allgather")
    assert attention._rotate_method == "allgather"
    with pytest.raises(NotImplementedError, match="one of allgather, alltoall, got 'ring'"):
        set_rotate_method("ring")


def test_saved_inputs_are_cut(ranks):
    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2,))
        layer = nn.Linear(3, 3)
        x = tl.arange(12.0).reshape(4, 3).requires_grad_()
        expected = (
            tl.autograd.grad((layer(x * 2) ** 2).sum(), [x, layer.weight])
            if hasattr(tl, "autograd")
            else None
        )
        input_reshard(layer, mesh, 0)
        (layer(x * 2) ** 2).sum().backward()
        if expected is not None:
            assert_close(x.grad, expected[0])
            assert_close(layer.weight.grad, expected[1])

    ranks(2, body)


def test_replicas_of_layers_that_are_cut(ranks):
    from tl_distributed.parallel import DistributedDataParallel

    def body(rank):
        mesh = dist.init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        for parameter in model.parameters():
            parameter.data.fill_(0.5)
        parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
        _pre_dp_module_transform(model)
        replicas = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
        replicas(tl.full((1, 4), float(rank // 2 + 1))).sum().backward()
        assert not isinstance(model[0].weight, DTensor) and model[0].weight.shape == (2, 4)
        return model[0].weight.grad.tolist()

    assert ranks(4, body) == [[[1.5] * 4] * 2] * 4
