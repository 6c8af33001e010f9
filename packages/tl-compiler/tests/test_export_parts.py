"""The parts of exported programs: signatures, verifiers, names, sizes, tables, modules."""

import copy
import dataclasses
import math
import operator

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import export as tl_export
from tl_compiler import fx
from tl_compiler.export import (
    decomp_utils,
    dynamic_shapes,
    error,
    exported_program,
    graph_signature,
    naming,
    node_lists,
    unlift,
    utils,
    verifier,
)
from tl_compiler.export.custom_obj import ScriptObjectMeta
from tl_compiler.export.dynamic_shapes import Dim
from tl_compiler.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec, TensorArgument
from tl_compiler.export.passes import move_to_device_pass
from tl_compiler.export.passes.pass_base import apply_passes
from tl_compiler.export.serde import codes, portable
from tl_compiler.export.unflatten import (
    FlatArgsAdapter,
    InterpreterModule,
    InterpreterModuleDispatcher,
    UnflattenedModule,
    _assign_attr,
    _AttrKind,
    unflatten,
)
from tl_compiler.symbolic.errors import UserError
from tl_core.operators.packets import aten
from tl_core.pytree import tree_flatten, tree_unflatten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.register_buffer("count", tl.zeros(1))
        self.register_buffer("scratch", tl.ones(1), persistent=False)
        self.constant = tl.full((3,), 5.0)

    def forward(self, x):
        self.count.add_(1)
        return self.layer(x) * self.scratch + self.constant, 7


@pytest.fixture(scope="module")
def net():
    return Net()


@pytest.fixture
def program(net):
    return tl_export.export(net, (tl.ones(4, 2),))


def node_named(program, name):
    return next(n for n in program.graph.nodes if n.name == name)


# ---- programs


def test_inputs_are_parameters_buffers_and_constants(net, program):
    values = {}
    for node in program.graph.nodes:
        if node.op == "placeholder":
            kinds = [utils.is_param, utils.is_buffer, utils.is_lifted_tensor_constant]
            gets = [utils.get_param, utils.get_buffer, utils.get_lifted_tensor_constant]
            values[node.name] = [
                get(program, node) for is_kind, get in zip(kinds, gets, strict=True) if is_kind(program, node)
            ]
            assert [get(program, node) is not None for get in gets] == [
                is_kind(program, node) for is_kind in kinds
            ]
    expected = {
        "p_layer_weight": net.layer.weight, "p_layer_bias": net.layer.bias, "b_count": tl.zeros(1),
        "b_scratch": tl.ones(1), "c_constant": net.constant,
    }  # fmt: skip
    assert {name: len(result) for name, result in values.items()} == {**dict.fromkeys(expected, 1), "x": 0}
    assert all(tl.equal(values[name][0], value) for name, value in expected.items())


def test_a_program_has_the_parts_of_its_signature(program):
    assert isinstance(program, exported_program.ExportedProgram)
    signature = program.graph_signature
    assert isinstance(signature, graph_signature.ExportGraphSignature)
    assert signature.parameters == ("layer.weight", "layer.bias") and signature.buffers == (
        "count",
        "scratch",
    )
    assert signature.non_persistent_buffers == ("scratch",) and signature.user_inputs == ("x",)
    assert [*signature.buffers_to_mutate.values()] in (["count"], []) and signature.backward_signature is None
    assert signature.user_outputs[-1] == 7 and [*program.state_dict] == [
        "layer.weight",
        "layer.bias",
        "count",
    ]
    assert [name for name, _ in program.named_parameters()] == ["layer.weight", "layer.bias"]
    assert [name for name, _ in program.named_buffers()] == ["count", "scratch"]
    assert isinstance(program.call_spec, exported_program.CallSpec)
    entries = program.module_call_graph
    assert (
        all(isinstance(entry, exported_program.ModuleCallEntry) for entry in entries) and entries[0].fqn == ""
    )
    assert isinstance(entries[0].signature, exported_program.ModuleCallSignature)
    args = (tl.ones(4, 2),)
    leaves, _ = tree_flatten((args, {}))
    unlift.check_inputs(program, leaves, ["*args[0]"])
    with pytest.raises((RuntimeError, UserError, AssertionError)):
        unlift.check_inputs(program, [tl.ones(5, 2)], ["*args[0]"])


def test_verifiers_refuse_what_is_no_program(program):
    verifier.Verifier().check(program)
    assert verifier.load_verifier("TRAINING") is verifier.TrainingIRVerifier
    assert verifier.load_verifier("ATEN") is verifier.load_verifier("unknown") is verifier.Verifier

    def broken(change):
        other = copy.deepcopy(program)
        change(other)
        with pytest.raises(verifier.SpecViolationError) as caught:
            verifier.TrainingIRVerifier().check(other)
        return str(caught.value)

    def add_call(op, target):
        def change(other):
            graph = other.graph
            x = next(n for n in graph.nodes if n.name == "x")
            with graph.inserting_after(x):
                graph.create_node(op, target, (x,))

        return change

    assert "relu" in broken(add_call("call_method", "relu"))
    assert "not an allowed operator" in broken(add_call("call_function", len))
    assert "Number of inputs" in broken(lambda p: p.graph_signature.input_specs.pop())
    assert "number of outputs" in broken(lambda p: p.graph_signature.output_specs.pop())
    assert "layer.weight" in broken(lambda p: p.state_dict.pop("layer.weight"))
    assert "count" in broken(lambda p: p.state_dict.pop("count"))
    assert "scratch" in broken(lambda p: p.constants.pop("scratch"))
    assert "constant" in broken(lambda p: p.constants.pop("constant"))

    def rename(p):
        p.graph_signature.input_specs[0].arg.name = "other"

    assert "other" in broken(rename)


def test_signatures_follow_renamed_nodes():
    names = graph_signature
    arguments = [names.SymIntArgument("n"), names.SymFloatArgument("f"), names.SymBoolArgument("b")]
    constant, obj = names.ConstantArgument("c", 3), names.CustomObjArgument("o", "text.Tokenizer")
    inputs = [InputSpec(InputKind.USER_INPUT, arg, None) for arg in (*arguments, constant, obj)]
    inputs.append(InputSpec(InputKind.BUFFER, TensorArgument("b_mean"), "mean", persistent=True))
    outputs = [
        OutputSpec(OutputKind.BUFFER_MUTATION, TensorArgument("add"), "mean"),
        OutputSpec(OutputKind.LOSS_OUTPUT, TensorArgument("loss"), None),
        OutputSpec(OutputKind.GRADIENT_TO_PARAMETER, TensorArgument("g"), "weight"),
        OutputSpec(OutputKind.GRADIENT_TO_USER_INPUT, TensorArgument("h"), "x"),
    ]
    signature = names.ExportGraphSignature(inputs, outputs)
    assert signature.buffers_to_mutate == {"add": "mean"}
    backward = signature.backward_signature
    assert backward == names.ExportBackwardSignature({"g": "weight"}, {"h": "x"}, "loss")
    signature.replace_all_uses("add", "add_7")
    assert signature.buffers_to_mutate == {"add_7": "mean"}
    graph = fx.Graph()
    old = graph.placeholder("n")
    user = graph.output(old)
    signature.get_replace_hook(replace_inputs=True)(old, "m", user)
    assert signature.input_specs[0].arg.name == "m"
    assert "b_mean: BUFFER target='mean' persistent=True" in str(signature)
    with pytest.raises(AssertionError, match="persistent"):
        InputSpec(InputKind.BUFFER, TensorArgument("b"), "b")
    with pytest.raises(AssertionError, match="got"):
        InputSpec(InputKind.USER_INPUT, "x", None)
    with pytest.raises(AssertionError, match="names are texts"):
        signature.replace_all_uses(old, "x")


def test_errors_have_a_kind():
    assert str(error.ExportError(error.ExportErrorType.NOT_SUPPORTED, "a loop")) == (
        "[ExportErrorType.NOT_SUPPORTED]: a loop"
    )
    error.internal_assert(True, "unused")
    with pytest.raises(error.InternalError, match="broken"):
        error.internal_assert(False, "broken")


def test_lists_of_nodes():
    graph = fx.symbolic_trace(lambda x: (x + 1).neg().neg()).graph

    def is_method(node):
        return node.op == "call_method"

    first = node_lists.nodes_first(graph.nodes, is_method)
    assert first.name == "neg" and node_lists.nodes_first(graph.nodes).name == "x"
    assert node_lists.nodes_first(graph.nodes, lambda n: False) is None
    records = []
    assert [*node_lists.nodes_map(graph.nodes, records.append)] == [*graph.nodes]
    assert records == [*graph.nodes] and node_lists.nodes_count(graph.nodes, is_method) == 2


def test_passes_change_a_copy(program):
    def nothing(module):
        return None

    def negate(module):
        output = module.graph.output_node()
        values = [*output.args[0]]
        with module.graph.inserting_before(output):
            values[-2] = module.graph.call_function(aten.neg.default, (values[-2],))
        output.args = (tuple(values),)
        return type("Result", (), {"graph_module": module, "modified": True})

    assert apply_passes(program, [nothing]) is program
    changed = apply_passes(program, [negate])
    x = tl.ones(4, 2)
    assert tl.equal(changed.module()(x)[0], -program.module()(x)[0])
    moved = move_to_device_pass(program, {"cpu": "cpu"})
    assert {t.device.type for t in moved.state_dict.values()} == {"cpu"}
    assert moved.state_dict["layer.weight"].requires_grad


# ---- names


def test_names_of_inputs_and_files():
    assert naming.placeholder_name("b_", "Block.0.running-mean") == "b_block_0_running_mean"
    assert naming.input_names(["['x']", "['x']", "[0]", ""]) == ["x", "x_1", "arg_0", "arg"]
    assert naming.as_identifier("a.b-3") == "a_b_3"
    assert [codes.is_identifier(text) for text in ("a_1", "1a", "for", "a.b", 3, "")] == [True] + [False] * 5
    for target in (aten.add.Tensor, aten.relu.default, operator.add, math.floor):
        assert codes.function_named(codes.name_of_function(target)) is target
    with pytest.raises(NotImplementedError, match="can't stand in a file"):
        codes.name_of_function(print)
    for name in (3, "os.system", "torch.ops.aten.nonsense.default", "torch.ops.higher_order.nonsense"):
        with pytest.raises(codes.FileRefused):
            codes.function_named(name)
    signature = type(
        "Signature", (), {"output_specs": [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument("y"), None)]}
    )
    graph = fx.Graph()
    graph.output((graph.placeholder("z"),))
    naming.name_outputs(signature, graph)
    assert signature.output_specs[0].arg.name == "z"
    assert dataclasses.astuple(ScriptObjectMeta("tokenizer", "text.Tokenizer")) == (
        "tokenizer",
        "text.Tokenizer",
    )


def test_names_that_other_implementations_know():
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = tl.ones(2)
    cases = {
        "aten.gt.Scalar": graph.call_function(aten.gt.Tensor, (x, 3)),
        "aten.gt.Tensor": graph.call_function(aten.gt.Tensor, (x, x)),
        "aten.pow.Scalar": graph.call_function(aten.pow.Tensor_Tensor, (2, x)),
        "aten.where.ScalarOther": graph.call_function(aten.where.self, (x, x, 1.0)),
        "aten.add.Tensor": graph.call_function(aten.add.Tensor, (x, 3)),
        "aten.to.dtype_layout": graph.call_function(aten.to.device, (x, "cpu")),
    }
    assert {name: portable.portable_name(node) for name, node in cases.items()} == {
        name: name for name in cases
    }
    counts = {name: portable.positional_count(node) for name, node in cases.items()}
    assert counts["aten.to.dtype_layout"] == 1 and counts["aten.where.ScalarOther"] == 3
    assert portable.aliases("aten.pow.Scalar") == ["aten.pow.Scalar", "aten.pow.Tensor_Tensor"]
    assert portable.aliases("aten.relu.default") == ["aten.relu.default"]


# ---- sizes


def function(x, more):
    return x, more


def test_shapes_of_tensors_wherever_they_are():
    x, y, n = tl.ones(2, 3), tl.ones(4), tl.ones(1)
    shapes = dynamic_shapes.ShapesCollection()
    batch = Dim("batch")
    shapes[x] = {0: batch}
    shapes[y][0] = Dim.AUTO
    assert len(shapes) == 2
    assert shapes.dynamic_shapes(function, (x,), {"more": {"k": [y, n]}}) == {
        "x": {0: batch},
        "more": {"k": [{0: Dim.AUTO}, None]},
    }
    with pytest.raises(AssertionError, match="mismatch"):
        shapes[x] = {1: batch}
    with pytest.raises(AssertionError, match="non-tensor"):
        shapes[3] = {0: batch}
    with pytest.raises(ValueError, match="were not found in args"):
        shapes.dynamic_shapes(function, (x, n))


def test_further_examples_show_what_is_dynamic():
    more = dynamic_shapes.AdditionalInputs()
    more.add((tl.ones(5, 3), 4))
    assert more.dynamic_shapes(function, (tl.ones(2, 3), 4)) == {"x": (Dim.DYNAMIC, None), "more": None}
    more.add((tl.ones(7, 3), 5))
    assert more.dynamic_shapes(function, (tl.ones(2, 3), 4)) == {
        "x": (Dim.DYNAMIC, None),
        "more": Dim.DYNAMIC,
    }
    with pytest.raises(AssertionError, match="tuple"):
        more.add([tl.ones(1)])

    class Sum(nn.Module):
        def forward(self, x):
            return x.sum(1)

    examples = dynamic_shapes.AdditionalInputs()
    examples.add((tl.ones(5, 3),))
    examples.verify(tl_export.export(Sum(), (tl.ones(2, 3),), dynamic_shapes={"x": {0: Dim.DYNAMIC}}))
    with pytest.raises((RuntimeError, AssertionError)):
        examples.verify(tl_export.export(Sum(), (tl.ones(2, 3),)))


def test_specifications_fit_the_arguments():
    combined = {"x": tl.ones(2, 3), "more": [tl.ones(4), 5]}
    batch = Dim("batch", min=1, max=8)
    spec = dynamic_shapes.spec_by_name(combined, ({0: batch}, [None, None]))
    assert spec == {"x": {0: batch}, "more": [None, None]}
    assert dynamic_shapes.spec_by_name(combined, None) is None
    entries = dynamic_shapes.check_spec(combined, spec)
    assert [path for _, _, path in entries] == ["['x']", "['more'][0]", "['more'][1]"]
    assert entries[0][1] == {0: batch} and entries[2][0] == 5
    with pytest.raises(UserError):
        dynamic_shapes.spec_by_name(combined, {"x": None, "other": None})
    for wrong in ({"x": {5: batch}}, {"x": "text"}, {"x": None, "more": [None, {0: batch}]}):
        with pytest.raises(UserError):
            dynamic_shapes.check_spec(combined, {"x": None, "more": None, **wrong})


# ---- tables and modules


def test_a_table_of_decompositions_is_changed_by_its_user():
    table = decomp_utils.CustomDecompTable()
    linear, relu, add = aten.linear.default, aten.relu.default, aten.add.Tensor
    assert decomp_utils.is_taken_apart(aten.relu6.default) and not decomp_utils.is_taken_apart(add)
    assert not decomp_utils.is_taken_apart(len) and not decomp_utils.is_taken_apart(aten.lstm.input)
    assert linear in table and add not in table and table.get(add, 7) == 7
    x, w = tl.ones(1, 2), tl.tensor([[2.0, 3.0]])
    assert table[linear](x, w).item() == 5 and not table.has_materialized
    other = table.copy()
    function = table.pop(linear)
    assert linear not in table and linear in other and function(x, w).item() == 5
    assert table.pop(linear, "absent") == "absent"
    for call in (lambda: table.pop(linear), lambda: table[linear]):
        with pytest.raises(KeyError):
            call()
    table.update({relu: abs})
    assert table[relu] is abs and relu in table
    plain = table.materialize()
    assert type(plain) is dict and plain[relu] is abs and table.has_materialized


def test_programs_become_modules_again(net):
    program = tl_export.export(net, (tl.ones(4, 2),), preserve_module_call_signature=("layer",))
    module = unflatten(program)
    assert isinstance(module, UnflattenedModule) and isinstance(module.layer, InterpreterModule)
    x = tl.tensor([[1.0, 2.0]] * 4)
    assert tl.equal(module(x)[0], net(x)[0]) and tl.equal(module.layer(x), net.layer(x))
    with pytest.raises(TypeError, match="exported with arguments of the structure"):
        module.layer(x, x)

    class Halves(FlatArgsAdapter):
        def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
            return [tl.cat(input_args)]

    adapted = unflatten(program, Halves())
    assert tl.equal(adapted(x[:1], x[1:])[0], net(x)[0])
    calls = InterpreterModuleDispatcher({"weight"}, [nn.Linear(1, 1), nn.ReLU()])
    assert [type(m) for m in calls.call_modules()] == [nn.Linear, nn.ReLU]
    assert tl.equal(calls.weight, calls.call_modules()[0].weight)
    calls(tl.ones(1))
    assert calls(tl.tensor([-1.0])).item() == 0
    with pytest.raises(AssertionError, match="needs a module"):
        InterpreterModuleDispatcher(set(), [])


def test_dataclasses_are_containers():
    @dataclasses.dataclass
    class Point:
        x: int
        y: int | None = None

    utils.register_dataclass_as_pytree_node(Point, serialized_type_name="tests.Point")
    leaves, spec = tree_flatten({"p": Point(1), "q": Point(2, 3)})
    assert leaves == [1, 2, 3] and tree_unflatten([4, 5, 6], spec) == {"p": Point(4), "q": Point(5, 6)}
    with pytest.raises(AssertionError, match="Only dataclasses"):
        utils.register_dataclass_as_pytree_node(int)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def test_segments_and_histograms_have_no_checks_in_a_graph():
    x, lengths = tl.arange(12.0).reshape(6, 2), tl.tensor([2, 4])
    exported = tl_export.export(Function(lambda x, n: tl.segment_reduce(x, "mean", lengths=n)), (x, lengths))
    assert exported.module()(x, lengths).tolist() == [[1, 2], [7, 8]]
    exported = tl_export.export(
        Function(lambda x: tl.histogramdd(x, [2, 3], range=[0.0, 12.0, 0.0, 12.0])[0]), (x,)
    )
    assert exported.module()(x).tolist() == [[2, 1, 0], [0, 1, 2]]


def test_objects_are_assigned_below_each_call_of_a_part():
    root = nn.Module()
    root.part, root.other = nn.Module(), nn.Module()
    root.add_module("part@1", nn.Module())
    weight = nn.Parameter(tl.ones(2))
    _assign_attr(weight, root, "part.inner.w", _AttrKind.PARAMETER)
    assert root.part.inner.w is weight is getattr(root, "part@1").inner.w and not list(root.other.children())
    _assign_attr(tl.ones(1), root, "b", _AttrKind.BUFFER, persistent=False)
    assert list(root.state_dict()) == ["part.inner.w", "part@1.inner.w"] and root.b.tolist() == [1.0]
    with pytest.raises(AssertionError, match="Parameter"):
        _assign_attr(tl.ones(1), root, "c", _AttrKind.PARAMETER)
