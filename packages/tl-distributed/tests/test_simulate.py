"""One rank of a large job: what it counts, and what its tensors hold when all others have the same."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tl_core as tl
import tl_distributed as dist
from tl_distributed.simulate import Simulation


def test_sums_are_as_if_all_had_the_same():
    simulation = Simulation(6, 2)

    def program():
        dist.init_process_group("mpi")  # whatever it asks for
        assert (dist.get_rank(), dist.get_world_size(), dist.get_node_local_rank()) == (2, 6, 0)
        x = tl.tensor([1.0, 2.0])
        dist.all_reduce(x)
        assert x.tolist() == [6.0, 12.0]
        dist.all_reduce(x, dist.ReduceOp.AVG)
        assert x.tolist() == [6.0, 12.0]
        y = tl.tensor([2])
        dist.all_reduce(y, dist.ReduceOp.PRODUCT)
        assert y.tolist() == [64]
        parts = [tl.empty(2) for _ in range(6)]
        dist.all_gather(parts, x)
        assert all(part.tolist() == [6.0, 12.0] for part in parts)
        rows = tl.empty(12)
        dist.all_gather_into_tensor(rows, x)
        assert rows.tolist() == [6.0, 12.0] * 6
        mine = tl.empty(1)
        dist.reduce_scatter_tensor(mine, tl.arange(6.0))
        assert mine.tolist() == [12.0]
        swapped = tl.empty(6)
        dist.all_to_all_single(swapped, tl.arange(6.0))
        assert swapped.tolist() == [2.0] * 6
        objects = [None] * 6
        dist.all_gather_object(objects, {"a": 3})
        assert objects == [{"a": 3}] * 6
        pair = dist.new_group([2, 4])
        dist.barrier(pair)
        dist.destroy_process_group()

    simulation.run(program)
    world, pair = simulation.groups
    assert world.traffic.of("all_reduce").sent == 10 * (8 // 6 + 8 // 6 + 8 // 6)
    assert world.traffic.calls["reduce_scatter"] == 1 and pair.traffic.calls == {"barrier": 1}
    text = "\n".join(simulation.lines())
    assert text.startswith("rank 2 of 6\n") and "reduce_scatter" in text and "memory of this process" in text


def test_a_rank_that_is_not_there():
    with pytest.raises(ValueError, match=r"rank must be one of 0 \.\. 3, got 4"):
        Simulation(4, 4)


def test_after_a_simulation_all_is_as_before():
    def fail():
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        Simulation(4).run(fail)
    with pytest.raises(RuntimeError, match="'mpi' is not there"):
        dist.init_process_group("mpi", store=dist.HashStore(), rank=0, world_size=1)
        dist.all_reduce(tl.ones(1))
    if dist.is_initialized():
        dist.destroy_process_group()


def test_a_program_as_one_rank_of_1024(tmp_path):
    pytest.importorskip("tl_nn")
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, tl_core as tl, tl_nn as nn, tl_distributed as dist\n"
        "from tl_distributed.parallel import DistributedDataParallel\n"
        "assert sys.argv[1:] == ['--steps', '3']\n"
        "dist.init_process_group()\n"
        "model = DistributedDataParallel(nn.Linear(16, 1))\n"
        "for _ in range(3):\n"
        "    model(tl.ones(2, 16)).sum().backward()\n"
        "print(model.module.bias.grad.tolist())\n"
        "dist.destroy_process_group()\n"
    )
    command = [
        sys.executable,
        "-m",
        "tl_distributed.simulate",
        "--world",
        "1024",
        str(program),
        "--steps",
        "3",
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=200, check=True)
    lines = process.stdout.splitlines()
    assert lines[0] == "[6.0]" and lines[1] == "rank 0 of 1024"  # an average of equal gradients, three times
    (reduced,) = [line.split() for line in lines if "all_reduce" in line]
    assert reduced[1:5] == ["1024", "all_reduce", "3", str(3 * 2 * 1023)]


def test_parts_go_to_the_root_and_back():
    simulation, results = Simulation(3, 1), []

    def program():
        dist.init_process_group("gloo")
        x, parts = tl.tensor([1.0, 2.0]), [tl.zeros(2) for _ in range(3)]
        work = dist.gather(x, parts, dst=1, async_op=True)
        work.wait()
        results.append([part.tolist() for part in parts])
        output = tl.zeros(2)
        work = dist.scatter(output, [tl.full((2,), float(i)) for i in range(3)], src=1, async_op=True)
        work.wait()
        results.append(output.tolist())
        dist.reduce(x, 1)
        results.append(x.tolist())
        dist.broadcast(x, 0)
        dist.reduce(x, 0)  # the result is on another rank
        results.append(x.tolist())
        dist.destroy_process_group()

    simulation.run(program)
    assert results == [[[1.0, 2.0]] * 3, [1.0, 1.0], [3.0, 6.0], [3.0, 6.0]]
    calls = simulation.groups[0].traffic.calls
    assert {name: calls[name] for name in ("gather", "scatter", "reduce", "broadcast")} == {
        "gather": 1, "scatter": 1, "reduce": 2, "broadcast": 1
    }  # fmt: skip
