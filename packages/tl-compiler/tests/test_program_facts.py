"""Facts of programs: arguments and values of scripts, packages, lists of nodes, expressions, tensors in traces."""

import ast
import warnings
from copy import deepcopy

import pytest

import tl_core
import tl_nn as nn
from tl_compiler.export import Dim, draft_export, export
from tl_compiler.export.serde.codes import DTYPES, LAYOUTS, MEMORY_FORMATS
from tl_compiler.fx import Graph, symbolic_trace
from tl_compiler.fx.node_list import InsertPoint, NodeList
from tl_compiler.fx.passes.net_min_base import FxNetMinimizerBadModuleError, FxNetMinimizerRunFuncError
from tl_compiler.fx.retracing import reduce_graph_module
from tl_compiler.higher_order.auto_functionalize import written_names
from tl_compiler.higher_order.captured import is_reading
from tl_compiler.higher_order.transformed import is_functionalized, remove_argument
from tl_compiler.higher_order.varying import restrict, varies, varying_indices
from tl_compiler.jit.decorations import missing_argument_text
from tl_compiler.jit.internal import check_empty_containers
from tl_compiler.onnx import TrainingMode, is_in_onnx_export
from tl_compiler.onnx.utils import exporter_context
from tl_compiler.package.module_dependencies import ModuleAction, Pattern, is_external
from tl_compiler.package.package_records import PackageRecords
from tl_compiler.script.call_arguments import Mismatch, needs_check, type_text
from tl_compiler.script.containers import ScriptDict, ScriptList
from tl_compiler.script.failures import CodeText, SourcePositions
from tl_compiler.script.types import Type, in_order
from tl_compiler.script.upgraders import differing_operators
from tl_compiler.script.values import to_list
from tl_compiler.scripting.module_hooks import hooks_of
from tl_compiler.scripting.modules import own_containers
from tl_compiler.symbolic.canonical_forms import rebuild
from tl_compiler.symbolic.expression import Integer, Symbol
from tl_compiler.symbolic.node import is_quotient
from tl_compiler.tracer.geometry import alike, sizes_of
from tl_compiler.tracer.symbolic_call import leaves_of
from tl_compiler.tracer.value_nodes import attribute_node
from tl_core.subclasses.fake_mode import FakeTensorMode

# ---- scripts


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1.5], "List[float]"), ([], "list"), ({"a": [1]}, "Dict[str, List[int]]"), ((1, "b"), "Tuple[int, str]"),
     (tl_core.ones(1), "Tensor"), (True, "bool")],
)  # fmt: skip
def test_types_in_errors(value, kind):
    assert type_text(value).lower() == kind.lower()


def test_arguments_that_are_checked():
    def check(text, skip=0):
        return needs_check(ast.parse(text).body[0], skip)

    assert not check("def f(x: Tensor, y: Tensor): ...")
    assert check("def f(x: Tensor, n: int): ...") and check("def f(self: M, x: Tensor): ...")
    assert not check("def f(self: M, x: Tensor): ...", 1)


def no_strings(*values):
    if isinstance(values[-1], str):
        raise Mismatch("a string")


def test_lists_of_one_type():
    shared = ScriptList([1, 2], no_strings)
    shared.insert(0, 3)
    shared[1:2] = [7, 8]
    assert shared == [3, 7, 8, 2]
    for write in (
        lambda: shared.append("a"), lambda: shared.insert(0, "a"), lambda: shared.extend([4, "a"]),
        lambda: shared.__setitem__(0, "a"), lambda: shared.__setitem__(slice(0, 1), ["a"]),
    ):  # fmt: skip
        with pytest.raises(Mismatch, match="a string"):
            write()
    with pytest.raises(Mismatch):
        shared += ["a"]
    assert shared == [3, 7, 8, 2]
    shared += [9]
    assert shared == [3, 7, 8, 2, 9] and isinstance(shared, ScriptList)


def test_dictionaries_of_one_type():
    shared = ScriptDict({"a": 1}, no_strings)
    shared["b"] = 2
    assert shared.setdefault("c", 3) == 3 and shared == {"a": 1, "b": 2, "c": 3}
    with pytest.raises(Mismatch):
        shared["d"] = "text"
    with pytest.raises(Mismatch):
        shared.update({"e": "text"})
    with pytest.raises(Mismatch):
        shared |= {"e": "text"}
    shared |= {"e": 5}
    assert list(shared) == ["a", "b", "c", "e"] and isinstance(shared, ScriptDict)


def test_lines_of_sources():
    first, second = ast.parse("a\nb").body
    positions = SourcePositions(2, [first, None, second], lambda node: f"line {node.lineno}")
    assert [positions.text_at(line) for line in (1, 2, 3, 4, 9)] == [
        None,
        "line 1",
        "line 1",
        "line 2",
        "line 2",
    ]
    text = CodeText("x")
    text.positions = positions
    assert deepcopy(positions) is positions and text == "x"


def test_kinds_of_unions():
    options = tuple(Type(name) for name in ("str", "int", "Mine", "float"))
    assert [str(t) for t in in_order(options)] == ["Mine", "float", "int", "str"]


def test_operators_that_differ_between_versions():
    names = {"div", "relu"}
    assert [differing_operators(names, *v) for v in ((3, 10), (10, 3), (4, 10), (1, 2))] == [
        {"div"}, {"div"}, set(), set()
    ]  # fmt: skip


def test_tensors_as_lists():
    pairs = Type("List", (Type("List", (Type("float"),)),))
    assert to_list(tl_core.tensor([[1.5, 2.0]]), pairs) == [[1.5, 2.0]]
    assert to_list(tl_core.tensor(3), Type("int")) == 3
    with pytest.raises(RuntimeError, match="dimension must match"):
        to_list(tl_core.tensor([1.0]), pairs)
    with pytest.raises(RuntimeError, match=r"int and torch\.float32"):
        to_list(tl_core.tensor([1.0]), Type("List", (Type("int"),)))
    assert to_list(tl_core.tensor([True]), Type("List", (Type("bool"),))) == [True]


def test_hooks_of_modules():
    module = nn.ReLU()

    def before(module, inputs):
        return None

    def other(module, inputs):
        return None

    module.register_forward_pre_hook(before)
    assert hooks_of(module) == ([before], [])
    other.__name__ = "before"
    module.register_forward_pre_hook(other)
    with pytest.raises(RuntimeError, match="at least two different python definitions"):
        hooks_of(module)
    clash = nn.ReLU()
    other.__name__ = "forward"
    clash.register_forward_hook(other)
    with pytest.raises(RuntimeError, match="Can't define hook: forward"):
        hooks_of(clash)


def test_containers_of_a_program():
    value = [1, {"a": (2, [3])}]
    copy = own_containers(value)
    assert copy == value and copy is not value and copy[1] is not value[1]
    assert copy[1]["a"][1] is not value[1]["a"][1]


def test_texts_of_annotations():
    assert missing_argument_text("Dict").endswith("e.g. Dict[int, int]")
    assert "List[int]" in missing_argument_text("List")
    with pytest.warns(UserWarning, match="inner type of a container"):
        check_empty_containers([])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_empty_containers([1])
        check_empty_containers(())


# ---- packages and exports


def test_modules_of_the_environment():
    assert [is_external(n) for n in ("math", "torch.nn", "tl_core", "numpy", "mine")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    pattern = Pattern(ModuleAction.MOCK, True)
    assert (pattern.action, pattern.was_matched) == (ModuleAction.MOCK, False)
    assert len({*ModuleAction}) == 6


def test_files_of_a_package():
    records = PackageRecords()
    records.add_source("a.b", "x = 1", False)
    records.add_source("a", "", True)
    assert sorted(records._files) == ["a/__init__.py", "a/b.py"] and records._files["a/b.py"] == b"x = 1"
    records.add("a/b.py", b"y")
    assert records._files["a/b.py"] == b"y"
    with pytest.raises(AssertionError, match="another package"):
        records.add("<torch_package_0>.x", b"")
    records.is_closed = True
    with pytest.raises(RuntimeError, match="nothing can be added"):
        records.add("c", b"")


def test_the_mode_of_an_onnx_export():
    model = nn.Dropout()
    assert not is_in_onnx_export()
    with exporter_context(model, TrainingMode.EVAL, False):
        assert is_in_onnx_export() and not model.training
    assert not is_in_onnx_export() and model.training
    with exporter_context(model.eval(), TrainingMode.TRAINING, False):
        assert model.training
    assert not model.training


# ---- graphs


def test_nodes_may_go_while_a_loop_runs():
    graph = Graph()
    x = graph.placeholder("x")
    chain = [x]
    for _ in range(3):
        chain.append(graph.call_function(tl_core.neg, (chain[-1],)))
    nodes = NodeList(graph)
    assert len(nodes) == 4 and list(nodes) == chain and list(reversed(nodes)) == chain[::-1]
    order = []
    for node in nodes:
        order.append(node)
        if node is chain[1]:
            graph.erase_node(chain[3])
    assert order == chain[:3] and len(nodes) == 3


def test_nodes_before_others():
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.call_function(tl_core.neg, (x,))
    with InsertPoint(graph, y.prepend):
        z = graph.call_function(tl_core.abs, (x,))
    last = graph.call_function(tl_core.sin, (x,))
    assert list(graph.nodes) == [x, z, y, last]


def test_code_becomes_a_module_again():
    gm = symbolic_trace(nn.Sequential(nn.Linear(2, 1)))
    body = {**vars(gm), "_code": gm.code}
    copy = reduce_graph_module(body, "import torch\n")
    x = tl_core.tensor([[1.0, -2.0]])
    assert tl_core.equal(copy(x), gm(x)) and [n.op for n in copy.graph.nodes] == [
        n.op for n in gm.graph.nodes
    ]


def test_errors_of_a_search_for_a_part():
    for kind in (FxNetMinimizerBadModuleError, FxNetMinimizerRunFuncError):
        with pytest.raises(kind, match="part"):
            raise kind("part")


# ---- higher-order operators


def test_values_with_derivatives():
    values = (
        tl_core.ones(1),
        3,
        tl_core.ones(1, dtype=tl_core.int64),
        tl_core.ones(1, dtype=tl_core.complex64),
    )
    assert [varies(v) for v in values] == [True, False, False, True] and varying_indices(values) == [0, 3]
    function = restrict(lambda a, b, c: (a * b, c, b.to(tl_core.int64)), (2.0, tl_core.ones(1), 3), [1])
    assert [r.tolist() for r in function(tl_core.tensor([4.0]))] == [[8.0]]


def test_arguments_that_are_written():
    ops = tl_core.ops.aten
    assert written_names(ops.add_.Tensor) == ["self"] and written_names(ops.add.Tensor) == []
    assert written_names(ops.add.out) == ["out"]


def test_transforms_around_a_call():
    from tl_autograd import func

    states = []

    def note(x):
        states.append((is_functionalized(), remove_argument()))
        return x

    x = tl_core.ones(2)
    note(x)
    func.functionalize(note)(x)
    func.functionalize(note, remove="mutations_and_views")(x)
    assert states == [(False, "mutations"), (True, "mutations"), (True, "mutations_and_views")]
    assert not is_reading()


# ---- expressions and tensors of traces


def test_expressions_with_other_arguments():
    a, b, two = Symbol("a"), Symbol("b"), Integer(2)
    for e in (a + b * 3 + 1, a * b * b, a // b, a < b):
        args = [b if arg == a else arg for arg in e.args]
        at = {b: 5, a: 100}
        same = {b: 5, a: 5}
        assert rebuild(e, args).evaluate(at) == e.evaluate(same)
    assert rebuild(two, []) is two
    assert is_quotient(a // b) and not is_quotient(a * b)


def test_tensors_of_other_sizes_keep_their_order():
    example = tl_core.empty(2, 3, 4, device="meta").permute(2, 0, 1)
    other = alike(example, (5, 6, 7))
    assert other.stride() == (1, 35, 5) and tuple(other.shape) == (5, 6, 7)
    wide = alike(tl_core.empty(1, 3, device="meta").expand(4, 3), (5, 6))
    assert wide.stride() == (0, 1) and wide.dtype is tl_core.float32
    with FakeTensorMode():
        assert sizes_of(tl_core.ones(2, 3)) == [Integer(2), Integer(3)]


def test_tensors_among_arguments():
    x, y = tl_core.ones(1), tl_core.zeros(1)
    leaves = leaves_of((x, [1, (y, None)]), {"k": x})
    assert sorted(map(id, leaves)) == sorted([id(x), id(y), id(x)])


def test_constants_of_a_trace():
    from tl_compiler.fx import Tracer

    tracer = Tracer()
    tracer.root, tracer.graph = nn.Module(), Graph()
    tracer.root._tensor_constant0 = 3
    constant, parameter = tl_core.ones(1), nn.Parameter(tl_core.ones(1))
    nodes = [attribute_node(tracer, t) for t in (constant, parameter)]
    assert [n.target for n in nodes] == ["_tensor_constant1", "_param_constant0"]
    assert tracer.root._tensor_constant1 is constant and tracer.root._param_constant0 is parameter


# ---- exported programs


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a

    def forward(self, x):
        return self.a(x)


def test_a_parameter_of_two_names_has_both_in_the_module():
    x = tl_core.ones(1, 2)
    module = export(Tied(), (x,)).module()
    assert list(module.state_dict()) == ["a.weight", "a.bias", "b.weight", "b.bias"]
    assert module.b.weight is module.a.weight and tl_core.allclose(
        module(x)[0], module.a.weight.sum(1) + module.a.bias
    )


class Clamped(nn.Module):
    def forward(self, x):
        return x[:5].sum() / x.shape[0] if x.shape[0] >= 5 else x.sum()


@pytest.mark.parametrize(("least", "count"), [(2, 1), (5, 0)])
def test_a_draft_reports_the_fixes_that_it_needs(least, count):
    program = draft_export(Clamped(), (tl_core.ones(8),), dynamic_shapes=({0: Dim("b", min=least)},))
    assert len(program._report) == count and all("b = Dim('b', min=5)" in text for text in program._report)
    assert float(program.module()(tl_core.ones(6))) == pytest.approx(5 / 6)


def test_annotated_values_have_the_annotation_for_a_type():
    from tl_compiler import jit

    def f(x: int | None):
        rows = jit.annotate(list[int], [])
        nothing = jit.annotate(int | None, None)
        return rows, nothing

    lines = str(jit.script(f).graph).splitlines()
    assert any(": int[] = prim::ListConstruct()" in line for line in lines)
    assert any(": int? = prim::Constant()" in line for line in lines)


def test_loops_end_where_a_program_says():
    from tl_compiler import jit

    def first(n: int, stop: int) -> list[int]:
        result: list[int] = []
        for i in range(n):
            if i == stop:
                break
            if i % 2 == 1:
                continue
            result.append(i)
        return result

    def nested(n: int) -> int:
        total = 0
        for i in range(n):
            j = 0
            while True:
                if j > i:
                    break
                total += j
                j += 1
            if total > 20:
                break
        return total

    for function, calls in ((first, [(9, 5), (9, 20), (0, 0)]), (nested, [(3,), (6,), (50,)])):
        scripted = jit.script(function)
        assert [scripted(*call) for call in calls] == [function(*call) for call in calls]


def test_nodes_that_read_a_size():
    from tl_compiler.onnx.symbolic_helper import _size_helper

    nodes = []

    class Recorder:
        def op(self, name, *inputs, **attributes):
            nodes.append((name, inputs, attributes))
            return name

    assert _size_helper(Recorder(), "x", "dim") == "Gather"
    assert nodes == [("Shape", ("x",), {}), ("Gather", ("Shape", "dim"), {"axis_i": 0})]


def test_elements_of_tuples():
    from tl_compiler import jit

    def fields(x: int) -> tuple[int, int, float]:
        pair = (x, x * 2)
        return pair[0] + (x, 7)[1], pair[-1], ((x, 0.5), 3)[0][1]

    def chosen_row(x: int, i: int) -> int:
        return (x, x + 1, x + 2)[i]

    scripted = jit.script(fields)
    assert [scripted(n) for n in (1, 5)] == [(8, 2, 0.5), (12, 10, 0.5)]
    row = jit.script(chosen_row)
    assert [row(10, i) for i in range(3)] == [10, 11, 12]

    def beyond(x: int) -> int:
        return (x, 7)[2]

    with pytest.raises(RuntimeError, match="index out of range"):
        jit.script(beyond)


def test_the_codes_of_element_types_in_files():
    # the numbers of `ScalarType` in PyTorch's schema
    names = [
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "bfloat16",
    ]
    recorded = dict(enumerate(names, 1)) | {
        28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2", 31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz",
        33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
    }  # fmt: skip
    assert {code: str(dtype).partition(".")[2] for code, dtype in DTYPES.items()} == recorded
    layouts = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]
    assert {n: getattr(tl_core, name) for n, name in enumerate(layouts, 1)} | {7: tl_core.strided} == LAYOUTS
    formats = ["contiguous_format", "channels_last", "channels_last_3d", "preserve_format"]
    assert {n: getattr(tl_core, name) for n, name in enumerate(formats, 1)} == MEMORY_FORMATS
