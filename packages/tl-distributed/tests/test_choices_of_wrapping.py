"""Which modules are wrapped, left out and filled, and small parts of training, against PyTorch's answers."""

import math
import warnings

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.algorithms._comm_hooks.default_hooks import DefaultState, LowPrecisionState
from tl_distributed.fsdp import ShardingStrategy, wrap
from tl_distributed.fsdp.wrapper_options import _hybrid_layout, ignored_parts, materialize
from tl_distributed.groups.device_mesh import DeviceMesh, init_device_mesh
from tl_distributed.optim.named_optimizer import _NamedOptimizer
from tl_distributed.rpc.worker_info import WorkerInfo
from tl_distributed.tensor import Partial, Replicate, Shard


class Wrapper(nn.Module):
    def __init__(self, module, **options):
        super().__init__()
        self.module, self.options = module, options


def model():
    return nn.Sequential(
        nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 30), nn.ReLU()), nn.ModuleList([nn.Linear(1, 1)])
    )


def shape_of(module):
    """The nesting of a model's modules as text."""
    inner = module.module if isinstance(module, Wrapper) else module
    parts = ",".join(map(shape_of, inner.children()))
    name = type(inner).__name__ + (f"({parts})" if parts else "")
    return f"<{name}>" if isinstance(module, Wrapper) else name


def wrap_model(policy, **options):
    """The nesting of the model after wrapping, and the number of elements that are wrapped."""
    result, count = wrap._recursive_wrap(model(), policy, Wrapper, set(), set(), **options)
    return shape_of(result), count


def by_size(**options):
    return lambda **question: wrap.size_based_auto_wrap_policy(**question, **options)


@pytest.mark.parametrize(
    ("policy", "expected", "count"),
    [
        (wrap.always_wrap_policy, "<Sequential(<Linear>,<Sequential(<Linear>,<ReLU>)>,<ModuleList(<Linear>)>)>", 131),
        (lambda **question: wrap.lambda_auto_wrap_policy(**question, lambda_fn=lambda m: isinstance(m, nn.ReLU)),
         "Sequential(Linear,Sequential(Linear,<ReLU>),ModuleList(Linear))", 0),
        (lambda **question: wrap.transformer_auto_wrap_policy(**question, transformer_layer_cls={nn.Linear}),
         "Sequential(<Linear>,Sequential(<Linear>,ReLU),ModuleList(<Linear>))", 131),
        (wrap.ModuleWrapPolicy([nn.Linear]),
         "Sequential(<Linear>,Sequential(<Linear>,ReLU),ModuleList(<Linear>))", 131),
        # The inner Linear has 120 elements; what remains of the outer modules is below the limit.
        (by_size(min_num_params=100), "Sequential(Linear,Sequential(<Linear>,ReLU),ModuleList(Linear))", 120),
        (by_size(min_num_params=120), "Sequential(Linear,Sequential(<Linear>,ReLU),ModuleList(Linear))", 120),
        (by_size(min_num_params=121), "<Sequential(Linear,Sequential(Linear,ReLU),ModuleList(Linear))>", 131),
        (by_size(min_num_params=132), "Sequential(Linear,Sequential(Linear,ReLU),ModuleList(Linear))", 0),
        # Children of these classes are not looked at, and these classes are not wrapped.
        (by_size(min_num_params=1, force_leaf_modules={nn.Sequential}),
         "Sequential(Linear,Sequential(Linear,ReLU),ModuleList(Linear))", 0),
        (by_size(min_num_params=1, exclude_wrap_modules={nn.Sequential}),
         "Sequential(<Linear>,Sequential(<Linear>,ReLU),ModuleList(<Linear>))", 131),
    ],
)  # fmt: skip
def test_policies_choose_modules(policy, expected, count):
    """Expectations follow from the policies' definitions in PyTorch's manual."""
    assert wrap_model(policy) == (expected, count)


def test_the_root_is_left_out_on_request():
    shape, count = wrap_model(wrap.always_wrap_policy, only_wrap_children=True)
    assert (
        shape == "Sequential(<Linear>,<Sequential(<Linear>,<ReLU>)>,<ModuleList(<Linear>)>)" and count == 131
    )


def test_ignored_modules_and_parameters_do_not_count():
    net = model()
    result, count = wrap._recursive_wrap(
        net, wrap.ModuleWrapPolicy([nn.Linear]), Wrapper, {net[0]}, {net[1][0].bias}
    )
    assert shape_of(result) == "Sequential(Linear,Sequential(<Linear>,ReLU),ModuleList(<Linear>))"
    assert count == 92  # 90 weights, and the last layer


def test_one_of_several_policies_is_enough():
    def of(kind):
        return lambda module, recurse, nonwrapped_numel: wrap._module_wrap_policy(module, recurse, 0, {kind})

    for module, answer in ((nn.ReLU(), True), (nn.Tanh(), True), (nn.Linear(1, 1), False)):
        assert wrap._or_policy(module, False, 0, [of(nn.ReLU), of(nn.Tanh)]) is answer


def test_regions_of_wrapping():
    layer = nn.Linear(1, 1)
    assert wrap.wrap(layer) is layer
    with wrap.enable_wrap(wrapper_cls=Wrapper, a=1, b=2):
        assert wrap.wrap(layer, b=3).options == {"a": 1, "b": 3}
        with wrap.enable_wrap(wrapper_cls=Wrapper, c=4):
            assert wrap.wrap(layer).options == {"c": 4}
        assert wrap.wrap(layer).options == {"a": 1, "b": 2}
    assert wrap.wrap(layer) is layer


def test_options_of_policies():
    net = model()
    policy = wrap.CustomPolicy(lambda m: {"a": 2} if isinstance(m, nn.Linear) else isinstance(m, nn.ReLU))
    settings = policy._run_policy(net, {net[0]}, {"a": 1, "b": 1})
    assert settings == {net[1][0]: {"a": 2, "b": 1}, net[1][1]: {"a": 1, "b": 1}, net[2][0]: {"a": 2, "b": 1}}
    with pytest.raises(ValueError, match="should return False/True or a kwarg dict, but it returned 3"):
        wrap.CustomPolicy(lambda m: 3)._run_policy(net, set(), {})
    policy = wrap.ModuleWrapPolicy({nn.ReLU})
    assert policy._run_policy(net, set(), {"a": 1}) == {net[1][1]: {"a": 1}}
    assert repr(policy).endswith("({<class 'tl_nn.modules.activation.ReLU'>})") or "ReLU" in repr(policy)


# ---- what is left out, and values at the start
def test_parts_that_a_wrapper_leaves_out():
    net = model()
    assert ignored_parts(net, None, None) == (set(), set())
    modules, parameters = ignored_parts(net, [net[1]], None)
    assert modules == {net[1], net[1][0], net[1][1]} and parameters == set(net[1][0].parameters())
    assert ignored_parts(net, None, [net[1]]) == (modules, parameters)
    assert ignored_parts(net, None, [net[0].bias]) == (set(), {net[0].bias})
    with pytest.warns(UserWarning, match="Trying to ignore the top-level module"):
        ignored_parts(net, [net], None)
    for modules, states, kind, text in (
        ([net[0]], [net[0]], ValueError, "Cannot pass both ignored_modules and ignored_states"),
        (None, [net[0], net[0].bias], ValueError, "all nn.Parameter or all nn.Module list elements"),
        (3, None, TypeError, "should be an iterable of `torch.nn.Module`s but got <class 'int'>"),
        ([3], None, ValueError, r"expects nn.Module list elements but got types \[<class 'int'>\]"),
    ):
        with pytest.raises(kind, match=text):
            ignored_parts(net, modules, states)


def test_parameters_without_memory_get_values():
    with tl.device("meta"):
        net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    materialize(net, None, "cpu", set(), set())
    assert not any(t.is_meta for t in (*net.parameters(), *net.buffers()))
    assert net[0].weight.abs().max() <= 1 / math.sqrt(2) and net[1].running_var.tolist() == [1.0] * 3

    calls = []
    materialize(net, calls.append, "cpu", set(), set())
    assert calls == []  # nothing lacks memory
    with tl.device("meta"):
        net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    materialize(net, calls.append, "cpu", {net[1]}, set())
    assert calls == [net, net[0]]
    materialize(net, None, "cpu", {net, net[0], net[1]}, set())
    assert all(p.is_meta for p in net.parameters())
    with pytest.raises(ValueError, match="Expected 3 to be callable"):
        materialize(net, 3, "cpu", set(), set())

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(tl.ones(2, device="meta"))

    with pytest.warns(UserWarning, match="Plain lacks it"), pytest.raises(AttributeError):
        materialize(Plain(), None, "cpu", set(), set())


def test_layouts_of_copies_and_pieces(ranks, monkeypatch):
    strategy = ShardingStrategy.HYBRID_SHARD
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")

    def body(rank):
        layout = _hybrid_layout(None, None, strategy, True)
        sizes = [layout.replicate_group.size(), layout.shard_group.size()]
        mesh = init_device_mesh("cpu", (2, 2))
        same = _hybrid_layout(None, mesh, strategy, False)
        pieces = dist.get_process_group_ranks(layout.shard_group)
        groups = _hybrid_layout((layout.shard_group, layout.replicate_group), None, strategy, False)
        again = dist.get_process_group_ranks(groups.shard_group)
        copies = dist.get_process_group_ranks(groups.replicate_group)
        return sizes, same.shard_group is mesh.get_group(1), pieces, again, copies

    for rank, result in enumerate(ranks(4, body)):
        first = rank // 2 * 2
        assert result == ([2, 2], True, [first, first + 1], [first, first + 1], [rank % 2, rank % 2 + 2])


def test_refused_layouts(world, monkeypatch):
    strategy = ShardingStrategy.HYBRID_SHARD
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    for arguments, text in (
        ((None, None, strategy, False), "Manual wrapping with ShardingStrategy.HYBRID_SHARD requires"),
        ((None, None, strategy, True), "the machines have 2 ranks each, the world has 1"),
        (
            (None, init_device_mesh("cpu", (1,)), strategy, True),
            "Expected device_mesh to have ndim=2 but got 1",
        ),
        (((world,), None, strategy, True), "to be passed in as either None or"),
    ):
        with pytest.raises(ValueError, match=text):
            _hybrid_layout(*arguments)


# ---- small parts
class Group:
    """A group of a size."""

    def __init__(self, size):
        self._size = size

    def size(self):
        return self._size


@pytest.mark.parametrize(
    ("size", "before"),
    [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2), (6, 4), (8, 4), (9, 2), (12, 4), (16, 4), (24, 8), (64, 8)],
)
def test_gradients_are_divided_in_two_steps(size, before, monkeypatch):
    """The factors of PyTorch 2.13 for worlds of these sizes."""
    namespace = DefaultState.__init__.__globals__
    monkeypatch.setitem(namespace, "get_world_size", lambda group: group.size())
    state = DefaultState(Group(size))
    assert state.gradient_predivide_factor == before
    assert state.gradient_postdivide_factor == size / before and state.world_size == size
    assert LowPrecisionState(Group(size), tl.bfloat16).parameter_type is tl.bfloat16
    with pytest.raises(ValueError, match="explicit ProcessGroup to LowPrecisionState"):
        LowPrecisionState(None)


def test_names_and_numbers_of_workers():
    info = WorkerInfo("a" * 127, 3)
    assert (info.name, info.id) == ("a" * 127, 3) and info == WorkerInfo("a" * 127, 3)
    assert info != WorkerInfo("a" * 127, 4) and info != WorkerInfo("b", 3) and info != "a"
    assert len({info, WorkerInfo("a" * 127, 3), WorkerInfo("b", 3)}) == 2
    for name, number in ((3, 3), ("a", "3"), (None, None)):
        with pytest.raises(TypeError, match="expected a name and an int"):
            WorkerInfo(name, number)
    for name, text in (("", "must be non-empty"), ("a" * 128, "shorter than 128"), ("a b", "must match")):
        with pytest.raises(RuntimeError, match=text):
            WorkerInfo(name, 0)


def test_texts_of_placements():
    """The texts of PyTorch 2.13."""
    texts = {Replicate(): ("R", "Replicate()"), Shard(1): ("S(1)", "Shard(dim=1)"),
             Partial(): ("P(sum)", "Partial(sum)"),
             Partial("max"): ("P(max)", "Partial(max)")}  # fmt: skip
    for placement, (short, long) in texts.items():
        assert (str(placement), repr(placement)) == (short, long)


def test_groups_that_join_an_optimizer_have_names():
    net = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 1))
    first = [{"params": list(net[0].parameters()), "lr": 0.5}]
    optimizer = _NamedOptimizer(dict(net.named_parameters()), nn.optim.SGD, first, net, lr=0.1)
    assert optimizer.ordered_param_keys == ["0.weight", "0.bias"] and optimizer.module is net
    optimizer.add_param_group({"params": list(net[1].parameters())})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.1]
    assert optimizer.ordered_param_keys == ["0.weight", "0.bias", "1.weight", "1.bias"]
    with pytest.raises(ValueError, match=r"parameters without a name, of shapes \[\(3,\)\]"):
        optimizer.add_param_group({"params": [nn.Parameter(tl.ones(3))]})
    with pytest.raises(ValueError, match="parameter group 0 must have params"):
        _NamedOptimizer(dict(net.named_parameters()), nn.optim.SGD, [{"lr": 1.0}], lr=0.1)


def test_states_fit_by_names():
    net = nn.Linear(2, 1)
    optimizer = _NamedOptimizer(
        dict(net.named_parameters()), nn.optim.SGD, lr=0.1, momentum=0.9, weight_decay=0.5
    )
    before = {name: p.clone() for name, p in net.state_dict().items()}
    net.weight.grad = tl.full((1, 2), 7.0)
    optimizer.init_state()
    assert all(tl.equal(before[name], p) for name, p in net.state_dict().items())
    assert net.weight.grad.tolist() == [[7.0, 7.0]] and net.bias.grad is None
    group = optimizer.param_groups[0]
    assert (group["lr"], group["weight_decay"]) == (0.1, 0.5)
    state_dict = optimizer.state_dict()
    assert state_dict["param_groups"][0]["params"] == ["bias", "weight"]
    state_dict["state"]["bias"]["momentum_buffer"] = tl.tensor([4.0])
    state_dict["param_groups"][0]["lr"] = 0.25
    optimizer.load_state_dict(state_dict)
    assert optimizer.param_groups[0]["lr"] == 0.25
    assert optimizer.state[net.bias]["momentum_buffer"].tolist() == [4.0]
    missing = {**state_dict, "state": {"bias": state_dict["state"]["bias"]}}
    with pytest.raises(ValueError, match="the state of weight is missing"):
        optimizer.load_state_dict(missing)
    other = {**state_dict, "param_groups": [{**state_dict["param_groups"][0], "params": ["bias"]}]}
    with pytest.raises(ValueError, match=r"no parameter group has exactly \['bias', 'weight'\]"):
        optimizer.load_state_dict(other)


def test_meshes_become_flat(ranks):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        flat = mesh._flatten()
        assert flat is mesh._flatten() and flat is mesh["a_b"] and flat.mesh_dim_names == ("a_b",)
        assert mesh["a"]._flatten() is not flat and mesh["b"]._flatten("b") is not None
        named = mesh._flatten("all")
        with pytest.raises(ValueError, match="'a' is a dimension of"):
            mesh._flatten("a")
        with pytest.raises(RuntimeError, match="the dimensions have no names"):
            DeviceMesh("cpu", [[0, 1], [2, 3]])._flatten()
        return flat.mesh.tolist(), dist.get_process_group_ranks(named.get_group()), named.get_local_rank()

    assert ranks(4, body) == [([0, 1, 2, 3], [0, 1, 2, 3], rank) for rank in range(4)]


def test_objects_travel_between_two_ranks(ranks):
    def body(rank):
        if rank == 0:
            dist.send_object_list([{"a": 1}, "text"], dst=1)
            dist.send_object_list([None], group_dst=1)
            return None
        first, second = [0, 0], [0]
        sources = [dist.recv_object_list(first, src=0), dist.recv_object_list(second)]
        return first, second, sources

    assert ranks(2, body)[1] == ([{"a": 1}, "text"], [None], [0, 0])


def test_objects_are_gathered_and_scattered(ranks):
    def body(rank):
        room = [None] * 3 if rank == 1 else None
        dist.gather_object("x" * rank, room, dst=1)
        part = [None]
        dist.scatter_object_list(part, [[0], [1, 1], {2: 2}] if rank == 2 else None, src=2)
        words = [rank, "long" * rank]
        dist.broadcast_object_list(words, src=2)
        return room, part, words

    parts = [[0], [1, 1], {2: 2}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = ranks(3, body)
    for rank, (room, part, words) in enumerate(results):
        assert room == (["", "x", "xx"] if rank == 1 else None)
        assert part == [parts[rank]] and words == [2, "longlong"]
