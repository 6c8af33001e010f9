"""The names of tl's modules that plain pickles hold: the present ones and those of earlier versions resolve."""

import io
import pickle
import pickletools
from importlib import import_module
from pathlib import Path

import pytest

import tl
from tl_core.base.former_names import MOVED_MODULES, MOVED_NAMES
from tl_core.subclasses import FakeTensorMode

HELD = [
    tuple(line.split()) for line in (Path(__file__).parent / "pickled_names.txt").read_text().splitlines()
]


class Half(tl.Tensor):
    """A subclass without code of its own."""


OBJECTS = {
    "tensor": lambda: tl.ones(2, requires_grad=True),
    "subclass": lambda: tl.ones(2).as_subclass(Half),
    "parameter": lambda: tl.nn.Parameter(tl.ones(2)),
    "buffer": lambda: tl.nn.Buffer(tl.ones(2)),
    "coo": lambda: tl.eye(2).to_sparse(),
    "csr": lambda: tl.eye(2).to_sparse_csr(),
    "meta": lambda: tl.ones(2, device="meta"),
    "conjugated": lambda: tl.ones(2, dtype=tl.complex64).conj(),
    "bytes": lambda: tl.ones(2).untyped_storage(),
    "elements": lambda: tl.ones(2)._typed_storage(),
    "nested": lambda: tl.nested.nested_tensor([tl.ones(2)]),
    "jagged": lambda: tl.nested.nested_tensor([tl.ones(2)], layout=tl.jagged),
    "masked": lambda: tl.masked.masked_tensor(tl.ones(2), tl.ones(2) > 0),
    "quantized": lambda: tl.quantize_per_tensor(tl.ones(2), 0.1, 0, tl.quint8),
    "fake": lambda: FakeTensorMode().from_tensor(tl.ones(2)),
    "pair": lambda: tl.max(tl.ones(2, 2), 0),
    "operator": lambda: tl.ops.aten.add.Tensor,
    "lazy layer": lambda: tl.nn.LazyLinear(3),
    "layer": lambda: tl.nn.TransformerEncoderLayer(4, 2),
    "graph": lambda: tl.fx.symbolic_trace(tl.nn.Linear(2, 2)),
    "trace": lambda: tl.fx.experimental.proxy_tensor.make_fx(lambda x: x + 1, tracing_mode="symbolic")(
        tl.ones(2)
    ),
    "optimizer": lambda: tl.optim.Adam(tl.nn.Linear(2, 2).parameters()),
    "observer": lambda: tl.ao.quantization.default_qconfig,
    "loader": lambda: tl.utils.data.DataLoader([1, 2]),
}


def is_movable(module: str) -> bool:
    """Whether the module is one of tl's own below a package: the names of a package itself stay."""
    return module.startswith("tl_") and "." in module


@pytest.mark.parametrize("name", OBJECTS)
def test_the_list_has_every_name_of_a_pickle(name):
    data = pickle.dumps(OBJECTS[name](), protocol=2)
    names = {tuple(arg.split()) for op, arg, _ in pickletools.genops(data) if op.name == "GLOBAL"}
    assert {pair for pair in names if is_movable(pair[0])} <= set(HELD)


@pytest.mark.parametrize(("module", "name"), HELD)
def test_every_name_resolves(module, name):
    assert pickle.Unpickler(io.BytesIO()).find_class(module, name) is not None


@pytest.mark.parametrize("former", ["tl_core._tensor", "tl_core.api.tensor_methods"])
def test_tensors_of_earlier_versions(former):
    x = tl.arange(6.0).reshape(2, 3).t()
    data = pickle.dumps(x, protocol=2).replace(b"tl_core.api.tensor_pickling", former.encode())
    assert former.encode() in data
    assert tl.equal(pickle.loads(data), x)


def test_former_modules_are_the_present_ones():
    for former, present in MOVED_MODULES.items():
        assert import_module(former) is import_module(present)


def test_a_process_that_has_only_loaded_the_package(execute):
    data = pickle.dumps(tl.ones(2), protocol=2).replace(b"tl_core.api.tensor_pickling", b"tl_core._tensor")
    assert execute(f"import pickle; print(pickle.loads({data!r}).tolist())").split() == ["[1.0,", "1.0]"]


def test_other_names_are_absent():
    for module in MOVED_NAMES:
        assert not hasattr(import_module(module), "_absent_name")
    with pytest.raises(ModuleNotFoundError):
        import_module("tl_core._absent_module")


@pytest.mark.parametrize(
    "holder",
    ["", "linalg", "fft", "special", "sparse", "nn.functional", "nn.init", "autograd", "Tensor", "_C._nn"],
)
def test_public_functions_pickle_by_their_names(holder):
    scope = tl
    for part in filter(None, holder.split(".")):
        scope = getattr(scope, part)
    functions = {name: getattr(scope, name) for name in dir(scope) if not name.startswith("_")}
    functions = {name: value for name, value in functions.items() if callable(value)}
    assert len(functions) > 3
    for name, value in functions.items():
        again = pickle.loads(pickle.dumps(value))
        assert again == value, name
        assert again is value or scope is tl.Tensor, name


def test_native_functions_in_another_process(execute):
    layer = tl.nn.TransformerEncoderLayer(4, 2, 8, activation=tl.nn.functional.gelu)
    data = pickle.dumps((tl.linalg.det, tl.special.erf, tl.fft.fft, layer))
    program = f"""
import pickle
det, erf, fft, layer = pickle.loads({data!r})
import tl
assert (det, erf, fft) == (tl.linalg.det, tl.special.erf, tl.fft.fft)
print(layer.activation is tl.nn.functional.gelu)
"""
    assert execute(program) == "True\n"
