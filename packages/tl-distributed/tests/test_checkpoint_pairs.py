"""Checkpoints between the ways to cut a model: saved by N ranks in one way, loaded by M in another, equal in bits."""

from __future__ import annotations

import itertools
import os
import threading

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_distributed.fsdp import FullyShardedDataParallel, StateDictType, fully_shard
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.tensor import DTensor
from tl_distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

dcp = pytest.importorskip("tl_checkpoint.distributed")
states = pytest.importorskip("tl_checkpoint.distributed.state_dict")

BUILDING = threading.Lock()  # ranks are threads, which share the generator
SIZES = (1, 2, 3, 4)
MESHES = {1: (1, 1), 2: (2, 1), 3: (1, 3), 4: (2, 2)}
IS_FULL = os.environ.get("TL_DISTRIBUTED_TROUBLE") == "full"


class Layers(nn.Module):
    """Four layers of sizes that no number of ranks divides; a stage of a pipeline has some of them."""

    def __init__(self, numbers=range(4)):
        super().__init__()
        sizes = (6, 7, 5, 7, 3)
        with BUILDING:
            tl.manual_seed(3)
            layers = [nn.Linear(a, b) for a, b in itertools.pairwise(sizes)]
        self.layers = nn.ModuleDict({str(i): layers[i] for i in numbers})


def replicate(size, rank):
    return DistributedDataParallel(Layers())


def wrap(size, rank):
    model = FullyShardedDataParallel(Layers(), use_orig_params=True)
    FullyShardedDataParallel.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
    return model


def shard(size, rank):
    model = Layers()
    for layer in model.layers.values():
        fully_shard(layer)
    return model


def cut_products(model, mesh):
    plan = {f"layers.{i}": (ColwiseParallel, RowwiseParallel)[i % 2]() for i in range(4)}
    return parallelize_module(model, mesh, plan)


def parallelize(size, rank):
    return cut_products(Layers(), dist.init_device_mesh("cpu", (size,)))


def stage(size, rank):
    return Layers(range(rank * 4 // size, (rank + 1) * 4 // size))


def two_meshes(size):
    mesh = dist.init_device_mesh("cpu", MESHES[size], mesh_dim_names=("dp", "tp"))
    return mesh["dp"], mesh["tp"]


def shard_products(size, rank):
    data, tensor = two_meshes(size)
    model = cut_products(Layers(), tensor)
    for layer in model.layers.values():
        fully_shard(layer, mesh=data)
    return model


def wrap_products(size, rank):
    data, tensor = two_meshes(size)
    model = FullyShardedDataParallel(cut_products(Layers(), tensor), device_mesh=data, use_orig_params=True)
    FullyShardedDataParallel.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
    return model


KINDS = {
    "DDP": replicate,
    "FSDP1": wrap,
    "FSDP2": shard,
    "TP": parallelize,
    "PP": stage,
    "FSDP2+TP": shard_products,
    "FSDP1+TP": wrap_products,
}


def train(kind, size, rank):
    """A model after two steps of Adam, whose gradients are functions of single elements: no cut changes a bit."""
    model = KINDS[kind](size, rank)
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
    for step in range(2):
        for parameter in model.parameters():
            parameter.grad = (parameter.detach() * (3 + step) + 0.5).detach()
        optimizer.step()
    return model, optimizer


FLAT = states.StateDictOptions(flatten_optimizer_state_dict=True)  # a stage has groups of its own


def state_of(model, optimizer):
    return {
        "model": states.get_model_state_dict(model),
        "optim": states.get_optimizer_state_dict(model, optimizer, options=FLAT),
    }


def blank(kind, size, rank):
    model = KINDS[kind](size, rank)
    with tl.no_grad():
        for parameter in model.parameters():
            parameter.fill_(-1)
    return model, nn.optim.Adam(model.parameters(), lr=0.5)


def tensors(entry, prefix=""):
    """The whole tensors of a state, by their paths."""
    if isinstance(entry, dict):
        return {
            path: value
            for key, part in entry.items()
            for path, value in tensors(part, f"{prefix}/{key}").items()
        }
    if isinstance(entry, tl.Tensor):
        return {prefix: (entry.full_tensor() if isinstance(entry, DTensor) else entry).detach().clone()}
    return {}


@pytest.fixture(scope="module")
def truth():
    """The state of one process without any cut."""
    model = Layers()
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
    for step in range(2):
        for parameter in model.parameters():
            parameter.grad = (parameter.detach() * (3 + step) + 0.5).detach()
        optimizer.step()
    names = dict(model.named_parameters())
    result = {f"/model/{name}": parameter.detach().clone() for name, parameter in names.items()}
    for name, parameter in names.items():
        for key, value in optimizer.state[parameter].items():
            result[f"/optim/state.{name}.{key}"] = value.clone()
    return result


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The checkpoints by kind and number of ranks; each is saved when a test first asks for it."""
    root, paths = tmp_path_factory.mktemp("pairs"), {}

    def save(ranks, kind, size):
        if (kind, size) not in paths:
            path = root / f"{kind} {size}"
            ranks(size, lambda rank: dcp.save(state_of(*train(kind, size, rank)), checkpoint_id=path))
            paths[kind, size] = path
        return paths[kind, size]

    return save


def pairs():
    """The pairs of a run: all with the long form, and each pair of kinds once with the short one."""
    kinds = list(KINDS)
    for i, saver in enumerate(kinds):
        for j, loader in enumerate(kinds):
            for n in SIZES:
                for m in SIZES:
                    if IS_FULL or (n == SIZES[(i + 1) % 4] and m == SIZES[(i + j) % 4]):
                        yield saver, n, loader, m


@pytest.mark.filterwarnings("ignore:FSDP is switching to use `NO_SHARD`")  # of one rank
@pytest.mark.parametrize(("saver", "n", "loader", "m"), list(pairs()))
def test_saved_in_one_way_and_loaded_in_another(ranks, folders, truth, saver, n, loader, m):
    path = folders(ranks, saver, n)

    def load(rank):
        model, optimizer = blank(loader, m, rank)
        state = state_of(model, optimizer)
        dcp.load(state, checkpoint_id=path)
        states.set_model_state_dict(model, state["model"])
        states.set_optimizer_state_dict(model, optimizer, state["optim"], options=FLAT)
        again = tensors(state_of(model, optimizer))
        assert again
        for name, value in again.items():
            assert value.dtype is truth[name].dtype and value.tolist() == truth[name].tolist(), name
        return set(again)

    assert set().union(*ranks(m, load)) == set(truth)
