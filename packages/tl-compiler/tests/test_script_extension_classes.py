"""Scripts that use objects of classes of extensions, `torch::class_`, and archives with such objects."""

import io
import zipfile

import pytest
from test_archive_code import archive

import tl_core
import tl_nn
from tl_compiler import jit
from tl_core.extensions import custom_classes

NAME = "__torch__.torch.classes.script_tests.Stack"


class Items:
    """What C++ has in the place of the object."""

    def __init__(self, words, limit=3):
        self.words, self.limit = list(words), limit


def wrap(words):
    return Stack._wrap(Items(words))


def push(self, word):
    if not isinstance(word, str):
        raise TypeError(f"expected str, got {type(word).__name__}")
    self._object.words.append(word)


# As the header for C++ registers it, with functions of Python in the place of those of C++.
Stack = custom_classes.define("script_tests", "Stack", "")
for kind, name, function, names, defaults, schema in [
    ("method", "__init__", wrap, ["words"], {}, f"(str[] _0) -> {NAME}"),
    ("method", "push", push, [], {}, f"({NAME} _0, str _1) -> ()"),
    ("method", "size", lambda s: len(s._object.words), [], {}, f"({NAME} _0) -> int"),
    ("method", "__len__", lambda s: len(s._object.words), [], {}, f"({NAME} _0) -> int"),
    ("method", "twice", lambda s: wrap(s._object.words * 2), [], {}, f"({NAME} _0) -> {NAME}"),
    (
        "method",
        "scaled",
        lambda s, x, d, a: (x * a * len(s._object.words), len(d)),
        ["x", "d", "alpha"],
        {"alpha": 0.5},
        f"({NAME} _0, Tensor _1, Dict(str, (int, float)) _2, float _3) -> (Tensor, int)",
    ),
    ("static", "empty", lambda: wrap([]), [], {}, f"() -> {NAME}"),
    ("getter", "limit", lambda s: s._object.limit, [], {}, f"({NAME} _0) -> int"),
    ("setter", "limit", lambda s, v: setattr(s._object, "limit", v), [], {}, f"({NAME} _0, int _1) -> ()"),
    ("method", "__getstate__", lambda s: list(s._object.words), [], {}, f"({NAME} _0) -> str[]"),
    ("method", "__setstate__", wrap, [], {}, f"(str[] _0) -> {NAME}"),
    ("method", "nameless", lambda s: 1, [], {}, ""),
]:
    Stack._add(kind, name, "", function, names, defaults, schema)


def test_methods():
    def program(words: list[str], x: tl_core.Tensor):
        stack = Stack(words)
        stack.push("q")
        scaled, count = stack.twice().scaled(x, {"a": (1, 2.5)})
        other = stack.scaled(x, d={"a": (1, 2.0)}, alpha=2.0)[0]
        return scaled + other, count, len(stack), Stack.empty().size(), stack.size() > 2

    script = jit.script(program)
    result = script(["a", "b"], tl_core.ones(2))
    assert result[0].tolist() == [9.0, 9.0] and result[1:] == (1, 3, 0, True)
    assert f"= {NAME}.__new__({NAME})" in script.code and f"= {NAME}.empty\n" in script.code
    # The schema's default is part of the code, which runs where the class has no such default.
    assert "0.5)" in script.code


def test_attributes():
    def program(stack: Stack):
        before = stack.limit
        stack.limit = before + 4
        return before, stack.limit

    script = jit.script(program)
    stack = Stack(["a"])
    assert script(stack) == (3, 7) and stack.limit == 7
    assert "limit_getter()" in script.code and "limit_setter(" in script.code


def test_types_of_arguments():
    def total(stacks: list[Stack], last: Stack | None):
        count = 0
        for stack in stacks:
            count += stack.size()
        if last is not None:
            count += last.size()
        return count

    script = jit.script(total)
    assert script([Stack(["a"]), Stack(["b", "c"])], None) == 3
    assert script([], Stack(["a"])) == 1
    with pytest.raises(RuntimeError, match=f"Expected a value of type 'Optional\\[{NAME}\\]'"):
        script([], 3)


def test_wrong_programs():
    def wrong_type(stack: Stack):
        stack.push(3)

    def absent(stack: Stack):
        return stack.absent()

    def nameless(stack: Stack):
        return stack.nameless()

    def read_only(stack: Stack):
        stack.size = 3

    with pytest.raises(
        RuntimeError, match="Expected a value of type 'str' for argument '_1' but instead found"
    ):
        jit.script(wrong_type)
    for program in (absent, nameless):
        with pytest.raises(RuntimeError, match=f"'{NAME}' object has no attribute or method"):
            jit.script(program)
    with pytest.raises(RuntimeError, match="nonexistent attribute: size"):
        jit.script(read_only)


def test_modules_hold_objects():
    class Holder(tl_nn.Module):
        def __init__(self):
            super().__init__()
            self.stack = Stack(["x", "y"])

        def forward(self, x, other: Stack):
            self.stack.push("z")
            return x + self.stack.size() + other.size() + self.stack.limit, self.stack

    file = io.BytesIO()
    jit.script(Holder()).save(file)
    file.seek(0)
    loaded = jit.load(file)
    result, stack = loaded(tl_core.zeros(1), Stack(["a"]))
    assert result.tolist() == [7.0] and isinstance(stack, Stack) and stack.size() == 3
    with pytest.raises(RuntimeError, match=f"Expected a value of type '{NAME}' for argument 'other'"):
        loaded(tl_core.zeros(1), 3)
    with zipfile.ZipFile(file) as archive:
        assert not any("torch/classes" in name for name in archive.namelist())  # the class is the extension's


# As PyTorch 2.13 writes the program.
CODE = f"""class M(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.M,
    y: Tensor,
    s: {NAME}) -> Tuple[Tensor, {NAME}]:
    _0 = ["1"]
    q = {NAME}.__new__({NAME})
    _1 = (q).__init__(_0, )
    _2 = {NAME}.empty
    _3 = (_2()).size()
    _4 = (q).limit_setter(9, )
    _5 = torch.add(torch.add(y, (q).size()), (s).size())
    _6 = (torch.add(_5, (q).limit_getter()), q)
    return _6
"""


def test_archives_of_pytorch():
    result, stack = jit.load(archive(CODE))(tl_core.zeros(1), Stack(["a", "b"]))
    assert result.tolist() == [12.0] and stack.size() == 1
    for call, words in (
        ("s.absent()", "Method 'absent' is not defined by the class 'Stack'"),
        ("s._object", "not allowed|no attribute"),
        ("s.__class__", "not allowed"),
        ("__torch__.torch.classes.script_tests.Absent.f()", "'script_tests.Absent', but it does not exist"),
    ):
        text = f"class M(Module):\n  def forward(self: __torch__.M, s: {NAME}):\n    return {call}\n"
        with pytest.raises(RuntimeError, match=words):
            jit.load(archive(text))(Stack([]))
