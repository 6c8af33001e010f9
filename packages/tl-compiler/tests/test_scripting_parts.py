"""The parts that compile source to TorchScript and that write traces: types, names, signatures, attributes, texts."""

import ast
import enum
import math
import operator
import typing

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx, jit
from tl_compiler.script.sources import program_name
from tl_compiler.script.types import Type, parse_type
from tl_compiler.scripting import annotations, library_code, module_types, names, operands, operator_types
from tl_compiler.scripting.attributes import AttributeReader
from tl_compiler.scripting.classes import ClassCompiler
from tl_compiler.scripting.conditions import Conditions
from tl_compiler.scripting.function_compiler import FunctionCompiler
from tl_compiler.scripting.modules import ModuleCompiler
from tl_compiler.scripting.regions import Regions
from tl_compiler.scripting.scopes import assigned_names, exits
from tl_compiler.scripting.scripting import script_class, script_function, script_module, script_text
from tl_compiler.scripting.session import Session
from tl_compiler.scripting.signatures import signature_of
from tl_compiler.scripting.source import FunctionSource, SourceRange, source_of, source_of_text
from tl_compiler.scripting.statements import Statements
from tl_compiler.traces.building import TracedProgram, argument_names
from tl_compiler.traces.code import Methods, check_examples, member_text, type_of_example
from tl_compiler.traces.recording import Recording, ScriptCall
from tl_compiler.traces.tracing import check_program, trace_function, trace_methods
from tl_compiler.traces.values import call_text, is_number_node, number_text, value_text
from tl_core import Tensor
from tl_core.operators.packets import aten

# ---- types


class Color(enum.Enum):
    RED = 1


class Net(nn.Module):
    limit: typing.Final[int]
    words: "list[str]"
    broken: "no_such_type"  # noqa: F821

    def __init__(self):
        super().__init__()
        self.limit, self.words = 3, ["a"]
        self.layer = nn.Linear(2, 2)

    def forward(self, x: Tensor, n: int = 2) -> Tensor:
        return self.layer(x) * n + self.limit


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, "int"), (Tensor, "Tensor"), (None, "NoneType"), (typing.Any, "Any"), (list[int], "List[int]"),
        (tuple[int, str], "Tuple[int, str]"), (dict[str, Tensor], "Dict[str, Tensor]"), (int | None, "Optional[int]"),
        (jit.Future[int], "Future[int]"), (typing.Final[float], "float"), (int | str, "Union[int, str]"),
        (nn.Parameter, "Tensor"), (jit.decorations.BroadcastingList2, "List[int]"),
    ],
)  # fmt: skip
def test_types_of_annotations(annotation, text):
    assert str(annotations.type_of_annotation(annotation, annotations.ClassResolver())) == text


@pytest.mark.parametrize(
    ("annotation", "message"),
    [(tuple, r"Tuple without a contained type.*Tuple\[int\]"), (typing.Dict, r"Dict\[int, int\]"),  # noqa: UP006
     (Color, "Unknown type annotation: 'Color'"), (3, "Unknown type annotation: '3'")],
)  # fmt: skip
def test_annotations_without_a_type(annotation, message):
    with pytest.raises(annotations.UnknownType, match=message):
        annotations.type_of_annotation(annotation, annotations.ClassResolver())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "bool"), (1, "int"), (1.0, "float"), (1j, "complex"), ("a", "str"), (None, "NoneType"),
        (tl.ones(1), "Tensor"), (tl.float32, "int"), (tl.device("cpu"), "Device"), (tl.Size([1]), "List[int]"),
        ([1, 2], "List[int]"), ((1, "a"), "Tuple[int, str]"), ({"a": 1.0}, "Dict[str, float]"),
    ],
)  # fmt: skip
def test_types_of_values(value, text):
    assert str(annotations.type_of_value(value, annotations.ClassResolver())) == text


def test_values_without_a_type():
    for value, message in (
        (object(), "attribute of type object"), (len, "it is a function"), ([], "List inputs must have entries"),
        ({}, "Dictionary inputs must have entries"), ([1, "a"], "List elements differ in type: int, str"),
        ({"a": 1, "b": ""}, "Dictionary values differ in type"),
    ):  # fmt: skip
        with pytest.raises(annotations.UnknownType, match=message):
            annotations.type_of_value(value, annotations.ClassResolver())


def test_types_of_operators():
    INT, FLOAT, TENSOR = Type("int"), Type("float"), Type("Tensor")
    assert operator_types.list_of(INT) == parse_type("List[int]")
    assert operator_types.operator_exists("relu") and not operator_types.operator_exists("nonsense")
    for name, types, result in (
        ("size", [TENSOR], "List[int]"), ("size", [TENSOR, INT], "int"), ("stride", [TENSOR, INT], "int"),
        ("relu", [TENSOR], "Tensor"), ("add", [INT, INT], "int"), ("add", [INT, FLOAT], "float"),
        ("add", [TENSOR, INT], "Tensor"), ("len", [parse_type("List[int]")], "int"), ("gt", [INT, INT], "bool"),
        ("split", [Type("str"), Type("str")], "List[str]"), ("keys", [parse_type("Dict[str, int]")], "List[str]"),
    ):  # fmt: skip
        assert str(operator_types.result_of(name, types, {})) == result, name
    assert operator_types.prim_result("is_cuda", [TENSOR]) == Type("bool")
    assert operator_types.prim_result("max", [parse_type("List[float]")]) == FLOAT
    assert (
        operator_types.prim_result("max", [INT, FLOAT]) == FLOAT
        and operator_types.prim_result("abs", [INT]) == INT
    )
    assert operator_types.check_bound("relu", 1, ())


# ---- names and sources


def test_operators_of_functions():
    assert [names.operator_of(f) for f in (tl.relu, math.sqrt, print)] == ["relu", "sqrt", None]
    assert names.packet_of(aten.add.Tensor) == names.packet_of(aten.add) == ("aten", "add")
    assert names.packet_of(3) is None
    assert (
        names.tensor_method("relu")
        and not names.tensor_method("numpy")
        and not names.tensor_method("nothing")
    )
    assert names.is_module(math) and names.is_module(tl.ops.aten) and not names.is_module(nn.Linear)


BODY = """\
def f(x, n):
    for i in range(n):
        if x:
            y, z = 1, 2
        else:
            raise ValueError
    with region:
        return [a for a in x]
"""


def test_names_and_ends_of_statements():
    body = ast.parse(BODY).body[0].body
    assert sorted(assigned_names(body)) == ["a", "i", "y", "z"]
    assert [exits([statement]) for statement in body] == [False, True]
    for text, leaves in (
        ("return", True), ("x = 1", False), ("if x:\n  return", False), ("if x:\n  break\nelse:\n  continue", True),
        ("while x:\n  return", False), ("x = 1\nraise E", True),
    ):  # fmt: skip
        assert exits(ast.parse(text).body) is leaves, text


def test_signatures_of_definitions():
    node = ast.parse("def f(self, x: Tensor, n: int=2, *, y=None) -> List[int]: pass").body[0]
    signature = signature_of(node, "__torch__.f", 1)
    assert signature.name == "f" and str(signature.result) == "List[int]"
    assert [(name, str(kind)) for name, kind, _ in signature.arguments] == [("x", "Tensor"), ("n", "int")]
    assert signature.arguments[0][2] is None and signature.arguments[1][2].text == "2"


def sample(x: Tensor) -> Tensor:
    return x + offset


offset = 3


def test_the_source_of_a_function():
    source = source_of(sample)
    assert isinstance(source, FunctionSource) and source.name == "sample" and source.scope("offset") == 3
    assert source.text.startswith("def sample(") and source.first_line == sample.__code__.co_firstlineno
    with pytest.raises(KeyError):
        source.scope("nothing")
    text = str(SourceRange(source, source.node.body[0].value))
    lines = text.splitlines()
    assert lines[0] == f'  File "{__file__}", line {source.first_line + 1}'
    assert lines[-1] == "           ~~~~~~~~~~ <--- HERE" and lines[-2] == "    return x + offset"
    assert "no such thing:\n" in str(source.error(source.node, "no such thing"))
    outer = source.called_from(RuntimeError("inner"), "sample", source.node)
    assert str(outer).startswith("inner'sample' is being compiled since it was called from 'sample'\n")
    with pytest.raises(OSError, match="Can't get source"):
        source_of(len)
    with pytest.raises(RuntimeError, match="single top-level function"):
        source_of(lambda x: x)


def test_sources_of_texts():
    sources = source_of_text(
        "def a(): pass\nx = 1\ndef b(): pass\n", {"x": 1}.__getitem__, "owner", "file.py"
    )
    assert list(sources) == ["a", "b"] and sources["a"].name == "owner.a" and sources["b"].node.lineno == 3
    assert list(source_of_text("def a(): pass", {}.__getitem__, "", "f")) == ["a"]


# ---- modules


def test_annotations_and_attributes_of_classes():
    result = module_types.annotations_of(Net)
    assert result["words"] == list[str] and result["limit"] == typing.Final[int] and "broken" not in result
    assert module_types.class_attribute(Net, "forward") is Net.__dict__["forward"]
    assert module_types.class_attribute(Net, "named_parameters") is nn.Module.named_parameters
    assert module_types.class_attribute(Net, "nothing") is None


def test_modules_of_one_class_in_a_program():
    first = module_types.ModuleFacts(attributes={"n": Type("int")}, constants={"limit": 3})
    second = module_types.ModuleFacts(attributes={"n": Type("int")}, constants={"limit": 4})
    keys = [
        module_types.key_of(m, facts, {}) for m, facts in ((Net(), first), (Net(), first), (Net(), second))
    ]
    assert keys[0] == keys[1] != keys[2] and module_types.key_of(nn.ReLU(), first, {}) != keys[0]
    session = Session()
    a, b, other = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(5, 5)
    assert (
        session.module_class(a)
        == session.module_class(b)
        == session.module_class(a)
        == program_name(nn.Linear)
    )
    assert session.module_class(other) != session.module_class(a)
    for part in (ClassCompiler, ModuleCompiler, AttributeReader):
        assert isinstance(session, part)
    assert {Statements, Regions, Conditions} <= set(FunctionCompiler.__mro__)


def test_constants_of_programs():
    session = Session({"local": 3})
    assert (
        session.caller_names == {"local": 3}
        and session.is_constant(2.5)
        and not session.is_constant(object())
    )
    value = session.constant("a")
    assert (
        isinstance(value, operands.Value) and (value.text, value.constant) == ('"a"', "a") and value.is_known
    )
    assert session.constant(tl.float64).text == "7" and not operands.Value("x", Type("int")).is_known
    assert session.free_name("__torch__.f") == "__torch__.f"
    session.program.archive.add("__torch__.f", "def f(x: int) -> int:\n  return x\n")
    assert session.free_name("__torch__.f") != "__torch__.f" and session.python_class("__torch__.f") is None


def test_operands_have_their_parts():
    for operand in (
        operands.PythonValue(len, "len"), operands.ModuleValue("self.a", Net(), "__torch__.Net"), operands.Items([1]),
        operands.SliceOperand([None, None, None]), operands.Bound(operands.Value("x", Type("Tensor")), "relu"),
    ):  # fmt: skip
        assert isinstance(operand, operands.Operand)


def test_compiled_sources():
    def scaled(x: Tensor, n: int = 2) -> Tensor:
        return x * n

    program = script_function(scaled)
    assert program(tl.ones(2)).tolist() == [2, 2] and program(tl.ones(1), 5).item() == 5
    table = script_text("""
        def a(x: int) -> int:
            return x + 1

        def b(x: int) -> int:
            return a(x) * 10
    """)
    assert sorted(table) == ["a", "b"] and table["b"](2) == 30
    model = Net()
    compiled = script_module(model)
    x = tl.tensor([[1.0, 2.0]])
    assert (
        tl.equal(compiled(x), model(x)) and compiled.layer.weight.data_ptr() == model.layer.weight.data_ptr()
    )
    with pytest.raises(RuntimeError, match="HERE"):
        script_function(no_such_call)


def no_such_call(x: Tensor) -> Tensor:
    return x.no_such_method()


class Pair:
    def __init__(self, a: int, b: int):
        self.a = a
        self.b = b

    def total(self) -> int:
        return self.a + self.b


class Broken:
    def __init__(self):
        self.a = nothing()  # noqa: F821


def use_pair(n: int) -> int:
    return Pair(n, 2).total()


def checked(x: Tensor) -> Tensor:
    assert x.dim() == 1, "expected one dimension"
    return x


def test_classes_of_programs():
    assert script_class(Pair) is Pair and script_function(use_pair)(5) == 7
    with pytest.raises(RuntimeError, match="nothing"):
        script_class(Broken)


def test_assertions_of_programs():
    program = script_function(checked)
    assert program(tl.ones(2)).shape == (2,)
    with pytest.raises(RuntimeError, match="expected one dimension"):
        program(tl.ones(2, 2))


def test_layers_of_the_library_have_a_source():
    source = library_code.module_source(nn.RNN(2, 3), "forward")
    assert isinstance(source, FunctionSource) and library_code.module_source(Net(), "forward") is None
    session = Session()
    assert library_code.functional_source(session, sample, None, [], {}) is None
    identity, read, name = library_code.functional_source(session, nn.functional.relu, None, [], {})
    assert identity is not None and read().node.name == "relu" and name.endswith("functional.relu")


# ---- traces


def test_names_and_types_of_examples():
    assert argument_names(lambda x, *rest, **more: x, 3) == ["x", "rest", "argument_2"]
    assert argument_names(lambda a, b, c: a, 2) == ["a", "b"] and argument_names(3, 1) == ["argument_0"]
    assert member_text("a.0.weight", "a") == 'getattr(self, "0").weight' and member_text("w", "") == "self.w"

    one = tl.ones(1)
    for value, text in (
        (one, "Tensor"), ((one, [one]), "Tuple[Tensor, List[Tensor]]"), ({"a": one}, "Dict[str, Tensor]"),
        ({1: (one,)}, "Dict[int, Tuple[Tensor]]"),
    ):  # fmt: skip
        assert str(type_of_example(value)) == text
    for value, text in (
        (3, r"Type 'Tuple\[int\]' cannot be traced"), ((one, "a"), r"Type 'Tuple\[Tuple\[Tensor, str\]\]' cannot"),
        ([], "List trace inputs must have elements"), ({}, "Dictionary trace inputs must have elements"),
        ([one, (one,)], "consistent types, got Tensor and"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            check_examples((value,))


def test_traces_of_functions_and_methods():
    program = trace_function(lambda x, y: x * 2 + y, ((tl.ones(2), tl.ones(2)), {}), strict=True)
    assert program(tl.tensor([1.0, 2.0, 3.0]), tl.ones(3)).tolist() == [3, 5, 7]
    model = Net()
    traced, recordings = trace_methods(model, {"forward": ((tl.ones(1, 2),), {})}, strict=True)
    assert list(recordings) == ["forward"]
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert tl.equal(traced(x), model(x))


def test_a_trace_is_compared_with_its_function():
    def double(x):
        return x * 2

    inputs = ((tl.ones(2),), {})
    first, second = (trace_function(double, inputs, strict=True) for _ in range(2))
    check_program(double, first, lambda: second, "forward", inputs, 1e-5)
    with pytest.warns(jit.TracerWarning, match=r"[Dd]iffer|match|tolerance"):
        check_program(lambda x: x * 2.5, first, lambda: second, "forward", inputs, 1e-5)
    other = trace_function(lambda x: x * 2 + 1, inputs, strict=True)
    with pytest.raises(jit.TracingCheckError):
        check_program(double, first, lambda: other, "forward", inputs, 1e-5)


def test_values_as_text():
    def name(node):
        return f"<{node.name}>"

    graph = fx.Graph()
    x = graph.placeholder("x")
    assert value_text([1, 2.0, None], name) == "[1, 2., None]" and value_text((1, "a"), name) == '[1, "a"]'
    assert (
        value_text(x, name) == "<x>"
        and value_text(tl.int64, name) == "4"
        and value_text(True, name) == "True"
    )
    assert value_text([], name, "int[]") == "annotate(List[int], [])"
    assert value_text([x, None], name, "Tensor?[]") == "annotate(List[Optional[Tensor]], [<x>, None])"
    size = graph.call_function(aten.sym_size.int, (x, 1))
    total = graph.call_function(operator.add, (size, 2))
    relu = graph.call_function(aten.relu.default, (x,))
    assert is_number_node(size) and is_number_node(total) and not is_number_node(relu)
    assert number_text(size, name) == "torch.size(<x>, 1)" and "torch.add(" in number_text(total, name)
    assert call_text(relu, name) == "torch.relu(<x>)"
    summed = graph.call_function(aten.sum.dim_IntList, (x, [0]), {"dtype": tl.float64})
    assert call_text(summed, name).startswith("torch.sum(<x>, [0]") and "dtype=7" in call_text(summed, name)


def test_calls_and_values_as_text():
    assert ScriptCall(max, "a", "top")(1, 5) == 5 and ScriptCall(max, "a", "top").__name__ == "top"
    recording = Recording(nn.Module(), values=False, warns=False)
    recording.run(lambda x: x.relu().reshape(x.shape[0] * 2, -1), ((tl.ones(2, 4),), {}))
    calls = [node for node in recording.graph.nodes if node.op == "call_function"]
    assert any(map(is_number_node, calls)) and not all(map(is_number_node, calls))
    traced = TracedProgram(recording.module, lambda path: jit.TopLevelTracedModule)
    traced.declare([recording])
    methods = Methods(recording, traced.program, {"": program_name(nn.Module)})
    methods.root(["x: Tensor"], {recording.inputs[0]: "x"}, [], "forward", owner=True)
    ((path, text),) = methods.texts
    assert path == "" and text.startswith(
        "def forward(self: __torch__.torch.nn.modules.module.Module,\n    x: Tensor) -> Tensor:\n"
    )
    definition = ast.parse(text).body[0]
    operators = [
        n.func.attr for n in ast.walk(definition) if isinstance(n, ast.Call) and hasattr(n.func, "attr")
    ]
    assert {"relu", "reshape", "size", "mul"} <= set(operators)
