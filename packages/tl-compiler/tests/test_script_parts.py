"""The parts that read, run and write programs of TorchScript, against Python's own syntax, pickle and arithmetic."""

import ast
import io
import math
import pickle
import threading
import zipfile

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.script import classes, dtype_codes, linking, operators, types, upgraders, values
from tl_compiler.script.archive import Archive
from tl_compiler.script.attributes import Attributes
from tl_compiler.script.freezing import freeze_module, operator_names
from tl_compiler.script.graph_text import Graph, GraphNode
from tl_compiler.script.loading import read_program
from tl_compiler.script.pickling import ObjectPickler
from tl_compiler.script.printing import constant_text, definition_text, expression_text, text_literal
from tl_compiler.script.program import Program
from tl_compiler.script.script_module import container_methods
from tl_compiler.script.sources import Sources, fresh_name, program_name
from tl_compiler.script.syntax import dotted_name, literal
from tl_compiler.script.texts import format_text
from tl_compiler.script.tracing_state import current_trace, record_in
from tl_compiler.script.types import Type, conforms, parse_type, type_of
from tl_compiler.script.unpickling import read_constants, read_object
from tl_compiler.script.writing import write_program


def tree(text):
    return ast.parse(text, mode="eval").body


def program_of(**definitions):
    """A program with definitions below `__torch__`."""
    program = Program(Sources())
    for name, text in definitions.items():
        program.archive.add(f"__torch__.{name}", text)
    return program


# ---- types


@pytest.mark.parametrize(
    "text",
    ["int", "List[int]", "Dict[str, Optional[__torch__.Net]]", "Tuple[int, Tensor]", "Union[int, str]"],
)
def test_the_text_of_a_type_is_read_again(text):
    assert str(parse_type(text)) == text
    assert type_of(tree(text)) == parse_type(text)


def test_annotations_state_types():
    assert type_of(None) == Type("Tensor") and type_of(tree("None")) == Type("NoneType")
    assert type_of(tree("(int, str)")) == Type("Tuple", (Type("int"), Type("str")))
    for text in ("1 + 2", "List[int", "f()", "\0"):
        with pytest.raises(RuntimeError, match="states no type"):
            parse_type(text)


def test_elements_of_types():
    pair = parse_type("Optional[Tuple[int, Tensor]]")
    assert [str(pair.element(i)) for i in (0, 1, -1, -2)] == ["int", "Tensor", "Tensor", "int"]
    assert pair.element(2) is pair.element(-3) is pair.element(None) is None
    assert parse_type("Future[int]").element(None) == parse_type("List[int]").element(5) == Type("int")
    assert (
        parse_type("Dict[str, bool]").element(None) == Type("bool") and parse_type("int").element(0) is None
    )


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (1, "int", True), (True, "int", False), (True, "bool", True), (1.0, "int", False), (1, "float", False),
        (True, "Any", True), (None, "Optional[int]", True), ("a", "Optional[int]", False), (2, "number", True),
        ("a", "Union[int, str]", True), (b"", "Union[int, str]", False), ([1, 2], "List[int]", True),
        ([1, "a"], "List[int]", False), ({"a": 1}, "Dict[str, int]", True), ({1: 1}, "Dict[str, int]", False),
        ({"a": "b"}, "Dict[str, int]", False), ((1, "a"), "Tuple[int, str]", True), ((1,), "Tuple[int, str]", False),
        ((1, 2), "Tuple[int, str]", False), (1, "__torch__.Net", False), ([True], "List[int]", False),
    ],
)  # fmt: skip
def test_values_of_types(value, text, expected):
    assert conforms(value, parse_type(text), {}) is expected


def test_values_of_the_classes_of_a_program():
    class Net:
        pass

    assert conforms(Net(), types.Type("__torch__.Net"), {"__torch__.Net": Net})
    assert not conforms(3, types.Type("__torch__.Net"), {"__torch__.Net": Net})


# ---- numbers and element types


def test_values_become_numbers():
    three = tl.tensor(3)
    assert values.number_of(three) == 3 and values.number_of("a") == "a"
    assert [values.to_int(v) for v in (three, 2.9, "7")] == [3, 2, 7]
    assert values.to_float(three) == 3.0 and type(values.to_float(three)) is float
    assert values.to_complex(1, tl.tensor(2.0)) == 1 + 2j and values.to_complex(tl.tensor(1j)) == 1j
    assert values.to_bool(tl.tensor([2])) is True and values.to_bool(0.0) is False
    with pytest.raises(RuntimeError, match="2 elements"):
        values.to_int(tl.ones(2))


def test_division_of_values_rounds_as_python():
    divide, remainder = values.FUNCTIONS["floordiv"], values.FUNCTIONS["__range_length"]
    assert [divide(a, b) for a in (7, -7) for b in (2, -2)] == [a // b for a in (7, -7) for b in (2, -2)]
    assert math.isnan(divide(1.0, 0.0)) and divide(-7.5, 2) == -4.0
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert [remainder(0, n, 3) for n in range(-1, 8)] == [len(range(0, n, 3)) for n in range(-1, 8)]


def test_lists_and_texts_as_in_python():
    functions = values.FUNCTIONS
    numbers = [3, 1, 2, 1]
    functions["sort"](numbers, True)
    assert (
        numbers == [3, 2, 1, 1]
        and functions["count"](numbers, 1) == 2
        and functions["index"](numbers, 2) == 1
    )
    functions["remove"](numbers, 1)
    assert functions["append"](numbers, 9) is numbers == [3, 2, 1, 9]
    assert functions["slice"](numbers, 1, None, 2) == numbers[1::2] and functions["__contains__"](numbers, 9)
    words = ["bb", "a", "ccc"]
    functions["sort"](words, lambda a, b: len(a) > len(b))  # a function of two values that sorts before
    assert words == ["ccc", "bb", "a"]
    assert list(functions["partition"]("a-b", "-")) == ["a", "-", "b"]
    assert functions["split"]("a b") == ["a", "b"] and functions["zfill"]("7", 3) == "007"
    assert functions["get"]({"a": 1}, "b", 5) == 5 and functions["items"]({"a": 1}) == [("a", 1)]
    with pytest.raises(RuntimeError, match="null optional"):
        functions["_unwrap_optional"](None)


# The numbers of element types that archives of PyTorch have.
CODES = {"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
         "complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15, "float8_e5m2": 23,
         "float8_e4m3fn": 24, "uint16": 27, "uint32": 28, "uint64": 29}  # fmt: skip


def test_numbers_of_element_types_and_layouts():
    for name, code in CODES.items():
        assert (
            dtype_codes.dtype_of(code) is getattr(tl, name) and dtype_codes.code_of(getattr(tl, name)) == code
        )
    layouts = {
        0: "strided",
        1: "sparse_coo",
        2: "sparse_csr",
        4: "sparse_csc",
        5: "sparse_bsr",
        6: "sparse_bsc",
    }
    for code, name in layouts.items():
        layout = getattr(tl, name)
        assert dtype_codes.layout_of(code) is layout and dtype_codes.code_of(layout) == code
    formats = [tl.contiguous_format, tl.preserve_format, tl.channels_last, tl.channels_last_3d]
    assert [dtype_codes.memory_format_of(i) for i in range(4)] == formats
    assert [dtype_codes.code_of(f) for f in formats] == [0, 1, 2, 3]
    for read, word in ((dtype_codes.dtype_of, "element type"), (dtype_codes.layout_of, "layout"),
                       (dtype_codes.memory_format_of, "memory format")):  # fmt: skip
        assert read(None) is None and read(True) is True
        with pytest.raises(RuntimeError, match=f"99 is the number of no {word}"):
            read(99)


# ---- texts


@pytest.mark.parametrize(
    "value", [1.0, -0.5, 1e300, 3, True, None, 'a"b\\\n\t\r', "\x00\x7f", (1,), (1, 2.0), [1.5, "é"], 2j]
)
def test_the_text_of_a_constant_is_read_again(value):
    assert ast.literal_eval(constant_text(value)) == value


def test_texts_of_numbers_without_a_literal():
    assert [constant_text(v) for v in (math.inf, -math.inf, math.nan, 1.0, 1e20)] == [
        "inf", "-inf", "nan", "1.", "1e+20"
    ]  # fmt: skip
    assert constant_text(1 + 2j) == "torch.complex(1., 2.)"
    assert text_literal("\x01") == '"\\001"' and text_literal("é") == '"é"'


@pytest.mark.parametrize(
    "text",
    ["f(x, n=2)", "a.b.c", "x[1:2, ::3]", "[1, a]", "(a,)", "{'a': b, 'c': 1}", "not a", "-a", "(a if b else c)",
     "f(x).weight", "x[0].y", "()", "[]"],
)  # fmt: skip
def test_the_text_of_an_expression_is_read_again(text):
    assert ast.dump(tree(expression_text(tree(text)))) == ast.dump(tree(text))


def test_expressions_that_no_archive_has():
    for text in ("a + b", "lambda: 0", "[a for a in b]", "f'{a}'", "a < b"):
        with pytest.raises(TypeError, match="an archive's code has no"):
            expression_text(tree(text))
    with pytest.raises(TypeError, match="no Try"):
        definition_text(ast.parse("def f(x):\n  try:\n    pass\n  finally:\n    pass").body[0])


DEFINITION = """\
def f(x: Tensor,
    n: int=2,
    flags: List[bool]=[True]) -> Tuple[Tensor, int]:
  total : int = 0
  a, b,  = g(x)
  for i in [1, 2]:
    if torch.gt(i, n):
      continue
    else:
      total = torch.add(total, i)
  while torch.lt(total, 3):
    break
  h(x)
  pass
  return (x, total)
"""


def test_the_text_of_a_definition_is_read_again():
    node = ast.parse(DEFINITION).body[0]
    assert definition_text(node) == DEFINITION
    holder = "class A(Module):\n  x : int\n" + "".join(f"  {line}\n" for line in DEFINITION.splitlines())
    assert definition_text(ast.parse(holder).body[0]) == holder


def test_names_in_expressions():
    assert dotted_name(tree("torch.nn.functional")) == "torch.nn.functional" and dotted_name(tree("x")) == "x"
    assert dotted_name(tree("f().x")) is dotted_name(tree("1")) is None
    assert literal(tree("'a'")) == "a"
    for node in (tree("1"), tree("a"), None):
        with pytest.raises(RuntimeError, match="expected a constant text"):
            literal(node)


def test_gaps_in_templates():
    assert format_text("{}-{}", 1, "a", "unused") == "1-a" and format_text("{0} {}", True) == "{0} True"
    with pytest.raises(RuntimeError, match="Too few arguments"):
        format_text("{} {}", 1)


# ---- operators


def test_operators_of_tensors_and_numbers():
    assert operators.bind("add", 2, ())(1, 2) == 3 and operators.bind("mul", 2, ())("ab", 2) == "abab"
    assert tl.equal(operators.bind("add", 2, ())(tl.ones(2), 2), tl.full((2,), 3.0))
    zeros = operators.bind("zeros", 1, ("dtype",))([2], dtype=4)
    assert zeros.dtype is tl.int64 and zeros.shape == (2,)
    with pytest.raises(RuntimeError, match="aten::nonsense"):
        operators.bind("nonsense", 1, ())(1)
    with pytest.raises(RuntimeError, match="prim::nonsense"):
        operators.bind_prim("nonsense")(1)
    assert operators.bind_prim("min")([3, 1, 2]) == 1 and operators.bind_prim("max")(4, 9) == 9
    assert operators.bind_prim("dtype")(tl.ones(1)) == CODES["float32"]
    product = operators.bind_custom("aten", "mul", 2, ())
    assert tl.equal(product(tl.full((2,), 3.0), tl.full((2,), 2.0)), tl.full((2,), 6.0))
    with pytest.raises(RuntimeError, match="my::nonsense"):
        operators.bind_custom("my", "nonsense", 1, ())(1)


def test_former_meanings_of_operators():
    seven = tl.tensor([7, -7])
    assert upgraders.upgrade("div", 3, lambda: tl.div)(seven, 2).tolist() == [3, -3]
    assert upgraders.upgrade("div", 4, lambda: tl.div)(seven, 2).tolist() == [3.5, -3.5]
    assert upgraders.upgrade("div", 3, lambda: tl.div)(7, 2) == 3.5
    assert upgraders.upgrade("full", 4, lambda: tl.full)([1], 2).dtype is tl.float32
    assert upgraders.upgrade("full", 4, lambda: tl.full)([1], 2, dtype=tl.int64).dtype is tl.int64
    assert upgraders.upgrade("full", 5, lambda: tl.full)([1], 2).dtype is tl.int64
    assert len(upgraders.upgrade("linspace", 7, lambda: tl.linspace)(0, 1)) == 100
    assert upgraders.upgrade("mul", 1, lambda: tl.mul) is tl.mul


# ---- programs


def test_names_of_programs():
    first, second = fresh_name("__torch__.Net"), fresh_name("__torch__.Net")
    assert first != second and all(n.startswith("__torch__.___torch_mangle_") for n in (first, second))
    assert first.endswith(".Net")
    assert program_name(nn.Linear) == "__torch__.torch.nn.modules.linear.Linear"
    assert program_name(lambda: 0).endswith(".function")


def test_definitions_of_a_program():
    sources = Sources()
    text = "def f(x: Tensor) -> Tensor:\n  return torch.relu(x)\n"
    node = sources.add("__torch__.a.f", text)
    head, body = sources.text_of("__torch__.a", node)
    assert head == "  def f(x: Tensor) -> Tensor:\n" and body == "    return torch.relu(x)"
    sources.add("__torch__.a.C", "class C(Module):\n  pass\n")
    method = sources.add_method("__torch__.a.C", "def g(self, x: int) -> int:\n  return x\n")
    assert method in sources.definition("__torch__.a.C").body and list(sources.names()) == [
        "__torch__.a.f",
        "__torch__.a.C",
    ]
    assert (
        sources.definition("__torch__.b") is None and sources.file_of("__torch__.a") == "code/__torch__/a.py"
    )
    assert sources.text_of("__torch__.a", ast.parse(text).body[0]) is None


def test_definitions_move_to_another_program():
    source = program_of(
        f="def f(x: Tensor) -> Tensor:\n  return __torch__.g(x)\n",
        g="def g(x: Tensor) -> Tensor:\n  return torch.add(x, CONSTANTS.c0)\n",
    )
    source.constants = [2.5]
    target = program_of(g="def g(x: Tensor) -> Tensor:\n  return torch.neg(x)\n")
    name = linking.absorb(target, source, "__torch__.f")
    assert name == "__torch__.f" and linking.absorb(target, source, "__torch__.f") == name
    assert linking.origin_of(target, name) == (source, "__torch__.f")
    assert (
        target.function(name)(tl.ones(1)).item() == 3.5
        and target.function("__torch__.g")(tl.ones(1)).item() == -1.0
    )
    # A definition that came from a program returns to it under its own name.
    assert linking.absorb(source, target, name) == "__torch__.f"
    expression = ast.parse("def h(x: Tensor) -> Tensor:\n  return __torch__.g(x)\n")
    linking.rename_in(target, source, expression, set())
    assert "___torch_mangle_" in ast.unparse(expression)
    expression = ast.parse("__torch__.g")
    linking.rename_in(target, source, expression, {"__torch__.g"})
    assert ast.unparse(expression) == "__torch__.g"
    with pytest.raises(RuntimeError, match="Unknown type name"):
        linking.absorb(target, source, "__torch__.nothing")
    with pytest.raises(RuntimeError, match=r"has no __torch__\.other"):
        linking.rename_in(target, source, ast.parse("__torch__.other"), set())


CLASS = """\
class Net(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  w : Tensor
  b : Tensor
  n : Final[int] = 3
  def forward(self, x: Tensor) -> Tensor:
    return torch.mul(x, self.w)
"""


def test_declarations_of_classes():
    declaration = classes.declare("__torch__.Net", ast.parse(CLASS).body[0])
    assert isinstance(declaration, classes.Declaration) and declaration.kind == "module"
    assert (declaration.parameters, declaration.buffers) == (("w",), ("b",)) and declaration.constants == {
        "n": 3
    }
    assert list(declaration.attributes) == ["w", "b", "n"] and list(declaration.methods) == ["forward"]
    for text, message in (
        ("class A(int):\n  pass", "derives from Module"),
        ("class A(Module):\n  zero_grad : int", "may not be called 'zero_grad'"),
        ("class A:\n  __x : int", "may not be called"),
        ("class A(Module):\n  __parameters__ = ['w']", "'w' is a parameter or buffer without a type"),
        ("class A:\n  f()", "declares nothing that a class has"),
        ("class A:\n  x : int = f()", "expected a constant"),
    ):
        with pytest.raises(RuntimeError, match=message):
            classes.declare("__torch__.A", ast.parse(text).body[0])


def test_tuples_and_enumerations_of_programs():
    pair = classes.declare("__torch__.P", ast.parse("class P(NamedTuple):\n  a : int\n  b : str").body[0])
    assert classes.make_tuple(pair)(1, "x")._asdict() == {"a": 1, "b": "x"}
    color = classes.declare("__torch__.C", ast.parse("class C(Enum):\n  RED = 1\n  BLUE = 2").body[0])
    kind = classes.make_enum(color)
    assert kind(2).name == "BLUE" and [m.value for m in kind] == [1, 2]
    bad = classes.Declaration("__torch__.P", "tuple", {"_a": Type("int")})
    with pytest.raises(RuntimeError, match="cannot start with an underscore"):
        classes.make_tuple(bad)
    with pytest.raises(RuntimeError, match="mro"):
        classes.make_enum(classes.Declaration("__torch__.C", "enum", members={"mro": 1}))


def test_attributes_that_a_class_declares():
    program = program_of(
        R="class R:\n  x : int\n  def get(self) -> int:\n    return self.x\n",
        P="class P(NamedTuple):\n  a : int\n",
    )
    record = program.class_of("__torch__.R")()
    record.x, record.secret = 5, 6
    reader = Attributes(program.classes)
    assert reader.read(record, "x") == 5 and reader.method(record, "get")() == 5
    assert reader.read(program.class_of("__torch__.P")(4), "a") == 4
    for owner, name in ((record, "secret"), (record, "__class__"), (3, "real"), ((1,), "a")):
        with pytest.raises(RuntimeError, match=f"has no attribute '{name}' that the archive declares"):
            reader.read(owner, name)
    with pytest.raises(RuntimeError, match="has no method 'append'"):
        reader.method([], "append")


def test_nodes_of_a_graph():
    program = program_of(f=DEFINITION.replace("g(x)", "torch.split(x, 1)").replace("  h(x)\n", ""))
    graph = Graph(program, program.archive.definition("__torch__.f"), None)
    kinds = [node.kind() for node in graph.nodes()]
    assert "prim::Loop" in kinds and "aten::split" in kinds and "aten::gt" not in kinds
    node = graph.findNode("aten::gt")
    assert isinstance(node, GraphNode) and node.kind() == "aten::gt" and len(node.inputs) == 2
    assert graph.findNode("aten::gt", recurse=False) is None
    assert len(list(graph.inputs())) == 3 and len(list(graph.outputs())) == 1


def test_nodes_that_draw_random_numbers():
    names = ["aten::rand_like", "aten::dropout", "aten::exp", "aten::Int", "prim::Loop"]
    answers = [GraphNode(name, [], []).isNondeterministic() for name in names]
    assert answers == [True, True, False, False, False]


def test_the_trace_of_a_thread():
    results = []
    with record_in("outer"):
        with record_in(None):
            results.append(current_trace())
        results.append(current_trace())
        thread = threading.Thread(target=lambda: results.append(current_trace()))
        thread.start()
        thread.join()
    with pytest.raises(ZeroDivisionError), record_in("failing"):
        1 / 0  # noqa: B018
    assert results == [None, "outer", None] and current_trace() is None


# ---- files


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(tl.tensor([2.0, 3.0]))
        self.register_buffer("shift", tl.tensor([1.0, -1.0]))
        self.names = ["a", "b"]

    def forward(self, x):
        return x * self.w + self.shift

    @jit.export
    def twice(self, x):
        return self.forward(self.forward(x))


def test_pickles_have_the_values():
    pickler = ObjectPickler(lambda value, owner: "__torch__.M", lambda owner, kind: kind)
    value = (1, -(2**40), 0.5, "a", None, True)
    kinds = tuple(map(Type, ["int", "int", "float", "str", "NoneType", "bool"]))
    assert pickle.loads(pickler.dump(value, None, Type("Tuple", kinds))) == value
    pickler = ObjectPickler(lambda value, owner: "__torch__.M", lambda owner, kind: kind)
    x = tl.arange(6, dtype=tl.float32)
    data = pickler.dump((x, x[2:4]), None, parse_type("Tuple[Tensor, Tensor]"))
    (storage,) = pickler.storages().values()  # two views of one storage
    assert data[:2] == b"\x80\x02" and memoryview(storage).cast("B").cast("f").tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError):
        pickler.dump(object(), None, Type("Any"))


def test_files_of_an_archive():
    buffer = io.BytesIO()
    write_program(jit.script(Scale()), buffer, {"note.txt": "hello"})
    with zipfile.ZipFile(buffer) as file:
        entries = {name.partition("/")[2] for name in file.namelist()}
    assert {"data.pkl", "constants.pkl", "version", "extra/note.txt", "data/0", "data/1"} <= entries
    archive = Archive(io.BytesIO(buffer.getvalue()))
    assert (
        archive.version <= 10 and archive.byteorder == "little" and archive.read_extra("note.txt") == b"hello"
    )
    assert archive.read_extra("none") is None and archive.file_of("__torch__.a") == "code/__torch__/a.py"
    program = Program(archive)
    archive.check()
    assert read_constants(program, None) == ()
    module = read_object(program, None)
    assert module.names == ["a", "b"] and module(tl.ones(2)).tolist() == [3.0, 2.0]
    archive.close()
    extra = {"note.txt": "", "none": "stays"}
    again = read_program(io.BytesIO(buffer.getvalue()), None, extra)
    assert extra == {"note.txt": b"hello", "none": "stays"} and again.twice(tl.ones(2)).tolist() == [7.0, 5.0]


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"a/x": b""}, "failed locating file data.pkl"),
        ({"a/data.pkl": b""}, "failed locating file constants.pkl"),
        ({"a/data.pkl": b"", "b/data.pkl": b""}, "failed locating file data.pkl"),
        ({"a/data.pkl": b"", "a/constants.pkl": b"", "a/version": b"99999"}, "states '99999' as its version"),
        ({"a/data.pkl": b"", "a/constants.pkl": b"", "a/version": b"11"}, "version 11, but the maximum"),
    ],
)
def test_files_that_are_no_archives(entries, message):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in entries.items():
            file.writestr(name, data)
    with pytest.raises(RuntimeError, match=message):
        Archive(io.BytesIO(buffer.getvalue()))


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(ValueError, match="does not exist"):
        read_program(tmp_path / "none.pt", None, {})
    with pytest.raises(ValueError, match="is a directory"):
        read_program(tmp_path, None, {})


def test_frozen_modules_have_constants():
    program = jit.script(Scale().eval())
    assert operator_names(program) == ["aten::add", "aten::mul"]
    frozen = freeze_module(program, ("twice", "names"))
    assert list(frozen.parameters()) == [] and frozen.names == ["a", "b"]
    assert frozen(tl.ones(2)).tolist() == [3.0, 2.0] and frozen.twice(tl.ones(2)).tolist() == [7.0, 5.0]
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        freeze_module(program, ("nothing",))


def test_containers_of_modules():
    assert {"__len__", "__iter__", "__getitem__"} <= container_methods("Sequential").keys()
    assert {"keys", "items", "values"} <= container_methods("ModuleDict").keys() and container_methods(
        "Linear"
    ) == {}
    program = jit.load(io.BytesIO(jit.script(nn.Sequential(nn.ReLU(), nn.Tanh())).save_to_buffer()))
    assert len(program) == 2 and [m.original_name for m in program] == ["ReLU", "Tanh"]
    assert program[-1].original_name == "Tanh"
