"""Exporting: programs agree with their modules, sizes stay symbols, files are read and refused."""

import contextlib
import copy
import io
import zipfile

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler.export import Dim, dims, export, load, save
from tl_compiler.symbolic.errors import UserError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)
        self.constant = tl.ones(3)

    def forward(self, x, *, flag=True):
        y = tl.relu(self.norm(self.a(x)))
        z = self.b(y) + self.constant
        return {"twice": tl.cat([z, z]).reshape(x.shape[0] * 2, -1), "more": [tl.zeros(x.shape[0]), 3]}


def exported(net):
    batch = Dim("batch", min=2, max=64)
    return export(net, (tl.randn(5, 4),), {"flag": False}, dynamic_shapes={"x": {0: batch}, "flag": None})


@pytest.mark.parametrize("size", [2, 7, 64])
def test_a_dynamic_batch_agrees_with_the_module(size):
    net = Net().eval()
    program = exported(net)
    x = tl.randn(size, 4)
    for module in (program.module(), through_a_file(program).module()):
        got, expected = module(x, flag=False), net(x, flag=False)
        assert tl.equal(got["twice"], expected["twice"])
        assert tuple(got["more"][0].shape) == (size,)
        assert got["more"][1] == 3


def through_a_file(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def test_training_writes_buffers_as_the_module_does():
    net = Net()
    program, twin = exported(net), copy.deepcopy(net)
    x = tl.randn(6, 4)
    module = program.module()
    module(x, flag=False)
    twin(x, flag=False)
    assert tl.equal(module.norm.running_mean, twin.norm.running_mean)
    assert module.norm.num_batches_tracked == 1


def test_operators_are_whole_and_sizes_are_symbols():
    program = exported(Net().eval())
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    assert "aten.linear.default" in names
    assert "aten.batch_norm.default" in names
    shapes = {n.name: n.meta["val"].shape for n in program.graph.nodes if hasattr(n.meta.get("val"), "shape")}
    assert str(shapes["reshape"]) == "torch.Size([2*s0, 3])"
    assert {str(k): str(v) for k, v in program.range_constraints.items()} == {"s0": "VR[2, 64]"}


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((65, 4), "to be <= 64, but got 65"),
        ((5, 3), "to be equal to 4, but got 3"),
        ((5, 4, 1), "number of dimensions"),
    ],
)
def test_inputs_are_checked(shape, said):
    module = exported(Net()).module()
    with pytest.raises(RuntimeError, match=said):
        module(tl.randn(*shape), flag=False)
    with pytest.raises(RuntimeError, match="to be equal to False, but got True"):
        module(tl.randn(5, 4), flag=True)


class Sliced(nn.Module):
    def forward(self, x, y):
        if x.shape[0] <= 5:
            x = x + 1
        return x + y[1:]


def test_what_was_promised_too_much_is_named_with_fixes():
    x, y = dims("dx", "dy")
    with pytest.raises(UserError) as error:
        export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=({0: x}, {0: y}))
    text = str(error.value)
    assert "Constraints violated (dx, dy)!" in text
    assert "  dx = Dim('dx', max=5)\n  dy = dx + 1" in text
    x = Dim("dx", max=5)
    program = export(Sliced(), (tl.ones(4), tl.ones(5)), dynamic_shapes=({0: x}, {0: x + 1}))
    assert tl.equal(program.module()(tl.ones(3), tl.ones(4)), tl.full((3,), 3.0))


def test_a_branch_on_a_value_names_the_line_and_cond():
    class Branch(nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -x

    with pytest.raises(UserError, match=r"if x\.sum\(\) > 0:(.|\n)*torch\.cond"):
        export(Branch(), (tl.ones(3),))


def test_damaged_and_forged_files_are_refused():
    file = io.BytesIO()
    save(exported(Net()), file)
    data = bytearray(file.getvalue())
    for at in range(0, len(data), 499):
        broken = bytearray(data)
        broken[at] ^= 0x5A
        with contextlib.suppress(RuntimeError):
            load(io.BytesIO(broken))
    with pytest.raises(RuntimeError, match="pt2 file"):
        load(io.BytesIO(b"nothing"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.ops.aten.relu.default", "os.system"),
        ("torch.ops.aten.relu.default", "torch.ops.aten.relu.__class__"),
        ("torch.ops.aten.relu.default", "builtins.eval"),
        ('"name": "relu"', '"name": "x); import os #"'),
        ("a.weight", 'a.weight\\")+exec(\\"'),
        ("Symbol('s0'", "__import__('os'"),
    ],
)
def test_names_in_files_are_data(old, new):
    file = io.BytesIO()
    save(exported(Net()), file)
    forged = io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(forged, "w") as target:
        for info in source.infolist():
            content = source.read(info)
            if info.filename.endswith("model.json"):
                assert old.encode() in content
                content = content.replace(old.encode(), new.encode())
            target.writestr(info.filename, content)
    forged.seek(0)
    with pytest.raises(RuntimeError):
        load(forged)
