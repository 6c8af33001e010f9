# ruff: noqa: UP006, UP007, UP035, UP045 - annotations of these forms are written into code
"""Parts of graphs: expressions in files, hints of sizes, annotations in code, groups of nodes, hints of calls."""

import operator
import re
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Dict, List, Optional, Tuple, Union

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx, jit
from tl_compiler.export import Dim
from tl_compiler.fx.operator_schemas import normalize_function
from tl_compiler.fx.passes.infra.partitioner import CapabilityBasedPartitioner, Partition
from tl_compiler.fx.passes.operator_support import OperatorSupportBase
from tl_compiler.fx.passes.tools_common import FxNetAccFusionsFinder, leads_back
from tl_compiler.higher_order.hints_wrap import hints_wrapper
from tl_compiler.symbolic.parsing import parse
from tl_core import Tensor

aten = tl.ops.aten


# ---- expressions in files
EXPRESSIONS = [
    "s0 + s1", "s0 - s1", "s0 * s1", "s0 // s1", "s0 % s1", "s0**2", "-s0 + 3", "2**s1", "s0 < s1", "s0 <= s1",
    "s0 > s1", "s0 >= s1", "s0 == s1", "s0 != s1", "(s0 < s1) & (s0 > 2)", "(s0 < s1) | (s0 > 2)", "True", "7",
]  # fmt: skip
CONSTRUCTORS = {
    "Add(Symbol('s0'), Symbol('s1'), Integer(2))": lambda a, b: a + b + 2,
    "Mul(Integer(-3), Add(Symbol('s0'), Integer(1)))": lambda a, b: -3 * (a + 1),
    "Pow(Symbol('s0'), Integer(3))": lambda a, b: a**3,
    "FloorDiv(Symbol('s0'), Symbol('s1'))": lambda a, b: a // b,
    "Mod(Symbol('s0'), Symbol('s1'))": lambda a, b: a % b,
    "Max(Symbol('s0'), Symbol('s1'))": max,
    "Min(Symbol('s0'), Symbol('s1'))": min,
    "And(StrictLessThan(Symbol('s0'), Symbol('s1')), GreaterThan(Symbol('s1'), Integer(4)))":
        lambda a, b: a < b and b >= 4,
    "Or(LessThan(Symbol('s0'), Integer(2)), StrictGreaterThan(Symbol('s1'), Integer(4)))":
        lambda a, b: a <= 2 or b > 4,
    "Not(Eq(Symbol('s0'), Symbol('s1')))": lambda a, b: a != b,
    "Ne(Symbol('s0'), Integer(3))": lambda a, b: a != 3,
    "Equality(Symbol('s0'), Integer(3))": lambda a, b: a == 3,
    "Unequality(Symbol('s0'), Integer(3))": lambda a, b: a != 3,
    "Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('s0'), Symbol('s1'))), ExprCondPair(Integer(2), true))":
        lambda a, b: 1 if a < b else 2,
}  # fmt: skip
VALUES = list(product((1, 2, 3, 5), (1, 3, 4, 6)))


def value_of(expression, **values):
    """The value of an expression for values of its symbols."""
    names = {symbol: values[symbol.name] for symbol in expression.free_symbols}
    return expression.evaluate(names)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_written_expressions_have_the_values_of_python(text):
    expression = parse(text)
    for s0, s1 in VALUES:
        assert value_of(expression, s0=s0, s1=s1) == eval(text)


@pytest.mark.parametrize("text", CONSTRUCTORS)
def test_constructors_have_the_values_of_their_functions(text):
    expression = parse(text)
    for s0, s1 in VALUES:
        assert value_of(expression, s0=s0, s1=s1) == CONSTRUCTORS[text](s0, s1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("s0 +", "no expression"), ("s0 @ s1", "MatMult"), ("s0 < s1 < 3", "Compare"), ("s0 ** 65", "a power above 64"),
        ("Pow(Symbol('s0'), Integer(-65))", "a power above 64"), ("Pow(Symbol('s0'))", "1 arguments of Pow"),
        ("Not(Symbol('a'), Symbol('b'))", "2 arguments of Not"), ("Add()", "Add without arguments"),
        ("open('file')", "Constant"), ("exit(1)", "the unknown function 'exit'"), ("Add(1, x=2)", "options of Add"),
        ("Symbol('a b')", "a symbol without a name"), ("Symbol(3)", "a symbol without a name"),
        ("Integer(s0)", "an argument that is no constant"), ("Piecewise((1, True))", "a choice that isn't between"),
        ("[s0]", "List"), ("s0.real", "Attribute"), ("(" * 90 + "s0" + ")" * 90 + "+" * 3, "no expression"),
        ("+".join(["s0"] * 300), "too many levels"), ("1" * (2**16 + 1), "the limit is 65536"),
        ("LShift(Integer(1), Integer(65))", "a power above 64"),
    ],
)  # fmt: skip
def test_refused_expressions(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        parse(text)


def test_symbols_are_those_of_their_assumptions():
    symbols = {}
    parse("Add(Symbol('s0', positive=True, integer=True), Symbol('x', real=True), u0, s1)", symbols)
    facts = {name: (symbol.positive, symbol.is_integer) for name, symbol in symbols.items()}
    assert facts == {"s0": (True, True), "x": (False, False), "u0": (False, True), "s1": (True, True)}
    assert parse("s0", symbols) is symbols["s0"]


# ---- hints of sizes
def test_hints_have_bounds():
    hint = Dim.AUTO(min=2, max=5)
    assert (hint.min, hint.max, hint.type) == (2, 5, Dim.AUTO.type)
    assert repr(hint) == "DimHint(AUTO, min=2, max=5)" and repr(Dim.STATIC) == "DimHint(STATIC)"
    assert repr(Dim.DYNAMIC(max=3)) == "DimHint(DYNAMIC, max=3)" and Dim.DYNAMIC(min=0, max=0).max == 0
    assert Dim.AUTO(min=4, max=4).min == 4
    for bounds in ({"min": -1}, {"max": -1}, {"min": 5, "max": 4}):
        with pytest.raises(AssertionError, match="bounds are from least to greatest"):
            Dim.AUTO(**bounds)
    with pytest.raises(TypeError, match="object is not callable"):
        hint(min=3)


# ---- annotations in code
def of_lists(x: List[int], y: Dict[str, Tensor], z: Optional[int] = None) -> Tuple[int, Tensor]:
    return x, y


def of_builtins(x: int, y: list[int], z: dict[str, Tensor]) -> Any:
    return x


def of_sequences(x: Iterable[int], y: Tensor, z: Sequence[float]) -> tuple[int, str]:
    return x, y


def of_unions(x: Union[int, str], y: Tuple[int, ...]) -> None:
    return None


CODE = {  # as PyTorch 2.13 writes it
    of_lists: "def forward(self, x : typing_List[int], y : typing_Dict[str,torch.Tensor], "
              "z : typing_Union[int,NoneType] = None) -> typing_Tuple[int,torch.Tensor]:",
    of_builtins: "def forward(self, x : int, y : list[int], z : dict[str,torch.Tensor]) -> typing_Any:",
    of_sequences: "def forward(self, x : collections_abc_Iterable[int], y : torch.Tensor, "
                  "z : collections_abc_Sequence[float]) -> tuple[int,str]:",
}  # fmt: skip


@pytest.mark.parametrize("function", CODE, ids=lambda function: function.__name__)
def test_annotations_are_written_into_code(function):
    code = fx.symbolic_trace(function).code
    (line,) = [line for line in code.splitlines() if line.startswith("def")]
    normal = line.replace("typing_Optional[int]", "typing_Union[int,NoneType]").replace(", ", ",")
    assert normal == CODE[function].replace(", ", ",")


# ---- groups of nodes
class Supports(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node.target is not operator.getitem


def test_idle_operators_leave_the_ends_of_groups():
    def function(x):
        a = aten.view.default(x, [-1])
        b = aten.add.Tensor(a, 1)
        c = aten.view.default(b, [2, 2])
        d = aten.mul.Tensor(c, 2)
        e = aten.view.default(d, [4])
        return aten.view.default(e, [-1])

    module = fx.symbolic_trace(function)
    partitioner = CapabilityBasedPartitioner(module, Supports(), non_compute_ops=["torch.ops.aten.view"])
    nodes = [node for node in module.graph.nodes if node.op == "call_function"]
    group = Partition(0, nodes)
    partitioner.remove_bookend_non_compute_ops([group])
    assert [node for node in nodes if node in group.nodes] == nodes[1:4]  # add, the view between, mul
    alone = Partition(1, [nodes[0]])
    partitioner.remove_bookend_non_compute_ops([alone])
    assert len(alone.nodes) == 0


def test_nodes_without_tensors_stay_together():
    """A pair passes from max to getitem, so that both are one group, with all that lies between."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    pair = graph.call_function(tl.max, (x, 0))
    values = graph.call_function(operator.getitem, (pair, 0))
    double = graph.call_function(tl.add, (values, values))
    graph.output(double)
    module = fx.GraphModule(nn.Module(), graph)
    for node in (x, values, double):
        node.meta["tensor_meta"] = object()
    groups = FxNetAccFusionsFinder(module, {pair, values, double})()
    assert groups == {pair: {pair, values}, values: {pair, values}}
    nodes = {pair, double}  # the accelerator doesn't run getitem
    assert FxNetAccFusionsFinder(module, nodes)() == {} and nodes == {double}


def test_ways_back_into_a_group():
    graph = fx.Graph()
    x = graph.placeholder("x")
    a = graph.call_function(tl.relu, (x,))
    b = graph.call_function(tl.neg, (a,))
    c = graph.call_function(tl.add, (a, b))
    graph.output(c)
    assert leads_back({a, c}) and not leads_back({a, b}) and not leads_back({b, c}) and not leads_back(set())


# ---- hints of calls
def test_hints_change_nothing():
    assert hints_wrapper(operator.sub, (5, 3), hints={"fuse": True}) == 2
    assert hints_wrapper(lambda a, b: a - b, (5,), {"b": 1}, None) == 4
    for args, hints, text in (([5, 3], None, "args must be a tuple, got <class 'list'>"),
                              (({},), None, "args must be a tuple"), ((5, 3), 7, "hints must be a dict")):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            hints_wrapper(operator.sub, args, hints=hints)


def test_arguments_of_nodes_with_their_defaults():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return aten.add.Tensor(self.layer(x), 1).neg()

    module = fx.symbolic_trace(Model())
    nodes = {node.op: node for node in module.graph.nodes}
    x, layer, add = (nodes[op] for op in ("placeholder", "call_module", "call_function"))
    assert add.normalized_arguments(module) == ((layer, 1), {"alpha": 1})
    assert layer.normalized_arguments(module, normalize_to_only_use_kwargs=True) == ((), {"input": x})
    assert (
        nodes["call_method"].normalized_arguments(module) is None and x.normalized_arguments(module) is None
    )


def test_an_output_that_no_call_gives_is_no_default():
    """`linear(x, w, out=None)` is no overload of programs."""
    arguments = normalize_function(nn.functional.linear, ("x", "w"), normalize_to_only_use_kwargs=True)
    assert arguments.kwargs == {"input": "x", "weight": "w", "bias": None}
    arguments = normalize_function(
        nn.functional.linear, ("x", "w"), {"out": "y"}, normalize_to_only_use_kwargs=True
    )
    assert arguments is None or arguments.kwargs["out"] == "y"


# ---- replaced patterns and texts of modules
def test_a_replacement_brings_its_attributes():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Module()

        def forward(self, x):
            return x.relu()

    class Replacement(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)
            self.register_buffer("factor", tl.tensor(3.0))

        def forward(self, x):
            return self.layer(x) * self.factor

    module, replacement = fx.symbolic_trace(Model()), Replacement()
    matches = fx.replace_pattern(module, lambda x: x.relu(), fx.symbolic_trace(replacement))
    assert len(matches) == 1
    x = tl.tensor([[1.0, -2.0]])
    assert tl.equal(module(x), replacement(x))
    assert module.layer is not replacement.layer and module.factor is not replacement.factor
    assert tl.equal(module.layer.weight, replacement.layer.weight)


def test_the_text_of_a_script():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 3)
            self.weight = nn.Parameter(tl.ones(4))
            self.bound: int = 3

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x) + self.bound

    handle = jit.script(Model())._c
    text = handle.dump_to_str()
    assert text.startswith("module __torch__.") and text.endswith("}\n")
    assert "  parameter weight: (4,)" in text and "    parameter weight: (3, 2)" in text
    assert "attribute bound: int" in text and "def forward" in text
    assert "parameter" not in handle.dump_to_str(params=False)
    assert "attribute" not in handle.dump_to_str(attrs=False)
    assert "def forward" not in handle.dump_to_str(code=False)
