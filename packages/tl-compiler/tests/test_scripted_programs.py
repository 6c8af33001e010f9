# ruff: noqa: UP006, UP045 - TorchScript compiles these forms
"""`torch.jit.script`: compiled programs compute what their source computes in Python, bit by bit, and are written."""

import copy
import functools
import io
import pickletools
import warnings
import zipfile
from typing import List, Optional  # noqa: UP035 - TorchScript compiles these forms

import models
import pytest
import script_programs
from script_programs import PROGRAMS, Color, Counting, Holder, Small, ramp

import tl_autograd  # noqa: F401 - gradients of compiled modules
import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.jit.frontend import NotSupportedError
from tl_core import Tensor

SCRIPTED_MODELS = ["lenet", "squeezenet", "mobilenet_v3", "unet", "vit", "gpt", "lstm", "recommender"]


def same(a, b):
    """Whether two results have the same structure and the same bits."""
    if isinstance(b, Tensor):
        return a.dtype is b.dtype and tl.equal(a, b)
    if isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in b)
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b and type(a) is type(b)


def archive_of(program):
    return io.BytesIO(program.save_to_buffer())


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compute_what_python_computes(name):
    make, arguments = PROGRAMS[name]
    source = make()
    if isinstance(source, nn.Module):
        source.eval()
    program = jit.script(source)
    expected = source(*arguments())
    assert same(program(*arguments()), expected)
    assert same(jit.load(archive_of(program))(*arguments()), expected)


@pytest.mark.parametrize("name", SCRIPTED_MODELS)
def test_models_compute_what_python_computes(name):
    make, inputs = models.MODELS[name]
    model = make().eval()
    program = jit.script(model)
    with tl.no_grad():
        for arguments in inputs():
            assert same(program(*arguments), model(*arguments))


def test_code_is_that_of_an_archive():
    def choose(x, n: int = 2):
        return x * n if n > 1 else x.relu()

    program = jit.script(choose)
    assert program.code == (
        "def choose(x: Tensor,\n    n: int=2) -> Tensor:\n"
        "  return (torch.mul(x, n) if torch.gt(n, 1) else torch.relu(x))\n"
    )
    assert isinstance(program, jit.ScriptFunction) and program.name == "choose"
    assert "aten::mul" in str(program.graph) and program.graph.findNode("aten::relu") is not None
    model = jit.script(Small())
    assert model.code == (
        "def forward(self,\n    x: Tensor) -> Tensor:\n"
        "  return (self.b).forward(__torch__.torch.nn.functional.relu((self.a).forward(x), False))\n"
    )
    assert isinstance(model, jit.RecursiveScriptModule) and isinstance(model.a, jit.ScriptModule)
    assert repr(model.a) == "RecursiveScriptModule(original_name=Linear)"


CASTS = {
    "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
    "float": "float32", "double": "float64", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip


@pytest.mark.parametrize("name", CASTS)
def test_tensors_are_converted_by_methods(name):
    program = jit.CompilationUnit(f"def convert(x: Tensor):\n    return x.{name}()\n").convert
    for x in (tl.tensor([[1.5, 2.0], [3.0, 0.0]]).t(), tl.tensor(7), tl.empty(0)):
        result = program(x)
        assert result.dtype is getattr(tl, CASTS[name]) and result.shape == x.shape
        assert tl.equal(result, x.to(getattr(tl, CASTS[name])))
    with pytest.raises(RuntimeError, match="take no arguments"):
        jit.CompilationUnit(f"def convert(x: Tensor):\n    return x.{name}(True)\n")


def test_tensors_stay_on_the_cpu():
    program = jit.CompilationUnit("def f(x: Tensor):\n    return x.cpu()\n").f
    x = tl.ones(2)
    assert program(x) is x


def test_partial_functions_are_compiled():
    def scaled(x: Tensor, k: float = 2.0) -> Tensor:
        return x * k

    def program_of(function):
        def apply(x: Tensor):
            return function(x)

        return jit.script(apply)

    x = tl.tensor([4.0, 16.0])
    for function, expected in (
        (functools.partial(tl.sqrt), [2.0, 4.0]),
        (functools.partial(tl.pow, exponent=-0.5), [0.5, 0.25]),
        (functools.partial(tl.pow, 2.0), [16.0, 65536.0]),
        (functools.partial(scaled, k=3.0), [12.0, 48.0]),
    ):
        program = program_of(function)
        assert program(x).tolist() == expected
    assert jit.load(archive_of(program))(x).tolist() == [12.0, 48.0]
    with pytest.raises(RuntimeError, match="cannot be used as a value"):
        program_of(functools.partial(tl.add, tl.ones(2)))


def test_tensors_are_shared_and_trained():
    source = Small()
    program = jit.script(source)
    assert program.a.weight is source.a.weight and program.state_dict().keys() == source.state_dict().keys()
    program(ramp(3, 8)).sum().backward()
    assert source.a.weight.grad is not None
    deep = copy.deepcopy(program)
    assert deep.a.weight is not source.a.weight and same(deep(ramp(3, 8)), source(ramp(3, 8)))


def test_exported_methods_and_containers():
    program = jit.script(Holder())
    assert (
        len(program.parts) == 3
        and list(program.table) == ["p", "q"]
        and program.parts[0].a.weight.shape == (16, 8)
    )
    assert same(program.other(ramp(2, 8)), program(ramp(2, 8), False))
    read = jit.load(archive_of(program))
    assert same(read.other(ramp(2, 8)), program.other(ramp(2, 8)))


def test_errors_of_programs():
    program = jit.script(Counting())
    with pytest.raises(jit.Error, match="x has two dimensions"):
        program(ramp(2, 2, 4), 1)
    with pytest.raises(jit.Error, match="ValueError: negative"):
        jit.script(script_programs.leaves_early)(ramp(2), -1)


class Ignoring(nn.Module):
    @jit.ignore
    def stays(self, x: Tensor) -> Tensor:
        return tl.tensor(x.tolist()) + 1

    @jit.unused
    def never(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x, flag: bool = False):
        if flag:
            return self.never(x)
        if jit.is_scripting():
            return self.stays(x)
        return x


def test_methods_that_stay_python():
    program = jit.script(Ignoring())
    assert program(tl.ones(2)).tolist() == [2, 2]
    with pytest.raises(jit.Error, match="Cannot call @unused methods"):
        program(tl.ones(2), True)
    with pytest.raises(RuntimeError, match="Could not export Python function call 'stays'"):
        program.save(io.BytesIO())


@jit.interface
class Unary(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


class Increment(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1


class Replaceable(nn.Module):
    step: Unary

    def __init__(self):
        super().__init__()
        self.step = Increment()

    def forward(self, x: Tensor) -> Tensor:
        return self.step.forward(x) * 2


def test_interfaces():
    program = jit.script(Replaceable())
    assert program(tl.ones(1)).item() == 4


def test_scripted_functions_call_each_other():
    @jit.script
    def inner(x, n: int):
        for _ in range(n):
            x = x + 1
        return x

    def outer(x):
        return inner(x, 2) * 2

    program = jit.script(outer)
    assert program(tl.zeros(1)).item() == 4
    assert jit.load(archive_of(program))(tl.zeros(1)).item() == 4


def test_enumerations_come_back_as_members():
    assert jit.script(script_programs.colors)(1) == (False, 1)

    def pick(color: Color):
        return color

    assert jit.script(pick)(Color.BLUE) is Color.BLUE


# ---- errors of the compiler
def undefined(x):
    return x + absent  # noqa: F821


def mismatch(x, flag: bool):
    if flag:
        y = 1
    else:
        y = "a"
    return y


def one_sided(x, flag: bool):
    if flag:
        y = x
    return y


def optional(x: Optional[Tensor]):
    return x + 1


def wrong_result(x) -> int:
    return x


def no_operator(x):
    return x.nonsense()


def changes_type(n: int):
    x = 1
    for _ in range(n):
        x = "a"
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (undefined, r"undefined value absent"),
        (
            mismatch,
            r"Type mismatch: y is set to type int in the true branch and type str in the false branch",
        ),
        (one_sided, r"y is not defined in the false branch"),
        (
            optional,
            r"Expected a value of type 'Tensor' for argument 'self' but instead found type 'Optional\[Tensor\]'",
        ),
        (wrong_result, r"Return value was annotated as having type int but is actually of type Tensor"),
        (no_operator, r"'Tensor' object has no attribute or method 'nonsense'"),
        (
            changes_type,
            r"Variable 'x' previously had type int but is now being assigned to a value of type str",
        ),
    ],
)
def test_errors_point_into_the_source(function, message):
    with pytest.raises(RuntimeError, match=message) as caught:
        jit.script(function)
    text = str(caught.value)
    assert "~ <--- HERE" in text and f'File "{__file__}", line ' in text


def test_syntax_that_programs_lack():
    def tries(x):
        try:
            return x
        except ValueError:
            return x

    def yields(x):
        yield x

    for function in (tries, yields):
        with pytest.raises(NotSupportedError, match="aren't supported"):
            jit.script(function)
    with pytest.raises(RuntimeError, match=r"cannot be compiled since it inherits from nn\.Module"):
        jit.script(Small)
    with pytest.raises(
        TypeError, match="takes a function, module, class, list or dictionary, got <class 'int'>"
    ):
        jit.script(3)


def test_compilation_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("PYTORCH_JIT", "0")
    model = Small()
    assert jit.script(model) is model


# ---- archives
OPCODES = frozenset(
    [
        "PROTO",
        "GLOBAL",
        "EMPTY_TUPLE",
        "NEWOBJ",
        "LONG_BINPUT",
        "LONG_BINGET",
        "EMPTY_DICT",
        "EMPTY_LIST",
        "MARK",
        "BINUNICODE",
        "NEWTRUE",
        "NEWFALSE",
        "NONE",
        "BININT",
        "BININT1",
        "LONG1",
        "BINFLOAT",
        "TUPLE",
        "SETITEMS",
        "APPENDS",
        "BUILD",
        "REDUCE",
        "BINPERSID",
        "STOP",
    ]
)


def test_archives_have_the_files_and_opcodes_that_pytorch_reads():
    program = jit.script(Counting())
    extra = {"notes.txt": "a note"}
    buffer = io.BytesIO()
    jit.save(program, buffer, _extra_files=extra)
    with zipfile.ZipFile(buffer) as archive:
        names = {n.partition("/")[2] for n in archive.namelist()}
        assert {"data.pkl", "constants.pkl", "version", "byteorder", "data/0", "extra/notes.txt"} <= names
        assert "code/__torch__/script_programs.py" in names and archive.read("archive/version") == b"10\n"
        for name in ("data.pkl", "constants.pkl"):
            used = {op.name for op, _, _ in pickletools.genops(archive.read(f"archive/{name}"))}
            assert used <= OPCODES
    matches = {"notes.txt": ""}
    assert jit.load(io.BytesIO(buffer.getvalue()), _extra_files=matches).counts == {"a": 1, "bc": 2}
    assert matches == {"notes.txt": b"a note"}


def test_archives_of_archives_stay_the_same(tmp_path):
    program = jit.script(Holder())
    first = jit.load(archive_of(program))
    first.save(tmp_path / "again.pt")
    again = jit.load(tmp_path / "again.pt")
    assert again.code == first.code and same(again(ramp(2, 8)), first(ramp(2, 8)))


def test_texts_survive_an_archive():
    unit = jit.CompilationUnit('def f(x: str) -> str:\n    return x + " é\\n\\t\\"\\\\ \\x01"\n')
    program = unit.f
    assert program("a") == 'a é\n\t"\\ \x01' and jit.load(archive_of(program))("a") == program("a")


def test_frozen_modules_are_constants():
    source = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3)).eval()
    x = ramp(2, 1, 4, 4)
    for program in (jit.script(source), jit.trace(source, (x,))):
        frozen = jit.freeze(program)
        assert not list(frozen.parameters()) and not list(frozen.buffers())
        # The normalization is a part of the convolution, which rounds otherwise.
        assert tl.allclose(frozen(x), source(x), rtol=1e-5, atol=1e-6)
        assert same(jit.load(archive_of(frozen))(x).detach(), frozen(x).detach())
        # parts without attributes are functions of the program
        assert not list(frozen.children()) and ".weight" not in frozen.code
        assert "aten::conv2d" in str(frozen.graph) and "prim::Call" not in str(frozen.graph)
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        jit.freeze(jit.script(source.train()))
    with pytest.raises(RuntimeError, match="Unknown name: absent"):
        jit.freeze(jit.script(source.eval()), ["absent"])


def test_functions_of_a_decorator_in_an_import(tmp_path, monkeypatch):
    (tmp_path / "deferred_functions.py").write_text(
        "from tl_compiler import jit\n\n@jit.script\ndef good(x: int):\n    return x + 1\n\n"
        "@jit.script\ndef bad(x):\n    return sum(v for v in [x])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import deferred_functions

    assert deferred_functions.good(1) == 2 and "torch.add(x, 1)" in deferred_functions.good.code
    with pytest.warns(jit.ScriptWarning, match="bad can't be compiled and runs as Python"):
        assert deferred_functions.bad(1) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NotSupportedError):
            deferred_functions.bad.code  # noqa: B018


class OlderTypes(nn.Module):
    """Annotations name classes of tensors with an element type."""

    def forward(
        self, x: tl.Tensor, tags: tl.LongTensor, mask: Optional[tl.ByteTensor] = None
    ) -> tl.FloatTensor:
        if x.shape[:2] != tags.shape:
            raise ValueError(f"got {(x.shape[0], x.shape[1])} and {(tags.shape[0], tags.shape[1])}")
        if mask is None:
            mask = tl.ones_like(tags, dtype=tl.uint8)
        return x * mask


def test_older_tensor_types():
    with pytest.warns(UserWarning, match="dtype-specific subtypes"):
        scripted = jit.script(OlderTypes())
    assert scripted(tl.ones(2, 3), tl.zeros(2, 3, dtype=tl.int64)).tolist() == [[1.0] * 3] * 2


def test_sizes_and_strides_of_dimensions():
    @jit.script
    def read(x):
        result: List[int] = []
        for d in range(x.dim()):
            result.append(x.stride(d))
            result.append(x.size(d))
        return result + x.stride() + x.size()

    assert read(tl.ones(3, 2).t()) == [1, 2, 2, 3, 1, 2, 2, 3]
    assert tl.ops.aten.stride.int(tl.ones(2, 3), 0) == 3 and tl.ops.aten.size(tl.ones(2, 3), 1) == 3
