"""DistributedDataParallel: the gradients of plain training, and the rules of training on several processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import tl_autograd  # noqa: F401 - gives tensors their gradients
import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.futures import Future
from tl_distributed.algorithms import Join, Joinable, JoinHook
from tl_distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.parallel import reducer as reducers

X = [[1.0, -2.0, 3.0]]


def linear():
    """y = x W^T + b with W = 1, b = 0."""
    layer = nn.Linear(3, 2)
    nn.init.ones_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def x():
    return tl.tensor(X)


def settle(value):
    future = Future()
    future.set_result(value)
    return future


class Halves(nn.Module):
    """Uses one of its two layers."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, value, which="a"):
        return {"out": [getattr(self, which)(value)]}


@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"static_graph": True}])
def test_gradients_are_those_of_plain_training(world, options):
    model = DistributedDataParallel(linear(), **options)
    for times in (1, 2):
        model(x()).sum().backward()
        assert model.module.weight.grad.tolist() == [[times * v for v in X[0]]] * 2
        assert model.module.bias.grad.tolist() == [times, times]


def test_the_wrapper_shows_its_module(world):
    module = linear()
    model = DistributedDataParallel(module)
    assert model.module is module
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert "(module): Linear" in repr(model)
    assert (model.device_ids, model.output_device, model.dim, model.device_type) == (None, None, 0, "cpu")
    assert model.bucket_bytes_cap == 25 << 20
    assert model.process_group is world
    model.eval()
    assert not module.training
    assert model(input=x()).tolist() == [[2, 2]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: DistributedDataParallel(nn.ReLU()), RuntimeError, "not needed"),
        (lambda: DistributedDataParallel(linear().requires_grad_(False)), RuntimeError, "not needed"),
        (lambda: DistributedDataParallel(3), AttributeError, "must be a Module, got int"),
        (
            lambda: DistributedDataParallel(linear(), [0]),
            ValueError,
            "device_ids is for modules on one accelerator",
        ),
        (lambda: DistributedDataParallel(linear(), [0, 1]), ValueError, "single element"),
        (lambda: DistributedDataParallel(nn.LazyLinear(3)), RuntimeError, "uninitialized parameters"),
        (lambda: DistributedDataParallel(linear(), device_mesh=3), TypeError, "device_mesh"),
        (lambda: DistributedDataParallel(linear(), mixed_precision=3), TypeError, "mixed_precision"),
    ],
)
def test_what_is_refused(world, make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_world_is_needed():
    with pytest.raises(ValueError, match="has not been initialized"):
        DistributedDataParallel(linear())


def test_no_sync_gathers(world):
    model = DistributedDataParallel(linear())
    calls = []
    model.register_comm_hook(
        "state", lambda state, bucket: calls.append(state) or settle(bucket.buffer() * 10)
    )
    with model.no_sync():
        model(x()).sum().backward()
    assert calls == []
    assert model.module.bias.grad.tolist() == [1, 1]
    model(x()).sum().backward()
    assert calls == ["state"]
    assert model.module.bias.grad.tolist() == [20, 20]


def test_hooks_are_called_with_buckets(world, monkeypatch):
    monkeypatch.setattr(reducers, "FIRST_BUCKET_BYTES", 4 * 12)
    layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
    model = DistributedDataParallel(layers, bucket_cap_mb=4 * 16 / (1 << 20))
    calls = []

    def hook(state: object, bucket: dist.GradBucket) -> Future[tl.Tensor]:
        shapes = [tuple(p.shape) for p in bucket.parameters()]
        assert [tuple(g.shape) for g in bucket.gradients()] == shapes
        assert bucket.buffer().numel() == sum(p.numel() for p in bucket.parameters())
        calls.append((bucket.index(), bucket.is_last(), shapes))
        return settle(-bucket.buffer())

    model.register_comm_hook(None, hook)
    model(x()).sum().backward()
    assert calls == [(0, False, [(1,), (1, 3), (3,)]), (1, False, [(3, 3), (3,)]), (2, True, [(3, 3)])]
    assert layers[2].bias.grad.tolist() == [-1]


def test_buckets_hold_one_type(world):
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double(), nn.Linear(2, 2).double())
    reducer = reducers.Reducer(dict(module.named_parameters()), world, 1 << 20, False, False, False)
    assert [[p.dtype for p in bucket] for bucket in reducer.buckets] == [[tl.float64] * 4, [tl.float32] * 2]


@pytest.mark.parametrize(
    ("hook", "factor"),
    [
        (default_hooks.allreduce_hook, 1),
        (default_hooks.fp16_compress_hook, 1),
        (default_hooks.bf16_compress_hook, 1),
        (default_hooks.bf16_compress_wrapper(debugging_hooks.noop_hook), 1),
        (lambda state, bucket: settle([bucket.buffer() + 1]), 2),
    ],
)
def test_ready_made_hooks(world, hook, factor):
    model = DistributedDataParallel(linear())
    model.register_comm_hook(None, hook)
    model(x()).sum().backward()
    assert model.module.bias.grad.tolist() == [factor, factor]
    assert model.module.weight.grad.dtype == tl.float32


def test_a_compressed_gradient_is_rounded(world):
    model = DistributedDataParallel(linear())
    model.register_comm_hook(None, default_hooks.bf16_compress_hook)
    model(tl.tensor([[1.0, 1 + 2**-9, 1.0]])).sum().backward()
    assert model.module.weight.grad.tolist() == [[1, 1, 1], [1, 1, 1]]


def wrongly_annotated(state: object, bucket: int) -> Future[tl.Tensor]:
    raise AssertionError


def wrongly_returning(state: object, bucket: dist.GradBucket) -> tl.Tensor:
    raise AssertionError


wrongly_annotated.__annotations__.update(bucket=int)
wrongly_returning.__annotations__.update({"bucket": dist.GradBucket, "return": tl.Tensor})


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (3, TypeError, "must be callable"),
        (lambda state: 0, TypeError, r"must take \(state, bucket\)"),
        (wrongly_annotated, ValueError, "bucket annotation"),
        (wrongly_returning, ValueError, "return annotation"),
    ],
)
def test_hooks_that_are_refused(world, hook, error, message):
    with pytest.raises(error, match=message):
        DistributedDataParallel(linear()).register_comm_hook(None, hook)


def test_hooks_that_fail(world):
    model = DistributedDataParallel(linear())
    model.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(RuntimeError, match="can only be called once"):
        model.register_comm_hook(None, lambda state, bucket: bucket.buffer())
    with pytest.raises(RuntimeError, match=r"must return a torch\.futures\.Future, got Tensor"):
        model(x()).sum().backward()


def test_parameters_left_out(world):
    model = DistributedDataParallel(Halves())
    model(tl.ones(1, 2))["out"][0].sum().backward()
    with pytest.raises(RuntimeError, match=r"prior iteration.*b\.weight, b\.bias got no gradient"):
        model(tl.ones(1, 2))


@pytest.mark.parametrize("options", [{"find_unused_parameters": True}, {"static_graph": True}])
def test_parameters_that_may_be_left_out(world, options):
    model = DistributedDataParallel(Halves(), **options)
    model.register_comm_hook(None, default_hooks.allreduce_hook)
    for _ in range(2):
        model(tl.ones(1, 2))["out"][0].sum().backward()
    assert model.module.a.bias.grad.tolist() == [2, 2]
    assert model.module.b.bias.grad is None


def test_other_parameters_in_every_pass(world):
    model = DistributedDataParallel(Halves(), find_unused_parameters=True)
    for which in "abba":
        model(tl.ones(1, 2), which)["out"][0].sum().backward()
    assert model.module.a.bias.grad.tolist() == model.module.b.bias.grad.tolist() == [2, 2]


def test_forward_passes_without_backward(world):
    model = DistributedDataParallel(linear())
    with tl.no_grad():
        model(x())
    model(x())
    first, second = model(x()).sum(), model(x()).sum()
    (first + second).backward()
    assert model.module.bias.grad.tolist() == [2, 2]


def test_ignored_parameters(world):
    module = Halves()
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(module, ["b.weight", "b.bias"])
    model = DistributedDataParallel(module)
    assert model.parameters_to_ignore == {"b.weight", "b.bias"}
    for _ in range(2):
        model(tl.ones(1, 2))["out"][0].sum().backward()
    assert module.a.bias.grad.tolist() == [2, 2]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_train_on_their_own(world, again):
    model = DistributedDataParallel(linear())
    other = again(model)
    other.register_comm_hook(None, lambda state, bucket: settle(bucket.buffer() * 3))
    other(x()).sum().backward()
    assert other.module.bias.grad.tolist() == [3, 3]
    assert model.module.bias.grad is None


def test_two_processes_average(mirror):
    """The other process has the same gradients: their average is each of them."""
    model = DistributedDataParallel(linear())
    assert [t.shape for t in mirror.seen] == [(2, 3), (2,)]  # the first process's parameters are sent
    mirror.seen.clear()
    model(x()).sum().backward()
    assert model.module.weight.grad.tolist() == X * 2
    assert [t.tolist() for t in mirror.seen] == [[0.5, 0.5, *(v / 2 for v in X[0] * 2)]]


def test_two_processes_agree_on_what_is_left_out(mirror):
    model = DistributedDataParallel(Halves(), find_unused_parameters=True)
    mirror.seen.clear()
    model(tl.ones(1, 2))["out"][0].sum().backward()
    assert mirror.seen[-1].tolist() == [1, 1, 0, 0]
    assert model.module.b.bias.grad is None


def test_two_processes_have_the_buffers_of_the_first(mirror):
    model = DistributedDataParallel(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)))
    mirror.seen.clear()
    model(tl.ones(4, 3))
    assert len(mirror.seen) == 3
    mirror.seen.clear()
    DistributedDataParallel(
        nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)), broadcast_buffers=False, init_sync=False
    )(tl.ones(4, 3))
    assert mirror.seen == []


def test_a_process_without_inputs_shadows_the_others(mirror):
    model = DistributedDataParallel(linear())
    hook = model.join_hook(divide_by_initial_world_size=True)
    mirror.seen.clear()
    hook.main_hook()
    assert [t.tolist() for t in mirror.seen] == [[0.0] * 8]
    mirror.seen.clear()
    hook.post_hook(is_last_joiner=True)
    assert [t.tolist() for t in mirror.seen] == [[0], [[1] * 3] * 2, [0, 0]]


def test_joining_alone(world):
    model = DistributedDataParallel(linear())
    with model.join():
        for _ in range(2):
            model(x()).sum().backward()
    assert model.module.bias.grad.tolist() == [2, 2]
    with Join([model], throw_on_early_termination=True):
        model(x()).sum().backward()


class Counted(Joinable):
    """Counts what is done for it."""

    def __init__(self, group):
        super().__init__()
        self.group = group
        self.calls = []

    def join_hook(self, **kwargs):
        calls = self.calls

        class Hook(JoinHook):
            def main_hook(self):
                calls.append(("main", kwargs))

            def post_hook(self, is_last_joiner):
                calls.append(("post", is_last_joiner))

        return Hook()

    @property
    def join_device(self):
        return tl.device("cpu")

    @property
    def join_process_group(self):
        return self.group


def test_joinables_of_ones_own(world):
    first, second = Counted(world), Counted(world)
    with Join([first, second], answer=42):
        assert [t.tolist() for t in Join.notify_join_context(first).result()] == [[1]]
        assert Join.notify_join_context(second) is None
    assert first.calls == second.calls == [("post", True)]
    assert Join.notify_join_context(first) is None
    with pytest.raises(ZeroDivisionError), Join([first]):
        1 / 0  # noqa: B018 - what happens within is what is meant
    assert len(first.calls) == 1
    with pytest.raises(ValueError, match="empty"):
        Join([])
    with pytest.raises(ValueError, match="different process groups"):
        Join([first, Counted(dist.new_group())])
