"""Communication hooks and model averagers on several ranks."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.algorithms import ddp_comm_hooks as hooks
from tl_distributed.algorithms.ddp_comm_hooks import (
    optimizer_overlap_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from tl_distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from tl_distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from tl_distributed.groups.device_mesh import DeviceMesh, init_device_mesh
from tl_distributed.parallel import DistributedDataParallel

TYPES = hooks.DDPCommHookType


def gradients(rank, hook_type=None, state=None, passes=1):
    generator = tl.Generator().manual_seed(5)
    layer = nn.Linear(64, 48)
    with tl.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(tl.randn(parameter.shape, generator=generator))
    model = DistributedDataParallel(layer)
    if hook_type is not None:
        hooks.register_ddp_comm_hook(hook_type, model, state)
    for _ in range(passes):
        model.zero_grad()
        inputs = tl.randn(2, 16, 64, generator=tl.Generator().manual_seed(6))[rank]
        (model(inputs) ** 2).mean().backward()
    return tl.cat([p.grad.reshape(-1) for p in layer.parameters()])


@pytest.fixture
def exact(ranks):
    return ranks(2, gradients)[0]


@pytest.mark.parametrize(
    ("hook_type", "tolerance"),
    [
        (TYPES.ALLREDUCE, 1e-6),
        (TYPES.FP16_COMPRESS, 2e-3),
        (TYPES.BF16_COMPRESS, 2e-2),
        (TYPES.QUANTIZE_PER_TENSOR, 1e-2),
        (TYPES.QUANTIZE_PER_CHANNEL, 1e-2),
    ],
)
def test_a_hook_averages(ranks, exact, hook_type, tolerance):
    first, second = ranks(2, lambda rank: gradients(rank, hook_type))
    assert tl.equal(first, second)
    assert float((first - exact).abs().max()) <= tolerance * float(exact.abs().max())


@pytest.mark.parametrize("hook_type", [TYPES.POWER_SGD, TYPES.BATCHED_POWER_SGD])
@pytest.mark.parametrize("epsilon", [0, 1e-8])
def test_powersgd_of_full_rank_is_exact_and_of_low_rank_is_near(ranks, exact, hook_type, epsilon):
    def errors(width):
        def body(rank):
            state = powerSGD_hook.PowerSGDState(
                None,
                matrix_approximation_rank=width,
                start_powerSGD_iter=2,
                min_compression_rate=0,
                orthogonalization_epsilon=epsilon,
            )
            result = gradients(rank, hook_type, state, passes=4)
            assert state.compression_stats()[1] >= 0
            return result

        first, second = ranks(2, body)
        assert tl.equal(first, second)
        return float((first - exact).norm() / exact.norm())

    few, more = errors(1), errors(8)
    assert more < few < 1.5
    assert epsilon or errors(64) < 1e-4  # what Gram and Schmidt make of dependent columns is noise


@pytest.mark.parametrize("epsilon", [0, 1e-30])
def test_powersgd_makes_columns_orthonormal_in_their_order(epsilon):
    matrix = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    result = tl.from_numpy(matrix.copy())
    powerSGD_hook._orthogonalize(result, epsilon)
    expected, triangle = np.linalg.qr(matrix)
    signs = np.sign(np.diag(triangle)) if epsilon else np.ones(3)
    actual = result.numpy() if epsilon else result.numpy() * np.sign((result.numpy() * expected).sum(0))
    np.testing.assert_allclose(actual, expected * signs, atol=1e-5)


def test_powersgd_remembers_what_it_lost(ranks):
    def body(rank):
        state = powerSGD_hook.PowerSGDState(None, 1, start_powerSGD_iter=2, min_compression_rate=0)
        gradients(rank, TYPES.POWER_SGD, state, passes=3)
        assert float(state.error_dict[0].abs().max()) > 0
        state.process_group = None
        again = pickle.loads(pickle.dumps(state))
        assert again.iter == state.iter
        assert tl.equal(again.q_memory_dict[0], state.q_memory_dict[0])

    ranks(2, body)


def test_powersgd_needs_two_passes_first():
    with pytest.raises(ValueError, match="start_powerSGD_iter must be at least 2"):
        powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1)


def test_post_local_sgd_keeps_to_the_neighbours(ranks):
    def body(rank):
        subgroup, _ = dist.new_subgroups(2)
        state = post_localSGD_hook.PostLocalSGDState(None, subgroup, start_localSGD_iter=2)
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        result = []
        for _ in range(3):
            model.zero_grad()
            model(tl.full((1, 1), float(rank))).sum().backward()
            result.append(float(model.module.weight.grad))
        return result

    assert ranks(4, body) == [[1.5, 0.5, 0.5]] * 2 + [[1.5, 2.5, 2.5]] * 2


def test_an_optimizer_that_steps_with_its_bucket(ranks):
    class Plain:
        def step_param(self, parameter, gradient):
            parameter.add_(gradient, alpha=-1.0)

    def body(rank):
        model = DistributedDataParallel(nn.Linear(1, 1, bias=False))
        before = float(model.module.weight)
        state = optimizer_overlap_hooks._OptimizerHookState(Plain())
        hook = optimizer_overlap_hooks._hook_then_optimizer(hooks.default_hooks.allreduce_hook, state)
        model.register_comm_hook(None, hook)
        model(tl.full((1, 1), float(rank))).sum().backward()
        assert float(model.module.weight) == pytest.approx(before - 0.5)

    ranks(2, body)


def test_a_model_is_averaged_when_it_is_time(ranks):
    def body(rank):
        weight = nn.Parameter(tl.full((2,), float(rank)))
        weight.grad = tl.zeros(2)
        averager = PeriodicModelAverager(period=2, warmup_steps=1)
        result = []
        for _ in range(4):
            averager.average_parameters([weight])
            result.append(float(weight[0]))
            with tl.no_grad():
                weight.add_(rank)
        return result

    assert ranks(2, body) == [[0.0, 1.0, 1.0, 2.0], [1.0, 1.0, 2.0, 2.0]]


def test_averages_of_groups_and_of_all(ranks):
    def body(rank):
        weight = nn.Parameter(tl.full((1,), float(rank)))
        weight.grad = tl.zeros(1)
        averager = HierarchicalModelAverager({2: 2, 4: 4}, warmup_steps=1)
        result = []
        for _ in range(5):
            averager.average_parameters([{"params": [weight]}])
            result.append(float(weight))
        return result

    assert ranks(4, body) == [
        [0.0, 0.0, 0.5, 0.5, 1.5],
        [1.0, 1.0, 0.5, 0.5, 1.5],
        [2.0, 2.0, 2.5, 2.5, 1.5],
        [3.0, 3.0, 2.5, 2.5, 1.5],
    ]


@pytest.mark.parametrize(
    "given", [[0, 1], tl.arange(2), tl.arange(2, dtype=tl.uint8), tl.arange(2.0), [[0], [1]]]
)
def test_the_ranks_of_a_mesh_are_small_integers(ranks, given):
    """As PyTorch's, whatever they were given as."""

    def body(rank):
        pair_mesh = init_device_mesh("cpu", (2,))
        assert pair_mesh.mesh.dtype == tl.int32 and pair_mesh.get_local_rank() == rank
        mesh = DeviceMesh("cpu", given)
        assert mesh.mesh.dtype == tl.int32 and mesh.mesh is not given
        assert mesh.mesh.reshape(-1).tolist() == [0, 1] and mesh.get_coordinate()[0] == rank
        assert DeviceMesh.from_group(pair_mesh.get_group(), "cpu").mesh.dtype == tl.int32
        tensor = tl.full((3,), rank + 1, dtype=tl.int32)
        dist.all_reduce(tensor, group=mesh.get_group(0))
        assert tensor.tolist() == [3, 3, 3]
        with pytest.raises(ValueError, match="must be a CPU tensor"):
            DeviceMesh("cpu", tl.empty(2, device="meta"))

    ranks(2, body)


def test_a_mesh(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
        assert mesh.get_coordinate() == (rank // 2, rank % 2)
        assert mesh.size() == 4 and mesh.size(0) == 2 and mesh.shape == (2, 2)
        tensor = tl.tensor([float(rank)])
        dist.all_reduce(tensor, group=mesh.get_group("model"))
        assert float(tensor) == (1.0 if rank < 2 else 5.0)
        column = mesh["data"]
        assert column.mesh.tolist() == [rank % 2, rank % 2 + 2]
        assert column.get_local_rank() == rank // 2
        assert DeviceMesh.from_group(column.get_group(), "cpu").mesh.tolist() == column.mesh.tolist()
        assert copy.copy(mesh) == mesh
        with pytest.raises(KeyError, match="no dimension 'x'"):
            mesh["x"]
        with pytest.raises(RuntimeError, match="has 3 ranks, the world 4"):
            init_device_mesh("cpu", (3,))

    ranks(4, body)


def test_the_fake_world_counts():
    dist.init_process_group("fake", store=dist.HashStore(), rank=3, world_size=4096)
    dist.all_gather_into_tensor(tl.empty(4096, 2), tl.ones(2))
    dist.barrier()
    traffic = dist.group.WORLD.communicator().traffic
    assert traffic.calls == {"all_gather": 1, "barrier": 1}
    assert traffic.sent == 4095 * 8
    assert traffic.peak == 4097 * 8
    dist.destroy_process_group()


@pytest.mark.parametrize(
    ("size", "before", "after"),
    [(1, 1.0, 1.0), (2, 2.0, 1.0), (3, 2.0, 1.5), (4, 2.0, 2.0), (6, 4.0, 1.5), (8, 4.0, 2.0), (12, 4.0, 3.0),
     (16, 4.0, 4.0), (64, 8.0, 8.0)],
)  # fmt: skip
def test_gradients_are_divided_before_and_after_the_sum(monkeypatch, size, before, after):
    from tl_distributed.algorithms._comm_hooks import default_hooks

    monkeypatch.setattr(default_hooks, "get_world_size", lambda group: size)
    state = default_hooks.DefaultState("group")
    assert (state.gradient_predivide_factor, state.gradient_postdivide_factor) == (before, after)
    with pytest.raises(ValueError, match="explicit ProcessGroup to DefaultState"):
        default_hooks.DefaultState(None)
