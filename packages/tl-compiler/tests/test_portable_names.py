"""Rows that take numbers for tensors stand in files under the overloads that others know, and are read again."""

import io

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler.export import export, load, save
from tl_compiler.export.serde.codes import function_named
from tl_compiler.export.serde.writer import program_as_json

aten = tl.ops.aten
x = tl.tensor([0.5, 1.5, 2.5])
i = tl.tensor([1, 2, 3])

# Names as PyTorch 2.13 lists them.
CASES = {
    "where.ScalarOther": lambda: aten.where.self(x > 1, x, 1e-8),
    "where.ScalarSelf": lambda: aten.where.self(x > 1, 1e-8, x),
    "where.Scalar": lambda: aten.where.self(x > 1, 1.0, 0.0),
    "where.self": lambda: aten.where.self(x > 1, x, x),
    "gt.Scalar": lambda: aten.gt.Tensor(x, 1),
    "fmod.Scalar": lambda: aten.fmod.Tensor(x, 2),
    "remainder.Scalar": lambda: aten.remainder.Tensor(x, 2),
    "rsub.Scalar": lambda: aten.rsub.Tensor(x, 2, alpha=3),
    "copysign.Scalar": lambda: aten.copysign.Tensor(x, -1.0),
    "bitwise_and.Scalar": lambda: aten.bitwise_and.Tensor(i, 1),
    "bitwise_left_shift.Tensor_Scalar": lambda: aten.bitwise_left_shift.Tensor(i, 1),
    "pow.Tensor_Scalar": lambda: aten.pow.Tensor_Tensor(x, 2),
    "pow.Scalar": lambda: aten.pow.Scalar(2, x),
    "xlogy.Scalar_Other": lambda: aten.xlogy.Tensor(x, 2.0),
    "xlogy.Scalar_Self": lambda: aten.xlogy.Scalar_Self(2.0, x),
    "lerp.Scalar": lambda: aten.lerp.Tensor(x, x + 1, 0.5),
    "lerp.Tensor": lambda: aten.lerp.Tensor(x, x + 1, x),
    "special_xlog1py.other_scalar": lambda: aten.special_xlog1py.default(x, 2.0),
    "special_zeta.other_scalar": lambda: aten.special_zeta.default(x + 1, 2.0),
    "special_hermite_polynomial_h.n_scalar": lambda: aten.special_hermite_polynomial_h.default(x, 3),
    "clamp_min.Tensor": lambda: aten.clamp_min.default(x, x + 1),
    "clamp_min.default": lambda: aten.clamp_min.default(x, 1),
    "add.Tensor": lambda: aten.add.Tensor(x, 2),
    "to.dtype_layout": lambda: x.to("cpu"),
    "to.device": lambda: aten.to.device(x, "cpu", tl.float64),
}


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, zero):
        return self.function() + zero


@pytest.mark.parametrize("name", CASES)
def test_names(name):
    zero = tl.zeros(3, dtype=CASES[name]().dtype if CASES[name]().dtype != tl.bool else tl.int64)
    module = Calls(CASES[name])
    program = export(module, (zero,))
    nodes = program_as_json(program)["graph_module"]["graph"]["nodes"]
    assert f"torch.ops.aten.{name}" in [node["target"] for node in nodes]
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    assert load(file).module()(zero).equal(module(zero))


def test_cosine_similarity():
    a, b = tl.randn(3, 4), tl.randn(3, 4)
    program = export(nn.CosineSimilarity(), (a, b)).run_decompositions()
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    assert load(file).module()(a, b).equal(program.module()(a, b))


@pytest.mark.parametrize(
    "name", ["add.Scalar", "sub_.Scalar", "mul.Scalar", "div.Scalar_mode", "floor_divide.Scalar"]
)
def test_overloads_for_numbers_are_read(name):
    assert function_named(f"torch.ops.aten.{name}").overloadpacket.__name__ == name.partition(".")[0]


def test_a_move_without_a_type_has_keywords():
    program = export(Calls(lambda: x.to("cpu", copy=True)), (x,))
    (node,) = [
        n
        for n in program_as_json(program)["graph_module"]["graph"]["nodes"]
        if n["target"].startswith("torch.ops.aten.to.")
    ]
    assert [(i["name"], i["kind"]) for i in node["inputs"]][:2] == [("self", 1), ("device", 2)]
