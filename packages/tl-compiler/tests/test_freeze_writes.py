"""`torch.jit.freeze`: a buffer that a program writes, by any name or view, stays a buffer and changes as before."""

import importlib

import pytest

import tl_core as tl
from tl_compiler import jit

VIEWS = (
    "view(4)", "t()", "T", "reshape(4)", "flatten()", "narrow(0, 0, 1)", "select(0, 0)", "split(1)[0]", "chunk(2)[1]",
    "unbind()[0]", "transpose(0, 1)", "permute(1, 0)", "expand(2, 2)", "detach()", "squeeze()", "unsqueeze(0)",
    "diagonal()", "contiguous()", "to(x.dtype)", "float()", "type_as(x)", "cpu()", "view_as(x)", "expand_as(x)",
    "mT", "movedim(0, 1)", "swapaxes(0, 1)", "ravel()", "as_strided([2], [1])", "unfold(0, 1, 1)",
    "split_with_sizes([1, 1])[1]", "tensor_split(2)[0]", "reshape_as(x)", "swapdims(0, 1)", "mH", "H", "real", "data",
)  # fmt: skip
WRITES = {
    "a method": "self.w.add_(1)",
    "an element": "self.w[0] = self.w[0] + 1",
    "an operator in place": "self.w += 1",
    "another name": "v = self.w\nv.add_(1)",
    "one of two names": "u, v = x, self.w\nv.add_(1)",
    "the variable of a loop": "for v in [self.w, x]:\n    v.add_(1)",
    "a list": "values = [x, self.w]\nvalues[1].add_(1)",
    "the end of a list": "values = [x]\nvalues.append(self.w)\nvalues[1].add_(1)",
    "a dictionary": "table = {'w': self.w}\ntable['w'].add_(1)",
    "an entry": "table = {'x': x}\ntable['w'] = self.w\ntable['w'].add_(1)",
    "a tuple": "pair = (self.w, x)\npair[0].add_(1)",
    "a branch": "v = x\nif bool(x.sum() > 0):\n    v = self.w\nv.add_(1)",
    "the other branch": "if bool(x.sum() > 0):\n    v = x\nelse:\n    v = self.w\nv.add_(1)",
    "a choice": "v = self.w if bool(x.sum() > 0) else x\nv.add_(1)",
    "a function": "bump(self.w)",
    "the result of a function": "same(self.w).add_(1)",
    "a method of the module": "self.bump(self.w)",
    "a method of a part": "self.part(self.w)",
    "an object": "box = Box(self.w)\nbox.value.add_(1)",
    "an attribute of an object": "box = Box(x)\nbox.value = self.w\nbox.value.add_(1)",
    "a result in place": "torch.add(x, x, out=self.w)",
    "running statistics": "torch.batch_norm(x, None, None, self.w[0], self.w[1], True, 0.5, 1e-5, False)",
    "an attribute": "self.w = self.w + x",
    **{f"view {view}": f"self.w.{view}.add_(1)" for view in VIEWS},
}
READS = {
    "a copy": "v = self.w.clone()\nv.add_(1)",
    "an operator": "v = self.w + 1\nv.mul_(2)",
    "a list of others": "values = [x.clone(), self.w]\nvalues = [x.clone()]\nvalues[0].add_(1)",
    "statistics of evaluation": "torch.batch_norm(x, None, None, self.w[0], self.w[1], False, 0.5, 1e-5, False)",
    "another buffer": "self.other.add_(1)",
}
INPUTS = (2.0, -3.0, 5.0)
HEAD = """
import tl_core as torch
import tl_nn as nn
from tl_compiler import jit
from tl_core import Tensor

@jit.script
class Box:
    def __init__(self, value: Tensor):
        self.value = value

def bump(v: Tensor):
    v.add_(1)

def same(v: Tensor):
    return v

class Part(nn.Module):
    def forward(self, v: Tensor):
        return v.add_(1)

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.register_buffer("w", torch.ones(2, 2))
        self.register_buffer("other", torch.zeros(2, 2))

    def bump(self, v: Tensor):
        v.add_(1)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The module with a class for each program."""
    folder = tmp_path_factory.mktemp("programs")
    text = HEAD
    for number, body in enumerate([*WRITES.values(), *READS.values()]):
        lines = "".join(f"        {line}\n" for line in body.splitlines())
        text += (
            f"\nclass P{number}(Base):\n    def forward(self, x: Tensor):\n{lines}        return self.w * x\n"
        )
    (folder / "freeze_programs.py").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("freeze_programs")


def runs(program):
    """The results of three calls with inputs of either sign."""
    return [program(tl.full((2, 2), x)).clone().tolist() for x in INPUTS]


@pytest.mark.parametrize("name", [*WRITES, *READS])
def test_frozen_programs_write_what_the_source_writes(programs, name):
    number = [*WRITES, *READS].index(name)
    kind = getattr(programs, f"P{number}")
    with tl.no_grad():
        expected = runs(kind().eval())
        frozen = jit.freeze(jit.script(kind().eval()))
        assert runs(frozen) == expected
    assert ("w" in dict(frozen.named_buffers())) == (name in WRITES)
    factors = [[element / x for row in result for element in row] for result, x in zip(expected, INPUTS)]
    assert (factors[0] == factors[1] == factors[2] == [1] * 4) == (name in READS)
