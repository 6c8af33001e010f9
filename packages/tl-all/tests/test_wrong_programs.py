"""Wrong programs, and what the error must say so that a person can act on it: the values, the shapes, the place."""

import textwrap

import pytest

import tl
from tl import nn

# A program, the exception's class, and the parts of its message.
WRONG = [
    # ---- shapes
    ("tl.ones(2, 3) + tl.ones(4)", RuntimeError, ["size of tensor a (3)", "size of tensor b (4)", "dimension 1"]),
    ("tl.ones(2, 3) @ tl.ones(2, 3)", RuntimeError, ["cannot be multiplied (2x3 and 2x3)"]),
    ("tl.ones(2, 3).mm(tl.ones(3))", RuntimeError, ["mat2 must be a matrix"]),
    ("tl.ones(2, 3).bmm(tl.ones(2, 3, 4))", RuntimeError, ["batch1 must be a 3D tensor"]),
    ("tl.ones(2, 3).dot(tl.ones(3))", RuntimeError, ["1D tensors expected", "2D and 1D"]),
    ("tl.ones(2, 3).view(4, 2)", RuntimeError, ["shape '[4, 2]' is invalid for input of size 6"]),
    ("tl.ones(2, 3).view(-1, 4)", RuntimeError, ["[-1, 4]", "size 6"]),
    ("tl.ones(2, 3).view(-1, -1)", RuntimeError, ["only one dimension can be inferred"]),
    ("tl.ones(2, 3).t().view(6)", RuntimeError, ["not compatible", "[3, 2]", "[1, 3]", "reshape"]),
    ("tl.ones(2, 3).expand(3, 3)", RuntimeError, ["expanded size", "(3)", "existing size (2)", "dimension 0"]),
    ("tl.cat([tl.ones(2, 3), tl.ones(2, 4)])", RuntimeError, ["except in dimension 0", "3", "4", "tensor number 1"]),
    ("tl.stack([tl.ones(2), tl.ones(3)])", RuntimeError, ["equal size", "[2] at entry 0", "[3] at entry 1"]),
    ("tl.ones(2, 3).sum(2)", IndexError, ["range of [-2, 1]", "got 2"]),
    ("tl.ones(2, 3).permute(0, 0)", RuntimeError, ["duplicate dims"]),
    ("tl.ones(2, 3).permute(0)", RuntimeError, ["input.dim() = 2", "len(dims) = 1"]),
    ("tl.ones(2, 3).squeeze_(5)", IndexError, ["range of [-2, 1]", "got 5"]),
    ("tl.ones(5).split([2, 2])", RuntimeError, ["sum exactly to 5", "[2, 2]"]),
    ("tl.ones(4).hsplit(3)", RuntimeError, ["dimension 0", "4", "not divisible", "3"]),
    ("tl.ones(6).unflatten(0, (4, 2))", RuntimeError, ["[4, 2]", "dim 0 (6)"]),
    ("tl.ones(2, 3).repeat(2)", RuntimeError, ["can not be smaller"]),
    ("tl.ones(2).copy_(tl.ones(3))", RuntimeError, ["[2]", "[3]"]),
    ("tl.ones(3, 3).where(tl.ones(2, 2) > 0, tl.ones(3, 3))", RuntimeError, ["(3)", "(2)"]),
    ("tl.zeros(-1)", RuntimeError, ["negative dimension", "-1"]),
    ("tl.ones(2).as_strided((2, 2), (2, 1))", RuntimeError, ["out of bounds", "[2, 2]", "storage of size 8"]),
    # ---- positions
    ("tl.ones(4, 3)[7]", IndexError, ["index 7", "dimension 0 with size 4"]),
    ("tl.ones(4, 3)[0, 5]", IndexError, ["index 5", "dimension 1 with size 3"]),
    ("tl.ones(4, 3)[0, 0, 0]", IndexError, ["too many indices", "dimension 2"]),
    ("tl.ones(4)[tl.tensor([0, 9, 1])]", IndexError, ["index 9", "dimension 0 with size 4"]),
    ("tl.ones(4)[tl.tensor([True, False])]", IndexError, ["mask [2]", "tensor [4]"]),
    ("tl.ones(4)[0.5]", IndexError, ["float"]),
    ("tl.ones(4).gather(0, tl.tensor([0, 4]))", RuntimeError, ["index 4", "dimension 0 with size 4"]),
    ("tl.ones(4).index_select(0, tl.tensor([5]))", (IndexError, RuntimeError), ["5", "dimension 0 with size 4"]),
    ("tl.ones(4).scatter_(0, tl.tensor([6]), 1.0)", RuntimeError, ["index 6", "dimension 0 with size 4"]),
    ("tl.ones(4).narrow(0, 3, 2)", RuntimeError, ["start (3) + length (2)", "(4)"]),
    ("tl.ones(4).select(0, -5)", IndexError, ["index -5", "[4]", "dimension 0"]),
    # ---- types
    ("tl.ones(2, dtype=tl.int64).requires_grad_()", RuntimeError, ["floating point"]),
    ("tl.ones(2, dtype=tl.int64).add_(0.5)", RuntimeError, ["Float", "can't be cast", "Long"]),
    ("tl.ones(2).bitwise_and(tl.ones(2))", (RuntimeError, NotImplementedError), ["Float"]),
    ("tl.ones(2, dtype=tl.int64).mean()", RuntimeError, ["floating point or complex", "Long"]),
    ("tl.ones(2) @ tl.ones(2, dtype=tl.float64)", RuntimeError, ["Float", "Double"]),
    ("tl.tensor([1, 'a'])", (TypeError, ValueError), ["str"]),
    ("tl.tensor([[1, 2], [3]])", ValueError, ["length 2", "dim 1", "got 1"]),
    ("tl.ones('3')", TypeError, ["str"]),
    ("tl.add(tl.ones(2), None)", TypeError, ["other", "NoneType"]),
    ("tl.ones(2).sum(keepdims=1, dims=0)", TypeError, ["sum()", "keepdim"]),
    ("tl.ones(2).reshape(2.5)", TypeError, ["float"]),
    ("bool(tl.ones(2))", RuntimeError, ["Boolean value of Tensor with more than one value is ambiguous"]),
    ("tl.ones(2).item()", RuntimeError, ["2 elements", "Scalar"]),
    ("float(tl.ones(0))", ValueError, ["0 elements"]),
    ("tl.ones(2, requires_grad=True).numpy()", RuntimeError, ["requires grad", "detach()"]),
    ("tl.ones(2, device='meta').numpy()", (RuntimeError, TypeError, NotImplementedError), ["meta"]),
    ("tl.ones(2) + tl.ones(2, device='meta')", RuntimeError, ["cpu", "meta"]),
    # ---- gradients
    ("tl.ones(2, requires_grad=True).backward()", RuntimeError, ["implicitly created only for scalar outputs"]),
    ("tl.ones(()).backward()", RuntimeError, ["does not require grad", "grad_fn"]),
    ("w = tl.ones(2, requires_grad=True)\nw.add_(1)", RuntimeError, ["a leaf Variable that requires grad", "in-place"]),
    (
        "w = tl.ones(2, requires_grad=True)\ny = w.exp().sum()\ny.backward()\ny.backward()",
        RuntimeError,
        ["a second time", "retain_graph=True", "SumBackward0|ExpBackward0", "line 2"],
    ),
    (
        "w = tl.ones(2, requires_grad=True)\ny = w.exp()\ny += 1\ny.sum().backward()",
        RuntimeError,
        ["modified by an inplace", "[2]", "ExpBackward0", "version 1; expected version 0", "line 3", "line 2"],
    ),
    (
        "w = tl.ones(2, requires_grad=True)\nv = w * 1\ny = v * v\nv[0] = 5\ny.sum().backward()",
        RuntimeError,
        ["modified by an inplace operation", "MulBackward0", "line 4", "line 3"],
    ),
    (
        (
            "m = nn.Linear(3, 2)\nopt = nn.optim.SGD(m.parameters(), lr=0.1)\n"
            "loss = m(tl.ones(1, 3, requires_grad=True)).sum()\nloss.backward(retain_graph=True)\nopt.step()\n"
            "loss.backward()"
        ),
        RuntimeError,
        ["modified by an inplace operation", "line 5", "line 3"],
    ),
    (
        "x = tl.ones(2, requires_grad=True)\ntl.autograd.grad(tl.ones(2, requires_grad=True).sum(), x)",
        RuntimeError,
        ["not have been used in the graph", "allow_unused=True"],
    ),
    # ---- modules
    (
        "nn.Sequential(nn.Linear(20, 21), nn.ReLU(), nn.Linear(22, 3))(tl.ones(2, 20))",
        RuntimeError,
        ["(2x21 and 22x3)", "2: Linear(in_features=22, out_features=3", "got (2, 21)"],
    ),
    (
        (
            "class Net(nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.enc = nn.ModuleList([nn.Linear(4, 4), nn.Linear(5, 4)])\n"
            "    def forward(self, x):\n"
            "        for layer in self.enc:\n"
            "            x = layer(x)\n"
            "        return x\n"
            "nn.Sequential(Net())(tl.ones(1, 4))"
        ),
        RuntimeError,
        ["in 0.enc.1: Linear(in_features=5", "got (1, 4)"],
    ),
    ("nn.Linear(3, 2)(tl.ones(4, 3, dtype=tl.float64))", RuntimeError, ["Linear(in_features=3", "got (4, 3) float64"]),
    ("nn.Linear(3, 2)('text')", TypeError, ["str", "Linear(in_features=3", "got 'text'"]),
    ("nn.Linear(2, 2).load_state_dict({})", RuntimeError, ["Missing key(s)", "weight", "bias"]),
    ("nn.CrossEntropyLoss()(tl.ones(2, 3), tl.tensor([0, 3]))", IndexError, ["Target 3 is out", "CrossEntropyLoss()"]),
    # ---- numbers
    (
        "with tl.numerics(inf='raise'):\n    tl.tensor([1.0, 2.0]) / tl.tensor([4.0, 0.0])",
        RuntimeError,
        ["div", "inf", "position (1,)", "shape (2,)", "min 0", "max 4"],
    ),
    (
        "x = tl.zeros(2, requires_grad=True)\ny = x.sqrt().sum()\nwith tl.numerics(inf='raise'):\n    y.backward()",
        RuntimeError,
        ["made inf", "position (0,)", "SqrtBackward0", "line 2"],
    ),
    (
        (
            "class Bad(nn.Module):\n"
            "    def forward(self, x):\n"
            "        return x.log()\n"
            "m = nn.Sequential(nn.ReLU(), Bad())\n"
            "with tl.numerics(nan='raise', inf='raise'):\n"
            "    m(tl.tensor([[1.0, -1.0]]))"
        ),
        RuntimeError,
        ["log", "inf", "position (0, 1)", "in 1: Bad() got (1, 2)"],
    ),
    ("tl.numerics(nan='stop')", ValueError, ["'nan'", "'raise' or 'ignore'", "stop"]),
    # ---- others
    ("tl.arange(0, 10, -1)", RuntimeError, ["inconsistent with step sign"]),
    ("tl.device('gpu')", RuntimeError, ["gpu"]),
    ("tl.Generator().manual_seed('x')", (TypeError, RuntimeError, ValueError), ["got str"]),
    ("tl.combinations(tl.arange(1000), 500)", RuntimeError, ["500", "1000"]),
]  # fmt: skip


def test_there_are_enough():
    assert len(WRONG) >= 60


@pytest.mark.parametrize("program, error, parts", WRONG, ids=[p.split("\n")[-1][:50] for p, _, _ in WRONG])
def test_the_error_says_what_is_wrong(program, error, parts, tmp_path, monkeypatch):
    path = tmp_path / "wrong.py"
    path.write_text(textwrap.dedent(program))
    code = compile(path.read_text(), str(path), "exec")
    with pytest.raises(error) as caught:
        exec(code, {"tl": tl, "nn": nn, "__name__": "wrong"})
    text = str(caught.value)
    for part in parts:
        expected = [p.replace("line ", f"{path}:") for p in part.split("|")]
        assert any(p in text for p in expected), f"{part!r} is not in:\n{text}"
