"""The code in archives: former meanings of operators, hostile programs, damaged text. Nothing in it runs as Python."""

import contextlib
import gc
import io
import random
import weakref
import zipfile

import pytest

import tl_core
from tl_compiler import jit
from tl_compiler.script import texts

STATE = b"\x80\x02c__torch__\nM\n)\x81}b."  # an object of the class M without attributes


def archive(code, version=10, state=STATE, constants=b"\x80\x02)."):
    """An archive of a program's text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        files = {
            "data.pkl": state,
            "constants.pkl": constants,
            "version": f"{version}\n",
            "code/__torch__.py": code,
        }
        for name, data in files.items():
            target.writestr(f"m/{name}", data)
    buffer.seek(0)
    return buffer


def forward(body, arguments="x: Tensor", version=10):
    """A module whose `forward` has a body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return jit.load(
        archive(f"class M(Module):\n  def forward(self: __torch__.M, {arguments}):\n{lines}", version)
    )


# ---- former meanings
INTEGERS, REALS = tl_core.tensor([7, -7, 9]), tl_core.tensor([7.5, -7.0, 9.0])


@pytest.mark.parametrize(
    ("version", "expected"), [(3, [3, -3, 4]), (4, [3.5, -3.5, 4.5]), (10, [3.5, -3.5, 4.5])]
)
def test_division_of_integers_truncated_until_version_3(version, expected):
    for call in ("torch.div(x, 2)", "torch.div(x, torch.tensor(2))"):
        assert forward(f"return {call}", version=version)(INTEGERS).tolist() == expected
    assert forward("return torch.div(x, 2)", version=version)(REALS).tolist() == [3.75, -3.5, 4.5]
    assert forward("return torch.div(7, 2)", "", version)() == 3.5


def test_division_in_place_truncated_until_version_3():
    x = INTEGERS.clone()
    forward("return torch.div_(x, 2)", version=3)(x)
    assert x.tolist() == [3, -3, 4]
    with pytest.raises(RuntimeError, match="can't be cast"):
        forward("return torch.div_(x, 2)", version=4)(INTEGERS.clone())


@pytest.mark.parametrize(("version", "dtype"), [(4, tl_core.float32), (5, tl_core.int64)])
def test_full_was_real_until_version_4(version, dtype):
    assert forward("return torch.full([2], 3)", "", version)().dtype is dtype
    assert forward("return torch.full([2], 3, dtype=3)", "", version)().dtype is tl_core.int32


@pytest.mark.parametrize(("name", "last"), [("linspace", 7), ("logspace", 8)])
def test_ranges_had_a_hundred_steps(name, last):
    assert forward(f"return torch.{name}(0, 1)", "", last)().shape == (100,)
    assert forward(f"return torch.{name}(0, 1, 5)", "", last)().shape == (5,)
    with pytest.raises((RuntimeError, TypeError)):
        forward(f"return torch.{name}(0, 1)", "", last + 1)()


def test_positional_arguments_of_older_archives():
    result = forward("return torch.zeros([2], 4, 0, torch.device('cpu'), False)", "")()
    assert result.tolist() == [0, 0] and result.dtype is tl_core.int64


def test_newer_archives_are_refused():
    with pytest.raises(RuntimeError, match="version 11, but the maximum supported version for reading is 10"):
        forward("return x", version=11)


# ---- operators
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("torch.add(1, 2)", 3),
        ("torch.add([1], [2])", [1, 2]),
        ("torch.mul('ab', 2)", "abab"),
        ("torch.floordiv(-7, 2)", -4),
        ("torch.div(1, 0)", float("inf")),
        ("torch.pow(2, 3)", 8.0),
        ("torch.__not__(True)", False),
        ("torch.eq([1, 2], [1, 2])", True),
        ("torch.__contains__([1, 2], 3)", False),
        ("torch.len({'a': 1})", 1),
        ("torch.keys({'a': 1, 'b': 2})", ["a", "b"]),
        ("torch.format('{}, {}', 1., [True, None])", "1., [True, None]"),
        ("torch.percentFormat('%s%% of %d', ('3', 4))", "3% of 4"),
        ("torch.split('a,b', ',')", ["a", "b"]),
        ("torch.upper('aB')", "AB"),
        ("torch.slice([1, 2, 3], 1)", [2, 3]),
        ("torch.index(['a', 'b'], 'b')", 1),
        ("torch.sorted([3, 1, 2])", [1, 2, 3]),
        ("ops.prim.min([3, 1, 2])", 1),
        ("ops.prim.max(3, 4)", 4),
        ("int(torch.tensor(3.7))", 3),
        ("annotate(number, torch.tensor(2))", 2),
        ("ops.prim.dtype(torch.zeros([1], dtype=5))", 5),
        ("torch.size(torch.zeros([2, 3]))", [2, 3]),
        ("torch.size(torch.zeros([2, 3]), 1)", 3),
        ("isinstance(annotate(Optional[int], None), int)", False),
        ("isinstance([1, 2], List[int])", True),
        ("(1, 'a')[1]", "a"),
        ("{'a': [1, 2]}['a'][0]", 1),
        ("-inf", float("-inf")),
        ("1 if torch.gt(2, 1) else 2", 1),
    ],
)
def test_operators_on_values(expression, expected):
    result = forward(f"return {expression}", "")()
    assert result == expected and type(result) is type(expected)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1."), (0.1, "0.10000000000000001"), (1e20, "1e+20"), (123456789.125, "123456789.125"),
        (float("inf"), "inf"), (1 + 2j, "1.+2.j"), ([1.0, "a"], "[1., a]"), ({"a": 1}, "{a: 1}"), ((1,), "(1,)"),
        (True, "True"), (None, "None"),
    ],
)  # fmt: skip
def test_values_are_printed_as_pytorch_prints_them(value, text, capsys):
    texts.print_values(value, 3)
    assert texts.text_of(value) == text and capsys.readouterr().out == f"{text} 3\n"


@pytest.mark.parametrize("template", ["%", "%x", "%s", "%s %s %s"])
def test_formats_that_fit_no_values(template):
    with pytest.raises(RuntimeError):
        texts.format_percent(template, (1, 2))


def test_an_absent_operator_raises_when_it_is_called():
    model = forward("if torch.gt(torch.dim(x), 1):\n  return torch.nonsense(x)\nreturn x")
    assert model(tl_core.ones(2)).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Unknown builtin op: aten::nonsense"):
        model(tl_core.ones(2, 2))
    with pytest.raises(RuntimeError, match="Unknown builtin op: mine::op"):
        forward("return ops.mine.op(x)")(tl_core.ones(1))


# ---- hostile programs
@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "from os import path",
        "return (lambda: 1)()",
        "return [v for v in x]",
        "return f'{x}'",
        "return x.__class__",
        "return getattr(x, '__class__')",
        "return x.data_ptr",
        "return x.numpy()",
        "return x.register_hook(x)",
        "return self.__init__",
        "return self._parameters",
        "return self.register_buffer('a', x)",
        "return self.forward.__globals__",
        "return eval('1')",
        "return open('/etc/passwd')",
        "return __import__('os')",
        "return globals()",
        "return type(x)",
        "return __tl_1",
        "return torch.format.__globals__",
        "return torch.ops",
        "return ops.prim",
        "return __torch__.absent",
        "return __torch__.M.__new__(__torch__.M)",
        "return CONSTANTS.c0",
        "x.data = x\nreturn x",
        "self.training = True",
        "setattr(self, 'training', True)",
        "global y\nreturn x",
        "del x",
        "raise x",
        "try:\n  pass\nexcept Exception:\n  pass",
        "with x:\n  pass",
        "assert x",
        "yield x",
        "return x @ x",
        "return x + x",
        "return (y := x)",
        "return [*x]",
        "return torch.add(*x)",
        "return torch.add(**x)",
        "return b'bytes'",
        "class A:\n  pass",
        "@x\ndef f():\n  pass",
        "while True:\n  pass\nelse:\n  pass",
        "return self.forward(x)",
        "return ops.python.stays_0(x)",
        "break",
        "continue\nreturn x",
    ],
)
def test_hostile_code_is_refused(body):
    with pytest.raises(RuntimeError):
        forward(body)(tl_core.ones(2))


@pytest.mark.parametrize("template", ["{0.__class__}", "{x}", "{!r}", "{:>10}"])
def test_formats_read_no_attributes(template):
    assert forward(f"return torch.format('{template}', x)")(tl_core.ones(1)) == template


@pytest.mark.parametrize(
    "declaration",
    [
        "class M(Module):\n  __class__ : Tensor",
        "class M(Module):\n  forward : Tensor",
        "class M(Module):\n  _modules : Tensor",
        "class M(Module):\n  state_dict : Tensor",
        'class M(Module):\n  __annotations__["register_buffer"] = Tensor',
        "class M(Module):\n  __parameters__ = ['absent', ]",
        "class M(Exception):\n  pass",
        "class M(Module, Enum):\n  pass",
        "class M(Module):\n  x : Tensor = open('f')",
        "class N(Module):\n  pass",
        "class M(Module:\n  pass",
        "M = 1",
        "(" * 2000 + ")" * 2000,
        "class M(Interface):\n  pass",
    ],
)
def test_hostile_declarations_are_refused(declaration):
    with pytest.raises(RuntimeError):
        jit.load(archive(declaration + "\n"))


@pytest.mark.parametrize(
    "state",
    [
        b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.",
        b"\x80\x02cbuiltins\neval\nX\x01\0\0\x001\x85R.",
        b"\x80\x02c__torch__\nM\n)\x81}X\x01\0\0\0aK\x01sb.",
        b"\x80\x02c__torch__\nAbsent\n)\x81}b.",
        b"\x80\x02c__torch__.os\nsystem\n)\x81}b.",
        b"\x80\x02}.",
        b"\x80\x02K\x01.",
        b"",
    ],
)
def test_hostile_data_is_refused(state):
    with pytest.raises(RuntimeError):
        jit.load(
            archive(
                "class M(Module):\n  def forward(self: __torch__.M, x: Tensor):\n    return x\n", state=state
            )
        )


def test_methods_of_programs_hide_no_methods_of_modules():
    code = "class M(Module):\n  def state_dict(self: __torch__.M):\n    return 1\n  def forward(self: __torch__.M):\n"
    model = jit.load(archive(code + "    return (self).state_dict()\n"))
    assert model.state_dict() == {} and model() == 1


def test_recursion_is_refused():
    code = "class M(Module):\n  def forward(self: __torch__.M):\n    return __torch__.f(1)\n"
    functions = "def f(x: int):\n  return __torch__.g(x)\ndef g(x: int):\n  return __torch__.f(x)\n"
    with pytest.raises(RuntimeError, match="called recursively"):
        jit.load(archive(code + functions))()


CONTROL = """class M(Module):
  __parameters__ = []
  training : bool
  def forward(self: __torch__.M, x: Tensor, n: int) -> Tuple[Tensor, List[int]]:
    sizes = annotate(List[int], [])
    x0 = x
    for i in range(n):
      if torch.eq(torch.remainder(i, 2), 0):
        x1 = torch.relu(x0)
      else:
        x1 = torch.mul(torch.slice(x0, 0, 0, 2), 2)
      _0 = torch.append(sizes, torch.size(x1, 0))
      x0 = x1
    return (x0, sizes)
"""


# Recorded from PyTorch 2.13, for the text "xabyab". An end of -1 is the end of the text.
@pytest.mark.parametrize(
    ("bounds", "find", "rfind", "empty", "last_empty", "count", "starts", "ends"),
    [
        ("", 1, 4, 0, 6, 2, False, True),
        (", 1", 1, 4, 1, 6, 2, True, True),
        (", -2", 4, 4, 4, 6, 1, True, True),
        (", -9", 1, 4, 0, 6, 2, False, True),
        (", 0, -1", 1, 4, 0, 6, 2, False, True),
        (", 0, -2", 1, 1, 0, 5, 2, False, False),
        (", 1, 3", 1, 1, 1, 3, 1, True, True),
        (", -3, -1", 4, 4, 3, 6, 1, False, True),
        (", -9, -8", -1, -1, 0, 0, 0, False, False),
        (", 4, 2", -1, -1, 4, 4, 0, True, True),
        (", 0, -9", -1, -1, 0, 0, 0, False, False),
    ],
)
def test_bounds_of_searches_in_texts(bounds, find, rfind, empty, last_empty, count, starts, ends):
    calls = {"find": find, "rfind": rfind, "count": count, "startswith": starts, "endswith": ends}
    for name, expected in calls.items():
        assert forward(f"return torch.{name}(x, 'ab'{bounds})", "x: str")("xabyab") == expected, name
    for name, expected in {"find": empty, "rfind": last_empty}.items():
        assert forward(f"return torch.{name}(x, ''{bounds})", "x: str")("xabyab") == expected, name
    for name, expected in {"index": find, "rindex": rfind}.items():
        call = forward(f"return torch.{name}(x, 'ab'{bounds})", "x: str")
        if expected >= 0:
            assert call("xabyab") == expected
        else:
            with pytest.raises(RuntimeError, match="ValueError: substring not found"):
                call("xabyab")


def test_values_that_a_list_lacks():
    with pytest.raises(RuntimeError, match=r"list\.remove\(x\): x not in list"):
        forward("_0 = torch.remove(x, 9)\nreturn x", "x: List[int]")([1, 2])
    with pytest.raises(RuntimeError, match="'9' is not in list"):
        forward("return torch.index(x, 9)", "x: List[int]")([1, 2])
    assert forward("_0 = torch.remove(x, 1)\nreturn x", "x: List[int]")([1, 2, 1]) == [2, 1]


def test_an_archive_is_freed_with_its_module():
    module = forward("return torch.relu(x)")
    module(tl_core.ones(2))
    program, kind = weakref.ref(type(module)._program), weakref.ref(type(module))
    del module
    gc.collect()
    assert program() is None and kind() is None


@pytest.mark.parametrize("seed", range(300))
def test_damaged_code_raises_or_runs(seed):
    draw = random.Random(seed)
    pieces = [
        "__class__",
        "(",
        ")",
        "self",
        "x0",
        "torch.",
        "ops.",
        ".",
        ":",
        "1",
        "'a'",
        ",",
        "[",
        "n",
        "\n",
        "  ",
        "-",
    ]
    text = CONTROL
    for _ in range(draw.randint(1, 3)):
        start = draw.randrange(len(text))
        text = text[:start] + draw.choice(pieces) + text[start + draw.randint(0, 6) :]
    errors = (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError, UnboundLocalError)
    with contextlib.suppress(*errors):  # of types and names, which the program makes in a call
        jit.load(archive(text, state=STATE))(tl_core.ones(4), 3)


def test_errors_of_code_open_no_file(tmp_path, monkeypatch):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "__torch__.py").write_text("a line of the reader's file\n" * 9)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match="'break' outside loop") as caught:
        forward("break\nreturn x")(tl_core.ones(1))
    assert not caught.value.__cause__.text
