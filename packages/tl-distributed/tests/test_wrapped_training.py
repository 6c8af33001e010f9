"""`FullyShardedDataParallel`: a wrapped model trains as its replicas do."""

from __future__ import annotations

import math
import threading
import warnings

import numpy as np
import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed.algorithms._comm_hooks import default_hooks
from tl_distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FlatParameter,
    MixedPrecision,
    ShardingStrategy,
)
from tl_distributed.fsdp import FullyShardedDataParallel as FSDP
from tl_distributed.fsdp.wrap import CustomPolicy, ModuleWrapPolicy, always_wrap_policy
from tl_distributed.parallel import DistributedDataParallel
from tl_nn import optim

BUILDING = threading.Lock()  # ranks are threads, which share the generator
LINEAR = ModuleWrapPolicy({nn.Linear})
STRATEGIES = [ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD]


class Tied(nn.Module):
    """The output layer has the weight of the first one, and a layer without gradients stands between."""

    class Frozen(nn.Linear):
        """A layer without gradients."""

    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(5, 7), self.Frozen(7, 5), nn.Linear(5, 7)
        self.last.weight = self.first.weight
        self.middle.requires_grad_(False)
        self.out = nn.Linear(7, 3)

    def forward(self, x):
        return self.out(self.last(self.middle(self.first(x).relu())).relu())


def stack():
    return nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 7), nn.LayerNorm(7), nn.Linear(7, 3))


def built(kind=stack):
    with BUILDING:
        tl.manual_seed(0)
        return kind()


def batches(rank, steps=10):
    drawn = tl.Generator().manual_seed(rank)
    for _ in range(steps):
        yield tl.randn(4, 5, generator=drawn), tl.randn(4, 3, generator=drawn)


def train(model, rank, steps=10, dtype=None):
    """The mean loss of the ranks in each step."""
    optimizer = optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for x, y in batches(rank, steps):
        loss = ((model(x if dtype is None else x.to(dtype)).float() - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        losses.append(float(mean))
    return losses


def grad_of(model):
    """All gradients of the whole parameters, by name."""
    with FSDP.summon_full_params(model, with_grads=True):
        return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_losses_of_replicas(ranks, strategy, use_orig_params):
    def body(rank):
        expected = train(DistributedDataParallel(built()), rank)
        for options in (
            {},
            {"auto_wrap_policy": LINEAR},
            {"auto_wrap_policy": LINEAR, "forward_prefetch": True, "cpu_offload": CPUOffload(True)},
            {"auto_wrap_policy": always_wrap_policy, "backward_prefetch": BackwardPrefetch.BACKWARD_POST},
            {"auto_wrap_policy": LINEAR, "backward_prefetch": None, "limit_all_gathers": False},
        ):
            model = FSDP(built(), sharding_strategy=strategy, use_orig_params=use_orig_params, **options)
            np.testing.assert_allclose(train(model, rank), expected, rtol=1e-5)
        return expected

    losses = ranks(3, body)[0]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", [ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2])
def test_copies_of_pieces(ranks, strategy, use_orig_params, monkeypatch):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")

    def body(rank):
        expected = train(DistributedDataParallel(built()), rank, 5)
        mesh = dist.init_device_mesh("cpu", (2, 2))
        groups = (mesh.get_group(1), mesh.get_group(0))
        for options in (
            {"device_mesh": mesh},
            {"process_group": groups, "auto_wrap_policy": LINEAR},
            {"auto_wrap_policy": LINEAR},
        ):
            model = FSDP(built(), sharding_strategy=strategy, use_orig_params=use_orig_params, **options)
            np.testing.assert_allclose(train(model, rank, 5), expected, rtol=1e-5)
            sizes = [state.numel() for state in model.parameters()]
            assert sum(sizes) < sum(p.numel() for p in built().parameters())

    ranks(4, body)


def test_frozen_and_shared_parameters(ranks):
    def body(rank):
        expected = train(DistributedDataParallel(built(Tied)), rank)
        model = FSDP(built(Tied), use_orig_params=True)
        np.testing.assert_allclose(train(model, rank), expected, rtol=1e-5)
        middle = ModuleWrapPolicy({Tied.Frozen})
        for use_orig_params in (False, True):
            model = FSDP(built(Tied), auto_wrap_policy=middle, use_orig_params=use_orig_params)
            np.testing.assert_allclose(train(model, rank), expected, rtol=1e-5)
            with FSDP.summon_full_params(model):
                assert model.last.weight is model.first.weight
                assert not model.middle.weight.requires_grad
            assert set(model.state_dict()) == set(built(Tied).state_dict())
        with pytest.raises(ValueError, match="uniform `requires_grad`"):
            FSDP(built(Tied))

    ranks(2, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
def test_low_precision(ranks, use_orig_params):
    precision = MixedPrecision(param_dtype=tl.bfloat16, reduce_dtype=tl.float32, buffer_dtype=tl.bfloat16)

    def body(rank):
        seen = []
        model = built()
        model[1].register_forward_hook(lambda module, args, output: seen.append(output.dtype))
        model.register_buffer("scale", tl.ones(2))
        model = FSDP(model, mixed_precision=precision, use_orig_params=use_orig_params)
        losses = train(model, rank)
        assert set(seen) == {tl.bfloat16} and model.scale.dtype == tl.bfloat16
        assert {p.dtype for p in model.parameters()} == {tl.float32}
        assert {v.dtype for v in model.state_dict().values()} == {tl.float32}
        np.testing.assert_allclose(losses, train(DistributedDataParallel(built()), rank), rtol=0.1)
        exact = FSDP(
            built(),
            mixed_precision=MixedPrecision(param_dtype=tl.float64),
            use_orig_params=use_orig_params,
            auto_wrap_policy=LINEAR,
        )
        double = train(DistributedDataParallel(built().double()), rank, dtype=tl.float64)
        np.testing.assert_allclose(train(exact, rank), double, rtol=1e-4)
        low = FSDP(
            built(),
            mixed_precision=MixedPrecision(reduce_dtype=tl.bfloat16, keep_low_precision_grads=True),
            use_orig_params=use_orig_params,
        )
        low(tl.ones(2, 5)).sum().backward()
        assert {p.grad.dtype for p in low.parameters() if p.grad is not None} == {tl.bfloat16}

    ranks(2, body)


def test_batch_norms_compute_exactly(ranks):
    def body(rank):
        precision = MixedPrecision(param_dtype=tl.bfloat16)
        for policy in (LINEAR, always_wrap_policy):
            wrapped = FSDP(
                nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3)),
                mixed_precision=precision,
                auto_wrap_policy=policy,
            )
            assert isinstance(wrapped.module[1], FSDP)
            assert wrapped.module[1].mixed_precision.param_dtype is None
            assert wrapped(tl.ones(4, 5)).dtype == tl.bfloat16

    with pytest.warns(UserWarning, match="mixed precision disabled") as caught:
        ranks(2, body)
    assert sum("mixed precision disabled" in str(warning.message) for warning in caught) == 4


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_gradients_accumulate_without_communication(ranks, strategy, use_orig_params):
    def body(rank):
        options = {"sharding_strategy": strategy, "use_orig_params": use_orig_params}
        model = FSDP(built(), auto_wrap_policy=LINEAR, **options)
        replicas = DistributedDataParallel(built())
        several = list(batches(rank, 4))
        for each in (model, replicas):
            with each.no_sync():
                for x, y in several[:2]:
                    ((each(x) - y) ** 2).mean().backward()
            for x, y in several[2:]:
                ((each(x) - y) ** 2).mean().backward()
        norm = nn.utils.clip_grad_norm_(replicas.parameters(), 0.1)
        assert_close(model.clip_grad_norm_(0.1), norm)
        if use_orig_params:
            for mine, other in zip(grad_of(model).values(), replicas.parameters(), strict=True):
                assert_close(mine, other.grad)
        norm = nn.utils.clip_grad_norm_(replicas.parameters(), 0.01, math.inf)
        assert_close(model.clip_grad_norm_(0.01, math.inf), norm)
        with pytest.raises(RuntimeError, match="root FSDP"):
            model.module[0].clip_grad_norm_(1.0)
        with pytest.raises(RuntimeError, match="root FSDP"), model.module[0].no_sync():
            pass

    ranks(3, body)


@pytest.mark.parametrize("use_orig_params", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_whole_parameters(ranks, strategy, use_orig_params):
    def body(rank):
        options = {"sharding_strategy": strategy, "use_orig_params": use_orig_params}
        model, whole = FSDP(built(), auto_wrap_policy=LINEAR, **options), built()
        with FSDP.summon_full_params(model):
            names = [name for name, _ in model.named_parameters()]
            assert names == [name for name, _ in whole.named_parameters()]
            for mine, other in zip(model.parameters(), whole.parameters(), strict=True):
                assert_close(mine, other)
            with tl.no_grad():
                model.module[0].module.bias.fill_(rank if strategy is ShardingStrategy.NO_SHARD else 7.0)
                model.module[3].weight.mul_(2)
            with pytest.raises(AssertionError, match="already unsharding"), FSDP.summon_full_params(model):
                pass
            with pytest.raises(ValueError, match="block of summon_full_params"):
                model(tl.ones(2, 5))
        state = model.state_dict()
        assert_close(state["3.weight"], whole[3].weight.detach() * 2)
        if strategy is not ShardingStrategy.NO_SHARD:
            assert_close(state["0.bias"], tl.full((7,), 7.0))
            with FSDP.summon_full_params(model, writeback=False), tl.no_grad():
                model.module[3].weight.zero_()
            assert_close(model.state_dict()["3.weight"], whole[3].weight.detach() * 2)
            with FSDP.summon_full_params(model, writeback=False, rank0_only=True):
                shown = model.module[3].weight
                is_whole = isinstance(shown, nn.Parameter) and shown.shape == (7,)
                assert is_whole == (rank == 0)
        with FSDP.summon_full_params(model, recurse=False):
            assert model.module[3].weight.shape == (7,)
        assert model.apply(lambda module: None) is model

    ranks(2, body)


def test_options_of_whole_parameters(ranks):
    def body(rank):
        model = FSDP(built())
        for options, error in (
            ({"rank0_only": True}, NotImplementedError),
            ({"with_grads": True}, NotImplementedError),
        ):
            with pytest.raises(error), FSDP.summon_full_params(model, **options):
                pass
        copies = FSDP(built(), sharding_strategy=ShardingStrategy.NO_SHARD)
        with (
            pytest.raises(NotImplementedError, match="NO_SHARD"),
            FSDP.summon_full_params(copies, offload_to_cpu=True, writeback=False, rank0_only=True),
        ):
            pass
        with FSDP.summon_full_params(model, offload_to_cpu=True):
            pass

    with pytest.warns(UserWarning, match="redundantly"):
        ranks(2, body)


def test_modules_without_memory_and_equal_starts(ranks):
    def body(rank):
        with tl.device("meta"):
            module = stack()
        model = FSDP(module, auto_wrap_policy=LINEAR, sync_module_states=True)
        values = [tl.empty_like(v) for v in model.state_dict().values()]
        for mine, value in zip(model.state_dict().values(), values, strict=True):
            value.copy_(mine)
            dist.broadcast(value, 0)
            assert_close(mine, value)

        def fill(module):
            module.to_empty(device="cpu", recurse=False)
            with tl.no_grad():
                for parameter in module.parameters(recurse=False):
                    parameter.fill_(float(rank))

        with tl.device("meta"):
            module = stack()
        model = FSDP(module, param_init_fn=fill, sync_module_states=True)
        assert all(bool((v == 0).all()) for v in model.state_dict().values())

    ranks(2, body)


def test_ignored_parts(ranks):
    def body(rank):
        for option in ("ignored_modules", "ignored_states"):
            model = built()
            model = FSDP(model, **{option: [model[2]]})
            assert model.module[2].weight.shape == (7, 7)
        model = built()
        model = FSDP(model, ignored_states=[model[2].weight], use_orig_params=True)
        assert model.module[2].weight.shape == (7, 7)
        assert_close(model.state_dict()["2.weight"], built()[2].weight.detach())
        losses = train(model, rank, 3)
        assert all(math.isfinite(loss) for loss in losses)

    ranks(2, body)


def test_policies_with_options(ranks):
    def body(rank):
        policy = CustomPolicy(
            lambda module: (
                {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP}
                if isinstance(module, nn.Linear) and module.out_features == 3
                else isinstance(module, nn.Linear)
            )
        )
        model = FSDP(built(), auto_wrap_policy=policy)
        assert model.module[4].sharding_strategy is ShardingStrategy.SHARD_GRAD_OP
        assert model.module[0].sharding_strategy is ShardingStrategy.FULL_SHARD
        assert FSDP.fsdp_modules(model) == [model, model[0], model[2], model[4]]
        assert FSDP.fsdp_modules(model, root_only=True) == [model]
        assert model.check_is_root() and not model[0].check_is_root()
        assert isinstance(next(model.parameters()), FlatParameter)
        expected = train(DistributedDataParallel(built()), rank, 3)
        np.testing.assert_allclose(train(model, rank, 3), expected, rtol=1e-5)

    ranks(2, body)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_communication_hooks(ranks, strategy):
    def body(rank):
        expected = train(DistributedDataParallel(built()), rank, 4)
        for state, tolerance in (
            (default_hooks.DefaultState(dist.group.WORLD), 1e-5),
            (default_hooks.LowPrecisionState(dist.group.WORLD), 2e-2),
        ):
            if tolerance < 1e-3:
                whole, pieces = default_hooks.allreduce_hook, default_hooks.reduce_scatter_hook
                hook = whole if strategy is ShardingStrategy.NO_SHARD else pieces
            else:
                hook = default_hooks.fp16_compress_hook
            model = FSDP(built(), sharding_strategy=strategy, auto_wrap_policy=LINEAR)
            model.register_comm_hook(state, hook)
            np.testing.assert_allclose(train(model, rank, 4), expected, rtol=tolerance)
            with pytest.raises(AssertionError, match="already registered"):
                model.register_comm_hook(state, hook)

    ranks(2, body)


def test_scaled_gradients(ranks):
    pytest.importorskip("tl_amp")
    from tl_distributed.fsdp.sharded_grad_scaler import ShardedGradScaler

    def body(rank):
        model = FSDP(built(), auto_wrap_policy=LINEAR)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        scaler = ShardedGradScaler(device="cpu", init_scale=4.0)
        x, y = next(batches(rank))
        scaler.scale(((model(x) - y) ** 2).mean()).backward()
        scaler.unscale_(optimizer)
        replicas = DistributedDataParallel(built())
        ((replicas(x) - y) ** 2).mean().backward()
        assert_close(model.clip_grad_norm_(1e9), nn.utils.clip_grad_norm_(replicas.parameters(), 1e9))
        scaler.step(optimizer)
        scaler.update()
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.zero_grad()
        scaler.scale(((model(x) - y) ** 2).mean()).backward()
        if rank == 1:
            next(model.parameters()).grad[0] = math.inf
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == 2.0  # all ranks leave the step out
        for parameter, value in zip(model.parameters(), before, strict=True):
            assert_close(parameter.detach(), value)

    ranks(2, body)


def test_what_cannot_be_wrapped(ranks):
    def body(rank):
        mesh, group = dist.init_device_mesh("cpu", (2,)), dist.group.WORLD
        scalar, whole = nn.Module(), nn.Linear(2, 2)
        scalar.scale = nn.Parameter(tl.tensor(1.0))
        mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())
        inner = nn.Sequential(FSDP(nn.Linear(2, 2)))
        hybrid = ShardingStrategy.HYBRID_SHARD
        for call, error, text in (
            (lambda: FSDP(3), TypeError, "must be a Module"),
            (lambda: FSDP(scalar), ValueError, "doesn't support scalar parameters. Change scale"),
            (lambda: FSDP(mixed), ValueError, "uniform dtype"),
            (lambda: FSDP(whole, process_group=group, device_mesh=mesh), ValueError, "Cannot pass both"),
            (lambda: FSDP(whole, sharding_strategy=hybrid), ValueError, "requires explicit specification"),
            (lambda: FSDP(whole, group, hybrid), ValueError, r"Tuple\[dist.ProcessGroup"),
            (lambda: FSDP(whole, None, hybrid, device_mesh=mesh), ValueError, "ndim=2"),
            (
                lambda: FSDP(whole, ignored_modules=[], ignored_states=[]),
                ValueError,
                "just pass ignored_states",
            ),
            (
                lambda: FSDP(whole, ignored_states=[whole, whole.weight]),
                ValueError,
                "all nn.Parameter or all",
            ),
            (lambda: FSDP(whole, ignored_modules=3), TypeError, "should be an iterable"),
            (lambda: FSDP(inner, ignored_modules=[inner[0]]), ValueError, "should not include FSDP"),
            (
                lambda: FSDP(inner, auto_wrap_policy=LINEAR),
                ValueError,
                "already have FSDP applied but found 0",
            ),
            (lambda: FSDP(whole, param_init_fn=3), ValueError, "to be callable"),
            (
                lambda: FSDP(nn.Sequential(whole), auto_wrap_policy=CustomPolicy(lambda module: 3)),
                ValueError,
                "should return False/True",
            ),
        ):
            with pytest.raises(error, match=text):
                call()
        tied = built(Tied)
        tied.first = FSDP(tied.first, use_orig_params=True)
        with pytest.raises(ValueError, match="belongs to a group that was sharded before"):
            FSDP(tied, use_orig_params=True)

    ranks(2, body)


def test_changes_between_the_passes(ranks):
    def body(rank):
        model = FSDP(built())
        loss = model(tl.ones(2, 5)).sum()
        with tl.no_grad():
            model.module[0].weight.add_(1)
        with pytest.raises(RuntimeError, match=r"changed between|modified by an inplace"):
            loss.backward()
        model = FSDP(built())
        loss = model(tl.ones(2, 5)).sum()
        model.module[4].bias = nn.Parameter(tl.zeros(3))
        with pytest.raises(RuntimeError, match=r"4\.bias was changed between"):
            loss.backward()
        model = FSDP(built(), use_orig_params=True)
        loss = model(tl.ones(2, 5)).sum()
        model.module[4].bias = nn.Parameter(model.module[4].bias.detach().clone())
        with pytest.raises(AssertionError, match="changing the parameters between forward and backward"):
            loss.backward()
        model = FSDP(built(), use_orig_params=True)
        model.module[2].weight = nn.Parameter(tl.zeros(2, 2))
        with pytest.raises(RuntimeError, match="Cannot writeback when the parameter shape changes"):
            model(tl.ones(2, 5))

    ranks(2, body)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_parameters_are_the_same_objects_between_the_passes(ranks, strategy):
    def body(rank):
        model = FSDP(built(), use_orig_params=True, sharding_strategy=strategy, auto_wrap_policy=LINEAR)
        before = list(model.parameters())
        grads = []
        for number in range(3):
            loss = model(tl.ones(2, 5) * (number + 1)).square().sum()
            assert all(p is q for p, q in zip(model.parameters(), before, strict=True))
            model.zero_grad()
            loss.backward()
            grads.append([None if p.grad is None else p.grad.clone() for p in before])
        fresh = FSDP(built(), use_orig_params=True, sharding_strategy=strategy, auto_wrap_policy=LINEAR)
        fresh(tl.ones(2, 5) * 3).square().sum().backward()
        for mine, other in zip(grads[2], fresh.parameters(), strict=True):
            assert (mine is None) == (other.grad is None)
            if mine is not None:
                assert_close(mine, other.grad)
        with tl.no_grad():
            first = model(tl.ones(2, 5))
            for parameter in model.parameters():
                parameter.mul_(2)
            assert not model(tl.ones(2, 5)).equal(first)

    ranks(2, body)


def test_parameters_set_while_they_are_pieces(ranks):
    def body(rank):
        model = FSDP(built(), use_orig_params=True)
        for parameter in model.parameters():
            parameter.data = tl.full_like(parameter, 0.5)
        assert all(bool((v == 0.5).all()) for v in model.state_dict().values())
        model.module[0].bias = nn.Parameter(tl.full_like(model.module[0].bias.detach(), 3.0))
        assert bool((model.state_dict()["0.bias"] == 3.0).all())
        model.double()
        assert model(tl.ones(2, 5, dtype=tl.float64)).dtype == tl.float64
        assert {p.dtype for p in model.parameters()} == {tl.float64}
        flat = FSDP(built())
        flat(tl.ones(2, 5)).sum().backward()
        flat.double()
        flat.zero_grad()
        flat(tl.ones(2, 5, dtype=tl.float64)).sum().backward()
        assert {p.grad.dtype for p in flat.parameters()} == {tl.float64}

    ranks(2, body)


def test_wrappers_around_wrappers(ranks):
    def body(rank):
        inner = nn.Sequential(FSDP(nn.Linear(5, 5)), nn.ReLU())
        model = FSDP(inner)
        x = tl.ones(2, 5)
        model(x).sum().backward()
        output = model(x).detach()
        assert_close(FSDP(model[0])(x), model[0](x))
        assert_close(FSDP(inner)(x).detach(), output)
        alone = FSDP(nn.Linear(5, 5))
        with pytest.raises(ValueError, match="belongs to a group that was sharded before"):
            FSDP(alone.module)
        alone(x)
        with pytest.raises(AssertionError, match="call the outermost one first"):
            FSDP(nn.Sequential(alone))(x)

    ranks(2, body)


def test_layers_that_compute_again(ranks):
    checkpoints = pytest.importorskip("tl_distributed.algorithms._checkpoint.checkpoint_wrapper")

    def body(rank):
        expected = train(DistributedDataParallel(built()), rank, 4)
        for use_orig_params in (False, True):
            for is_inside in (True, False):
                layers = []
                for layer in built():
                    if isinstance(layer, nn.Linear) and is_inside:
                        layer = FSDP(checkpoints.checkpoint_wrapper(layer), use_orig_params=use_orig_params)
                    elif isinstance(layer, nn.Linear):
                        layer = checkpoints.checkpoint_wrapper(FSDP(layer, use_orig_params=use_orig_params))
                    layers.append(layer)
                model = FSDP(nn.Sequential(*layers), use_orig_params=use_orig_params)
                np.testing.assert_allclose(train(model, rank, 4), expected, rtol=1e-5)
                assert (
                    set(FSDP.optim_state_dict(model, optim.SGD(model.parameters(), lr=1.0))["state"]) == set()
                )

    ranks(2, body)


def test_one_rank_warns(world):
    with pytest.warns(UserWarning, match="switching to use `NO_SHARD`"):
        model = FSDP(nn.Linear(2, 2))
    assert model.sharding_strategy is ShardingStrategy.NO_SHARD
    assert model.rank == 0 and model.world_size == 1


class TwoWays(nn.Module):
    """Two layers of equal size, of which `uses_second` chooses one."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.uses_second = nn.Linear(5, 5), nn.Linear(5, 5), False

    def forward(self, x):
        return (self.second if self.uses_second else self.first)(x)


@pytest.fixture
def detail():
    level = dist.get_debug_level()
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    yield
    dist.set_debug_level(level)


def test_another_order_on_a_rank(ranks, detail):
    """In the first step it raises on all ranks; the gatherings of the two layers have one size."""

    def body(rank):
        model = FSDP(built(TwoWays), auto_wrap_policy=LINEAR, use_orig_params=rank == 0)
        model.module.uses_second = rank == 1
        with pytest.raises(
            RuntimeError, match=r"differs across ranks: rank 0 .*first.weight.*rank 1 .*second.weight"
        ):
            model(tl.ones(2, 5))

    ranks(2, body)


@pytest.mark.parametrize("steps", [1, 3])
def test_another_order_than_in_the_first_step(ranks, detail, steps):
    def body(rank):
        model = FSDP(built(TwoWays), auto_wrap_policy=LINEAR)
        for _ in range(steps):
            model(tl.ones(2, 5)).sum().backward()
        model.eval()
        model.module.uses_second = True
        with tl.no_grad():
            model(tl.ones(2, 5))  # which no backward pass ends
        model.train()
        return model

    models = ranks(2, body)
    checks = [model._state.job.order_check for model in models]
    assert [check._names for check in checks] == [
        [["first.weight", "first.bias"], ["second.weight", "second.bias"]]
    ] * 2
    check = checks[0]
    with pytest.warns(
        UserWarning, match=r"on rank \d.*\n.*for \['first.weight', 'first.bias'\] but .*second"
    ):
        check.check(1)
    with pytest.warns(UserWarning, match="Expected to not all-gather any more"):
        check.check(0)
    check.end_step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check.check(1)


def test_the_order_is_unchecked_by_default(ranks):
    def body(rank):
        model = FSDP(built(TwoWays), auto_wrap_policy=LINEAR)
        model(tl.ones(2, 5))
        return model._state.job.order_check

    assert ranks(2, body) == [None, None]
