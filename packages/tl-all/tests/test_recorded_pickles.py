"""Whole objects that torch 2.13 pickled (data/pickles_of_2_13.pt.gz): graph modules, distributions, jagged tensors,
settings of torch.distributed. Classes have one name in files, whichever module they lie in."""

import gzip
import io
from pathlib import Path

import pytest

import tl
from tl_checkpoint.class_names import reference, resolve

FILE = Path(__file__).parent / "data" / "pickles_of_2_13.pt.gz"


@pytest.fixture(scope="module")
def recorded():
    return tl.load(io.BytesIO(gzip.decompress(FILE.read_bytes())), weights_only=False)


def test_a_graph_module_is_traced_again(recorded):
    module, x, y = recorded["graph_module"].values()
    assert type(module).__mro__[1] is tl.fx.GraphModule
    assert [node.op for node in module.graph.nodes][:2] == ["placeholder", "placeholder"]
    tl.testing.assert_close(module(x), y)


def test_distributions(recorded):
    value = recorded["distributions"]
    assert tl.equal(value["normal"].log_prob(tl.tensor([0.5, 1.0])), value["log_prob"])
    tl.testing.assert_close(value["mixture"].log_prob(tl.tensor(0.3)), value["mixed"])
    assert isinstance(value["transformed"].transforms[0], tl.distributions.ExpTransform)
    assert value["independent"].event_shape == (2,) and value["lkj"].dim == 3
    assert value["constraint"][1].upper_bound == 1


def test_every_distribution(recorded):
    wrong = {}
    for name, (x, y) in recorded["values"].items():
        each = recorded["every"][name]
        if each.sample().shape != x.shape or not tl.allclose(each.log_prob(x), y, rtol=1e-4, atol=1e-5):
            wrong[name] = (each.log_prob(x), y)
    assert len(recorded["values"]) > 35 and not wrong
    assert repr(recorded["every"]["Aff"].inv) == repr(tl.distributions.AffineTransform(1.0, 2.0).inv)


def jagged_parts(tensors):
    return [[t.values().tolist(), t.offsets().tolist()] for t in tensors]


def test_jagged_tensors(recorded):
    first, second = recorded["jagged"]
    assert first.layout is tl.jagged and first.shape[2] == 3
    assert jagged_parts([second]) == [[[0, 1, 2, 3, 4, 5], [0, 2, 6]]]
    assert [t.shape for t in first.unbind()] == [(2, 3), (4, 3)]


def test_jagged_tensors_are_data(tmp_path, recorded):
    tl.save(recorded["jagged"], tmp_path / "jagged.pt")
    assert jagged_parts(tl.load(tmp_path / "jagged.pt")) == jagged_parts(recorded["jagged"])
    assert not tl.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "jagged.pt")


def test_settings_of_distributed(recorded):
    value = recorded["distributed"]
    shard, replicate, partial = value["placements"]
    assert (shard.dim, replicate.is_replicate(), partial.reduce_op) == (0, True, "sum")
    assert value["chunk"].sizes == (2, 2) and value["index"].fqn == "a"
    assert value["mp"].param_dtype is tl.bfloat16 and value["strategy"].name == "FULL_SHARD"
    assert str(value["remote"]) == "rank:0/cpu" and value["properties"].dtype is tl.float32


def test_what_programs_keep(recorded):
    value = recorded["programs"]
    assert value["tree"] == tl.utils._pytree.tree_structure({"a": [1, (2, 3)]})
    assert value["tree"].unflatten([1, 2, 3]) == {"a": [1, (2, 3)]}
    assert [row[0].item() for row in value["subset"]] == [0, 2] and len(value["sampler"]) == 3
    assert value["average"](tl.ones(1, 2)).shape == (1, 1) and value["scheduler"].T_max == 5


PUBLIC = (
    "amp autograd distributed distributed.checkpoint distributed.fsdp distributed.tensor distributions export fx nn "
    "nn.utils.parametrize optim optim.lr_scheduler optim.swa_utils profiler utils.benchmark utils.data utils._pytree "
    "ao.nn.intrinsic ao.nn.quantized ao.quantization"
)


@pytest.mark.parametrize("name", PUBLIC.split())
def test_classes_are_read_under_the_name_they_are_written_under(name):
    import importlib

    module = importlib.import_module(f"tl.{name}")
    listed = getattr(module, "__all__", None) or dir(module)
    kinds = [kind for kind in (getattr(module, each, None) for each in listed) if isinstance(kind, type)]
    own = [
        kind for kind in kinds if str(kind.__module__).startswith("tl_") and "ReduceOp" not in kind.__name__
    ]
    lost = {}
    for kind in own:
        public_name = reference(f"{kind.__module__}.{kind.__qualname__}")
        if not public_name.startswith("torch.") or resolve(public_name) is not kind:
            lost[kind] = public_name
    assert own and not lost


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (tl.distributed.tensor.DTensor, "torch.distributed.tensor.DTensor"),
        (tl.distributions.ComposeTransform, "torch.distributions.transforms.ComposeTransform"),
        (tl.optim.Muon, "torch.optim.Muon"),
        (tl.nn.MultiheadAttention, "torch.nn.modules.activation.MultiheadAttention"),
        (tl.utils.data.get_worker_info, "torch.utils.data._utils.worker.get_worker_info"),
    ],
)
def test_names_are_those_that_pytorch_reads(kind, name):
    own = getattr(kind.__module__, "own", kind.__module__)
    assert reference(f"{own}.{kind.__qualname__}") == name
