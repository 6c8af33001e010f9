"""Checkpoints of distributed tensors: saved by so many ranks in one layout, loaded by others in another."""

import copy
import io
import itertools
import pickle

import pytest

import tl_core as tl
from tl_distributed.groups.device_mesh import DeviceMesh, init_device_mesh
from tl_distributed.parallel import DistributedDataParallel
from tl_distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from tl_distributed.tensor.placement_types import _StridedShard

dcp = pytest.importorskip("tl_checkpoint.distributed")
serialization = pytest.importorskip("tl_checkpoint.serialization")
metadata = pytest.importorskip("tl_checkpoint.distributed.metadata")
states = pytest.importorskip("tl_checkpoint.distributed.state_dict")
nn = pytest.importorskip("tl_nn")

MESHES = {1: (1,), 2: (2,), 3: (3,), 4: (2, 2)}
SHAPES = {"whole": (8, 4), "uneven": (7, 5), "fewer than ranks": (2, 1), "empty": (0, 3), "deep": (3, 2, 4)}


def numbers(shape, dtype=tl.float32):
    return tl.arange(tl.Size(shape).numel(), dtype=dtype).reshape(shape)


def layouts(size):
    """A mesh of so many ranks, and every way in which a tensor of two dimensions lies on it."""
    mesh = init_device_mesh("cpu", MESHES[size])
    return mesh, list(itertools.product((Shard(0), Shard(1), Replicate()), repeat=mesh.ndim))


def entries(size, turn, make):
    """A tensor of each shape in so many layouts that all are met, whichever they are called on other meshes."""
    mesh, every = layouts(size)
    return {
        f"{name} {number}": make(numbers(shape), mesh, every[(number * turn + turn) % len(every)])
        for name, shape in SHAPES.items()
        for number in range(9)
    }


def blank(tensor, mesh, placements):
    return distribute_tensor(tl.full_like(tensor, -1), mesh, placements)


@pytest.mark.parametrize(("saved_by", "loaded_by"), [(1, 2), (2, 1), (2, 3), (3, 2), (4, 2), (2, 4), (4, 4)])
def test_saved_by_so_many_ranks_and_loaded_by_others(ranks, tmp_path, saved_by, loaded_by):
    def save(rank):
        dcp.save({"model": entries(saved_by, 1, distribute_tensor)}, checkpoint_id=tmp_path)

    def load(rank):
        state = {"model": entries(loaded_by, 2, blank)}
        dcp.load(state, checkpoint_id=tmp_path)
        for name, result in state["model"].items():
            shape = SHAPES[name.rsplit(" ", 1)[0]]
            assert type(result) is DTensor and result.full_tensor().tolist() == numbers(shape).tolist(), name
        plain = {"model": {name: tl.full(SHAPES[name.rsplit(" ", 1)[0]], -1.0) for name in state["model"]}}
        dcp.load(plain, checkpoint_id=tmp_path)
        for name, result in plain["model"].items():
            assert result.tolist() == numbers(result.shape).tolist(), name

    ranks(saved_by, save)
    ranks(loaded_by, load)


@pytest.mark.parametrize("dtype", [tl.float64, tl.bfloat16, tl.int64, tl.bool, tl.complex64])
def test_types_and_what_was_plain(ranks, tmp_path, dtype):
    full = numbers((5, 3)).to(dtype)
    dcp.save({"plain": full, "strided": full.t()}, checkpoint_id=tmp_path / "plain")

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        state = {
            "plain": distribute_tensor(tl.zeros(5, 3, dtype=dtype), mesh, [Shard(0)]),
            "strided": distribute_tensor(tl.zeros(5, 3, dtype=dtype).t(), mesh, [Shard(1)]),
        }
        dcp.load(state, checkpoint_id=tmp_path / "plain")
        assert state["plain"].full_tensor().tolist() == full.tolist()
        assert state["strided"].full_tensor().tolist() == full.t().tolist()
        dcp.save(state, checkpoint_id=tmp_path / "again")

    ranks(2, body)
    state = {"plain": tl.zeros(5, 3, dtype=dtype), "strided": tl.zeros(3, 5, dtype=dtype)}
    dcp.load(state, checkpoint_id=tmp_path / "again")
    assert state["plain"].tolist() == full.tolist() and state["strided"].tolist() == full.t().tolist()


def test_each_element_is_written_once(ranks, tmp_path):
    def body(rank):
        mesh = init_device_mesh("cpu", (2, 2))
        state = {"x": distribute_tensor(numbers((7, 6)), mesh, [Shard(0), Replicate()])}
        return dcp.save(state, checkpoint_id=tmp_path)

    result = ranks(4, body)[0].state_dict_metadata["x"]
    assert result.size == (7, 6)
    assert [(tuple(c.offsets), tuple(c.sizes)) for c in result.chunks] == [((0, 0), (4, 6)), ((4, 0), (3, 6))]


def test_saved_in_the_background(ranks, tmp_path):
    """The checkpoint has the numbers of the call, whatever the program writes into the tensors then."""

    def body(rank):
        state = {"model": entries(1, 1, distribute_tensor), "rank": rank}
        saving = dcp.async_save(state, checkpoint_id=tmp_path)
        with tl.no_grad():
            for tensor in state["model"].values():
                tensor.zero_()
        saving.result()
        loaded = {"model": entries(1, 2, blank)}
        dcp.load(loaded, checkpoint_id=tmp_path)
        for name, result in loaded["model"].items():
            shape = SHAPES[name.rsplit(" ", 1)[0]]
            assert type(result) is DTensor and result.full_tensor().tolist() == numbers(shape).tolist(), name

    ranks(1, body)  # threads of several ranks share the thread of the background


def test_a_copy_for_the_background_is_renewed_where_the_pieces_lie_elsewhere(ranks):
    """A stager reuses the tensors of its last copy; one that was laid out anew has other pieces."""
    staging = pytest.importorskip("tl_checkpoint.distributed.staging")

    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        stager = staging.BlockingAsyncStager(cache_staged_state_dict=True)
        before = stager.stage({"x": distribute_tensor(numbers((4, 2)), mesh, [Shard(0)])})["x"]
        after = stager.stage({"x": distribute_tensor(numbers((4, 2)), mesh, [Shard(1)])})["x"]
        assert before.placements == (Shard(0),) and after.placements == (Shard(1),)
        assert after.full_tensor().tolist() == numbers((4, 2)).tolist()

    ranks(2, body)


def test_terms_of_a_sum_are_refused_on_all_ranks(ranks, tmp_path):
    def body(rank):
        mesh = init_device_mesh("cpu", (2,))
        terms = DTensor.from_local(tl.ones(2), mesh, [Partial()])
        for act in (dcp.save, dcp.load):
            with pytest.raises(dcp.CheckpointException, match=r"partial placements.*redistribute"):
                act({"x": terms}, checkpoint_id=tmp_path)
        dcp.save({"x": terms.redistribute(placements=[Shard(0)])}, checkpoint_id=tmp_path)

    dcp.save({"x": tl.zeros(2)}, checkpoint_id=tmp_path)
    ranks(2, body)
    state = {"x": tl.zeros(2)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == [2, 2]


@pytest.mark.parametrize("length", [8, 7, 5, 3, 1, 0])
@pytest.mark.parametrize("factor", [2, 3])
def test_pieces_of_pieces(ranks, tmp_path, length, factor):
    """Each rank has a run of each of several pieces, which `dcp` writes as chunks of their own."""

    def body(rank):
        mesh = init_device_mesh("cpu", (3,))
        state = {"x": distribute_tensor(numbers((2, length)), mesh, [_StridedShard(1, split_factor=factor)])}
        dcp.save(state, checkpoint_id=tmp_path)
        state["x"].to_local().zero_()
        dcp.load(state, checkpoint_id=tmp_path)
        assert state["x"].full_tensor().tolist() == numbers((2, length)).tolist()

    ranks(3, body)
    state = {"x": tl.zeros(2, length)}
    dcp.load(state, checkpoint_id=tmp_path)
    assert state["x"].tolist() == numbers((2, length)).tolist()


def test_ranks_outside_the_mesh_write_and_read_nothing(ranks, tmp_path):
    def body(rank):
        mesh = DeviceMesh("cpu", [0, 2])
        local = numbers((3, 2))[2 if rank == 2 else 0 : 3 if rank == 2 else 2]
        piece = DTensor.from_local(local, mesh, [Shard(0)], shape=(3, 2), stride=(2, 1))
        state = {"x": piece}
        dcp.save(state, checkpoint_id=tmp_path)
        piece.to_local().zero_()
        dcp.load(state, checkpoint_id=tmp_path)
        return piece.to_local().tolist()

    result = ranks(3, body)
    assert result[0] == [[0, 1], [2, 3]] and result[1] == [[0, 0], [0, 0]] and result[2] == [[4, 5]]


def test_a_chunk_that_is_not_here(ranks):
    def body(rank):
        piece = distribute_tensor(tl.ones(4), init_device_mesh("cpu", (2,)), [Shard(0)])
        own = 2 * rank
        assert piece.__get_tensor_shard__(metadata.MetadataIndex("x", (own,))) is piece._local_tensor
        with pytest.raises(ValueError, match="no chunk at"):
            piece.__get_tensor_shard__(metadata.MetadataIndex("x", (2 - own,)))

    ranks(2, body)


def model_and_optimizer(mesh):
    """A layer of which each rank has a piece, after a step of Adam."""
    tl.manual_seed(0)
    model = nn.Linear(3, 5)
    for name, placement in (("weight", Shard(0)), ("bias", Replicate())):
        full = getattr(model, name).detach()
        setattr(model, name, nn.Parameter(distribute_tensor(full, mesh, [placement])))
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
    for number, parameter in enumerate(model.parameters()):
        gradient = numbers(parameter.shape) - number
        parameter.grad = distribute_tensor(gradient, mesh, parameter.placements)
    optimizer.step()
    return model, optimizer


def as_numbers(value):
    if isinstance(value, tl.Tensor):
        return (value.full_tensor() if isinstance(value, DTensor) else value).tolist()
    if isinstance(value, dict):
        return {key: as_numbers(entry) for key, entry in value.items()}
    return [as_numbers(entry) for entry in value] if isinstance(value, list) else value


def test_state_dicts_of_models_and_optimizers(ranks, tmp_path):
    full_options = states.StateDictOptions(full_state_dict=True)

    def body(rank):
        model, optimizer = model_and_optimizer(init_device_mesh("cpu", (2,)))
        state = {
            "model": states.get_model_state_dict(model),
            "optim": states.get_optimizer_state_dict(model, optimizer),
        }
        assert type(state["optim"]["state"]["weight"]["exp_avg"]) is DTensor
        dcp.save(state, checkpoint_id=tmp_path)
        full = {
            "model": states.get_model_state_dict(model, options=full_options),
            "optim": states.get_optimizer_state_dict(model, optimizer, options=full_options),
        }
        full = copy.deepcopy(
            full
        )  # replicas and plain tensors share memory with the model's and the optimizer's
        assert type(full["optim"]["state"]["weight"]["exp_avg"]) is type(full["model"]["weight"]) is tl.Tensor
        first = states.StateDictOptions(full_state_dict=True, cpu_offload=True)
        here = states.get_model_state_dict(model, options=first)
        assert as_numbers(here) == (as_numbers(full["model"]) if rank == 0 else {})
        for options, part in (
            (None, copy.deepcopy(state)),
            (full_options, full),
            (
                states.StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
                full if rank == 0 else {"model": {}, "optim": {}},
            ),
        ):
            for parameter in model.parameters():
                parameter.detach().to_local().fill_(7)
            for values in optimizer.state.values():
                for value in values.values():
                    (value.to_local() if isinstance(value, DTensor) else value).fill_(7)
            states.set_model_state_dict(model, part["model"], options=options)
            states.set_optimizer_state_dict(model, optimizer, copy.deepcopy(part["optim"]), options=options)
            assert type(model.weight.detach()) is DTensor and model.weight.placements == (Shard(0),)
            again = {
                "model": states.get_model_state_dict(model),
                "optim": states.get_optimizer_state_dict(model, optimizer),
            }
            assert type(again["optim"]["state"]["weight"]["exp_avg"]) is DTensor
            assert as_numbers(again) == as_numbers(full)
        return as_numbers(full)

    result = ranks(2, body)
    assert result[0] == result[1]
    tl.manual_seed(0)
    model = nn.Linear(3, 5)
    optimizer = nn.optim.Adam(model.parameters(), lr=0.1)
    state = {
        "model": states.get_model_state_dict(model),
        "optim": states.get_optimizer_state_dict(model, optimizer),
    }
    dcp.load(state, checkpoint_id=tmp_path)  # one process has plain tensors
    assert as_numbers(state) == result[0]


def test_states_of_a_wrapped_model_as_its_own(ranks):
    """The functions that replace its methods find the names of the wrapper themselves."""

    def body(rank):
        model = DistributedDataParallel(nn.Linear(3, 2))
        optimizer = nn.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        states._patch_model_state_dict(model)
        states._patch_optimizer_state_dict(model, optimizers=optimizer)
        state = {name: value + 1 for name, value in model.state_dict().items()}
        assert list(state) == ["weight", "bias"] and not model.load_state_dict(state).missing_keys
        assert model.module.bias.tolist() == state["bias"].tolist()
        optimizer.load_state_dict(optimizer.state_dict())
        assert set(optimizer.state_dict()["state"]) == {"weight", "bias"}

    ranks(2, body)


def test_ranks_with_entries_in_different_orders(ranks):
    """Each gathers the same tensor at a time, and keeps its order."""

    class Reordered(nn.Module):
        def __init__(self, mesh, names):
            super().__init__()
            for name in names:
                value = tl.full((4, 2), float(ord(name)))
                part = distribute_tensor(value, mesh, [Shard(0)], src_data_rank=None)
                self.register_parameter(name, nn.Parameter(part))

    def body(rank):
        model = Reordered(init_device_mesh("cpu", (2,)), "abc" if rank == 0 else "cab")
        return states.get_model_state_dict(model, options=states.StateDictOptions(full_state_dict=True))

    for result, names in zip(ranks(2, body), ("abc", "cab"), strict=True):
        assert "".join(result) == names
        assert all(value.tolist() == [[ord(name)] * 2] * 4 for name, value in result.items())


def test_whole_state_of_another_size_is_refused(ranks):
    def body(rank):
        model, _ = model_and_optimizer(init_device_mesh("cpu", (2,)))
        state = {"weight": tl.ones(4, 3), "bias": tl.ones(5)}
        with pytest.raises(ValueError, match=r"\(5, 3\) can't be set from one of \(4, 3\)"):
            states.set_model_state_dict(model, state, options=states.StateDictOptions(full_state_dict=True))

    ranks(2, body)


@pytest.mark.parametrize("weights_only", [True, False])
def test_files_of_distributed_tensors(ranks, tmp_path, weights_only):
    """Each rank has a file of its own; a process without a group may look at one."""

    def body(rank):
        mesh = init_device_mesh("cpu", (2, 1), mesh_dim_names=("data", "model"))
        x = distribute_tensor(numbers((5, 3)), mesh, [Shard(0), Replicate()])
        terms = DTensor.from_local(tl.ones(3, dtype=tl.bfloat16), mesh, [Partial("max"), Shard(0)])
        parameter = nn.Parameter(x.redistribute(placements=[Replicate(), Shard(1)]))
        serialization.save([x, terms, parameter], tmp_path / str(rank))
        result = serialization.load(tmp_path / str(rank), weights_only=weights_only)
        for before, after in zip([x, terms, parameter], result, strict=True):
            assert type(after) is DTensor and after.device_mesh == mesh and after.dtype is before.dtype
            assert after.placements == before.placements and after.stride() == before.stride()
            assert after.requires_grad == before.requires_grad
            assert after.to_local().tolist() == before.to_local().tolist()
            assert after.full_tensor().tolist() == before.full_tensor().tolist()  # it has the mesh's groups
        assert isinstance(result[2], nn.Parameter) and not isinstance(result[0], nn.Parameter)

    ranks(2, body)
    alone = serialization.load(tmp_path / "1", weights_only=weights_only)[0]
    assert alone.to_local().tolist() == numbers((5, 3))[3:].tolist()
    assert alone.device_mesh.get_coordinate() is None


def test_pickles_and_copies(ranks):
    def body(rank):
        x = distribute_tensor(numbers((5, 3)), init_device_mesh("cpu", (2,)), [Shard(0)])
        for copied in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.deepcopy(nn.Parameter(x))):
            assert (
                copied.placements == x.placements
                and copied.full_tensor().tolist() == numbers((5, 3)).tolist()
            )
            copied.to_local().detach().zero_()
        assert x.full_tensor().tolist() == numbers((5, 3)).tolist()

    ranks(2, body)


def test_damaged_files_of_distributed_tensors(ranks):
    """Layouts that a file describes are checked when it is read as data."""
    from tl_checkpoint import safe_globals

    def describe(module, name, state):
        return safe_globals.require_global(module, name).create().finish(state)

    placements = "torch.distributed.tensor.placement_types"
    assert describe(placements, "Shard", {"dim": 1}) == Shard(1)
    for module, name, state, text in [
        (placements, "Shard", {"dim": "0"}, "dim of a Shard is a 'str'"),
        (placements, "Partial", {}, "a Partial must have reduce_op"),
        (placements, "Shard", {"dim": 0, "more": 1}, "a Shard must have dim"),
        (
            "torch.distributed.device_mesh",
            "DeviceMesh",
            {"device_type": "cpu", "mesh": [0], "mesh_dim_names": None},
            "mesh of a DeviceMesh is a 'list'",
        ),
        (
            "torch.distributed.tensor._dtensor_spec",
            "DTensorSpec",
            {"mesh": None, "placements": (), "tensor_meta": None},
            "mesh of a DTensorSpec is a 'NoneType'",
        ),
    ]:
        with pytest.raises(pickle.UnpicklingError, match=text):
            describe(module, name, state)
    data = io.BytesIO()
    serialization.save(Shard(1), data)
    data.seek(0)
    assert serialization.load(data) == Shard(1)
