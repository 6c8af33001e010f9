"""The parts of `compile`, of recorded graphs, of packages, and what graphs write and read."""

import math
import operator
import pickle
import sys
import threading
from typing import ClassVar

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler, fx
from tl_compiler import export as tl_export
from tl_compiler.aot import compilers, graph_names
from tl_compiler.compiler import dynamo_config, errors, explanation, purity, stance, thread_state, watch
from tl_compiler.compiler.artifacts import CacheInfo
from tl_compiler.export.decompose import decompose_program
from tl_compiler.export.functional import functional_graph
from tl_compiler.export.inherited import FollowedRun, inherited_meta
from tl_compiler.export.regions import without_regions
from tl_compiler.export.serde.archive import load_program, save_program
from tl_compiler.fx import code_generation, folder, graph_module, readable
from tl_compiler.fx.passes.fake_run import FakeRun
from tl_compiler.fx.passes.operator_support import OperatorSupportBase
from tl_compiler.fx.passes.param_fetch import default_matching, module_fetch_book
from tl_compiler.fx.passes.utils.matcher_with_name_node_map_utils import SubgraphMatcherWithNameNodeMap
from tl_compiler.higher_order import wrap
from tl_compiler.package import PackageExporter, PackageImporter, sys_importer
from tl_compiler.package.file_structure_representation import Directory
from tl_compiler.package.importer import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter
from tl_compiler.package.package_exporter import PackagingErrorReason, RemovableDict
from tl_compiler.tracer import graphs, indexing, schemas
from tl_compiler.tracer.make_fx import make_fx
from tl_compiler.tracer.proxy_mode import ProxyTorchDispatchMode, current_mode
from tl_core.dispatch import autocast
from tl_core.operators.packets import aten
from tl_core.overrides import TorchFunctionMode

# ---- compile


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


def test_an_explanation_counts_graphs_and_breaks():
    result = explanation.explain_call(lambda x: tl.relu(x) + 1, (tl.ones(2),), {})
    assert isinstance(result, explanation.ExplainOutput) and (
        result.graph_count,
        result.graph_break_count,
    ) == (
        1,
        0,
    )
    assert result.op_count == len(result.ops_per_graph[0]) == 2 and result.break_reasons == []
    assert tl.equal(result.graphs[0](tl.ones(2))[0], tl.full((2,), 2.0)) and "Graph Count: 1\n" in str(result)
    broken = explanation.explain_call(branch, (tl.ones(2),), {})
    assert (broken.graph_count, broken.graph_break_count, len(broken.break_reasons)) == (0, 1, 1)
    (reason,) = broken.break_reasons
    assert isinstance(reason, explanation.GraphCompileReason) and reason.graph_break
    assert f"    Reason: {reason.reason}\n" in str(broken)


def test_a_stance_is_set_for_a_function():
    forced = stance.Stance("force_eager")
    records = []
    stance.run_in(forced, lambda: records.append(stance.current()))()
    assert records == [forced] and stance.current() == stance.Stance("default", None)
    with pytest.raises(ValueError, match="inside"):
        stance.run_in(forced, lambda: (_ for _ in ()).throw(ValueError("inside")).send(None))()
    assert stance.current().name == "default"


def test_functions_that_a_capture_may_run():
    assert purity.root_of("a.b.c") == "a" and purity.root_of(None) == ""
    assert [purity.is_ours(name) for name in ("tl_core._C", "torch.nn", "tl", "numpy", None)] == [
        True
    ] * 3 + [False] * 2
    assert [purity.is_standard(name) for name in ("os.path", "math", "tl_core", "__main__")] == [
        True,
        True,
        False,
        False,
    ]
    pure = (len, math.sqrt, operator.add, [].append, "a".join, dict.fromkeys, tl.relu, int.from_bytes)
    assert all(purity.is_pure(function) for function in pure)
    assert not any(purity.is_pure(function) for function in (print, open, exec, threading.Lock().acquire))


def test_the_state_of_a_thread_comes_back():
    before = thread_state.thread_state()
    assert not thread_state.is_observed()
    with TorchFunctionMode():
        assert thread_state.is_observed()
    try:
        tl.set_grad_enabled(False)
        tl.set_default_dtype(tl.float64)
        tl.use_deterministic_algorithms(True, warn_only=True)
        assert thread_state.thread_state() != before
    finally:
        thread_state.restore_thread_state(before)
    assert thread_state.thread_state() == before
    assert tl.is_grad_enabled() and tl.get_default_dtype() is tl.float32
    assert not tl.are_deterministic_algorithms_enabled()


def test_a_watch_stops_a_call():
    def effect():
        watch.stop_here("a file is written")

    watch.stop_here("outside a watch nothing happens")
    frame = sys._getframe()
    assert watch.user_location(frame) == (__file__, frame.f_lineno) and watch.user_location(None) is None
    with pytest.raises(watch.CaptureStopped) as caught, watch.Watch({effect.__code__}, {}):
        effect()
    assert caught.value.reason == "a file is written" and caught.value.location[0] == __file__
    assert not isinstance(caught.value, Exception)


def test_errors_of_compilation_form_a_tree():
    below = {
        errors.TorchDynamoException: (
            errors.InternalTorchDynamoError, errors.Unsupported, errors.SkipFrame, errors.ResetRequired,
            errors.BackendCompilerFailed, errors.InvalidBackend, errors.RestartAnalysis,
        ),
        errors.RestartAnalysis: (errors.SpeculationRestartAnalysis, errors.TensorifyScalarRestartAnalysis),
        RuntimeError: (errors.TorchDynamoException,),
    }  # fmt: skip
    assert all(issubclass(kind, base) for base, kinds in below.items() for kind in kinds)
    assert not issubclass(errors.Unsupported, errors.RestartAnalysis)


def test_artifacts_by_their_kind():
    info = CacheInfo({"inductor": ["a"], "pgo": []})
    assert info.inductor_artifacts == ["a"] and info.pgo_artifacts == info.autotune_artifacts == []
    assert info.aot_autograd_artifacts == [] and not info.empty() and CacheInfo({"inductor": []}).empty()
    with pytest.raises((NotImplementedError, RuntimeError, OSError, TypeError)):
        compiler.load_compiled_function(3)


RECORDED = {
    "verbose": False, "recompile_limit": 8,
    "accumulated_recompile_limit": 256, "fail_on_recompile_limit_hit": False,
    "specialize_int": False, "dynamic_shapes": True,
    "assume_static_by_default": True, "automatic_dynamic_shapes": True,
    "force_parameter_static_shapes": True, "force_nn_module_property_static_shapes": True,
    "allow_ignore_mark_dynamic": False, "guard_nn_modules": True,
    "prepare_freezing": False, "suppress_errors": False,
    "replay_record_enabled": False, "disable": False,
    "repro_after": None, "repro_level": 2,
    "capture_scalar_outputs": False, "capture_dynamic_output_shape_ops": False,
    "force_unspec_int_unbacked_size_like_on_torchrec_kjt": False, "allow_unspec_int_on_nn_module": False,
    "optimize_ddp": True, "skip_nnmodule_hook_guards": True,
    "raise_on_ctx_manager_usage": True, "allow_rnn": False,
    "error_on_recompile": False, "report_guard_failures": True,
    "trace_numpy": True, "enable_cpp_guard_manager": True,
    "inline_inbuilt_nn_modules": True, "install_free_tensors": False,
    "allow_empty_graphs": False, "compiled_autograd": False,
    "skip_fwd_side_effects_in_bwd_under_checkpoint": False,
}  # fmt: skip


def test_settings_have_the_defaults_of_pytorch():
    assert {name: getattr(dynamo_config, name) for name in RECORDED} == RECORDED


def test_a_region_of_autocast_in_a_graph_ends():
    before = (
        autocast.is_autocast_enabled("cpu"),
        autocast.get_autocast_dtype("cpu"),
        autocast.is_autocast_cache_enabled(),
    )
    products = []

    def program(x):
        products.append(x @ x)
        return x

    wrap.wrap_with_autocast("cpu", tl.float16, True, False, program, tl.ones(2, 2))
    state = (
        autocast.is_autocast_enabled("cpu"),
        autocast.get_autocast_dtype("cpu"),
        autocast.is_autocast_cache_enabled(),
    )
    assert products[0].dtype is tl.float16 and state == before


# ---- graphs before execution


def test_names_of_graphs_that_a_compiler_has():
    number = graph_names.next_function()
    assert graph_names.next_function() == number + 1
    with graph_names.graph_in_compilation("forward"):
        with graph_names.graph_in_compilation("backward"):
            assert graph_names.get_aot_compilation_context() == (["backward"], "model", number + 1)
        assert graph_names.get_aot_graph_name() == f"model__forward_{number + 1}"
    assert graph_names.get_aot_compilation_context()[0] == []


def test_compilers_that_take_lists_and_draw(monkeypatch):
    boxed = compilers.make_boxed_func(max)
    assert boxed([1, 3, 2]) == 3 and boxed._boxed_call
    files = []
    monkeypatch.setattr(compilers, "draw_graph", lambda graph, name: files.append((graph, name)))
    module = fx.symbolic_trace(lambda x: x + 1)
    with graph_names.graph_in_compilation("forward"):
        assert compilers.draw_graph_compile("picture")(module, []) is module
        assert files == [(module, f"picture_{graph_names.get_aot_graph_name()}")]


# ---- recorded graphs


def test_nodes_without_an_effect_are_removed():
    graph = fx.Graph()
    x = graph.placeholder("x")
    dead = graph.call_function(aten.relu.default, (x,))
    graph.call_function(aten.neg.default, (dead,))
    write = graph.call_function(aten.add_.Tensor, (x, 1))
    check = graph.call_function(aten.sym_constrain_range.default, (3,))
    attribute = graph.create_node("get_attr", "weight")
    output = graph.output(x)
    effects = {node.name: graphs.has_effect(node) for node in graph.nodes}
    expected = {x: True, dead: False, write: True, check: True, attribute: False, output: True}
    assert {node: effects[node.name] for node in expected} == expected
    graphs.eliminate_dead(graph)
    assert [*graph.nodes] == [x, write, check, output]


def test_what_a_schema_says():
    schema = schemas.schema_of(aten.add.Tensor)
    assert isinstance(schema, schemas.SchemaOf) and not schema.writes and not schema.takes_device
    assert [(p.name, p.type, p.keyword_only) for p in schema.arguments] == [
        ("self", "Tensor", False), ("other", "Tensor", False), ("alpha", "Scalar", True),
    ]  # fmt: skip
    assert schema.arguments[2].default == "1" and schema.arguments[0].default is None
    assert schema.returns == ("Tensor",) and schemas.schema_of(aten.add_.Tensor).writes
    assert schemas.schema_of(aten.max.dim).returns == ("Tensor", "Tensor")
    assert schemas.schema_of(aten.empty.memory_format).takes_device
    split = schemas.schema_of(aten.split_with_sizes.default)
    assert split.returns == ("Tensor[]",) and split.arguments[1].type == "int[]"


@pytest.mark.parametrize(
    "index",
    [
        lambda n: (slice(1, n - 1), None, -1), lambda n: (..., n - 4), lambda n: [True, False, True, False, True],
        lambda n: (tl.tensor([0, 2]), slice(None, None, 2)), lambda n: n - 2, lambda n: (slice(-3, None), [1, 0]),
    ],
)  # fmt: skip
def test_indices_with_symbolic_sizes(index):
    def read(x):
        return indexing.index_fake(x, index(x.shape[0])) * 1

    def write(x):
        y = x.clone()
        indexing.assign(y, index(y.shape[0]), 7.0)
        return y

    example = tl.arange(20.0).reshape(5, 4)
    for function in (read, write):
        graph = make_fx(function, tracing_mode="symbolic")(example)
        expected = example.clone()
        if function is write:
            expected[index(5)] = 7.0
        assert tl.equal(graph(example), expected if function is write else expected[index(5)])


def test_the_mode_that_records():
    modes = []
    make_fx(lambda x: modes.append(current_mode()) or x + 1)(tl.ones(1))
    assert current_mode() is None and isinstance(modes[0], ProxyTorchDispatchMode)


# ---- programs


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", tl.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        with tl.no_grad():
            y = x.neg()
        return aten.relu6.default(y) + self.count


def test_programs_are_written_read_and_decomposed(tmp_path):
    program = tl_export.export_for_training(Counter(), (tl.ones(2),))
    x = tl.tensor([-3.0, 8.0])
    save_program(program, tmp_path / "a.pt2", {"note": "text"}, None)
    files = {"note": ""}
    again = load_program(tmp_path / "a.pt2", files, None)
    assert tl.equal(again.module()(x), program.module()(x)) and files["note"] in ("text", b"text")
    plain = decompose_program(program, {})
    assert tl.equal(plain.module()(x), tl.tensor([3.0 + 2, 0.0 + 2]))  # the second call of the same buffer
    graph, copies, writes = functional_graph(program.graph)
    targets = [n.target for n in graph.nodes if n.op == "call_function"]
    assert not any(schemas.schema_of(t).writes for t in targets if hasattr(t, "_schema"))
    assert [n.name for n in writes] == ["b_count"]
    assert {*writes} <= {*copies}
    inlined = without_regions(program.graph_module)
    assert aten.neg.default in [n.target for n in inlined.graph.nodes]
    assert without_regions(inlined) is inlined


def test_a_program_that_promises_too_much_is_put_right():
    class Four(nn.Module):
        def forward(self, x):
            return x.reshape(2, 2)

    x = tl.ones(4)
    program = tl_export.draft_export(Four(), (x,), dynamic_shapes={"x": {0: tl_export.Dim("n")}})
    assert tl.equal(program.module()(x), x.reshape(2, 2))


def test_origins_follow_a_second_recording():
    graph = fx.symbolic_trace(lambda x: x + 1).graph
    node = next(n for n in graph.nodes if n.op == "call_function")
    node.meta.update(custom={"stage": 1}, stack_trace="a line", val=3)
    meta = inherited_meta(node)
    assert meta == {"custom": {"stage": 1}, "stack_trace": "a line", "nn_module_stack": {}}

    class Recorder:
        def __init__(self):
            self.inherited = {}

    records = []

    class Run(FollowedRun):
        def call_function(self, target, args, kwargs):
            records.append(dict(self.recorder.inherited))
            return super().call_function(target, args, kwargs)

    recorder = Recorder()
    assert Run(fx.GraphModule(nn.Module(), graph), recorder).run(2) == 3
    assert records == [meta] and recorder.inherited == {}


# ---- graph modules


def test_a_module_is_built_again_from_its_records():
    module = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    records = graph_module.node_records(module.graph)
    assert [(op, name) for op, name, *_ in records] == [(n.op, n.name) for n in module.graph.nodes]
    state = {k: v for k, v in module.__dict__.items() if not k.startswith("_graph") and k != "_code"}
    again = graph_module.restored(state, (records, None), None, "Again")
    x = tl.tensor([[1.0, -2.0]])
    assert tl.equal(again(x), module(x)) and type(again).__name__ == "Again"


def test_a_folder_is_a_package(tmp_path, monkeypatch):
    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.act = nn.Linear(2, 2), nn.ReLU()
            self.weight = nn.Parameter(tl.tensor([2.0, 3.0]))

        def forward(self, x):
            return self.act(self.layer(x)) * self.weight

    module = fx.symbolic_trace(Scale())
    path = tmp_path / "scale_package"
    folder.write_folder(module, module.graph.python_code("self"), path, "Scaled")
    (path / "state_dict.pt").write_bytes(pickle.dumps(module.state_dict()))
    text = (path / "module.py").read_text()
    assert "class Scaled(torch.nn.Module):" in text and "torch.nn.Linear(" in text


def test_comments_on_the_origin():
    node = fx.Graph().placeholder("x")
    assert readable.origin_comment(node, "before") == "No stacktrace found for following nodes"
    node.meta["stack_trace"] = 'File "a.py", line 3, in f\n  y = x + 1\n'
    node.meta["stage"] = 2
    assert readable.origin_comment(node, "before") == "File: a.py:3 in f, code: y = x + 1"
    assert readable.origin_comment(node, "before", ("stage",)).endswith("y = x + 1 stage: 2")
    node.meta["stack_trace"] = "no frame"
    assert readable.origin_comment(node, "before") == "before"
    assert isinstance(code_generation.Style, type)


def test_runs_on_fakes_and_named_patterns():
    module = fx.symbolic_trace(lambda x: (x + 1).neg())
    assert FakeRun(module).run(tl.ones(2)).tolist() == [-2.0, -2.0]

    def pattern(x):
        total = x + 1
        return total, {"total": total}

    matcher = SubgraphMatcherWithNameNodeMap(fx.symbolic_trace(pattern))
    (match,) = matcher.match(module.graph)
    assert match.name_node_map["total"].name == "add"
    assert (
        default_matching("kernel_size", 1) == "kernel_size"
        and module_fetch_book[nn.ReLU][2] is default_matching
    )
    with pytest.raises(TypeError):
        OperatorSupportBase()


# ---- packages


def test_importers_find_the_first_module():
    class Empty(Importer):
        modules: ClassVar = {}

        def import_module(self, module_name):
            raise ModuleNotFoundError(module_name)

    ordered = OrderedImporter(Empty(), sys_importer)
    assert ordered.import_module("math") is math and ordered.get_name(math.sqrt) == ("math", "sqrt")
    assert ordered.get_name(OrderedImporter) == (OrderedImporter.__module__, "OrderedImporter")
    with pytest.raises(ModuleNotFoundError):
        OrderedImporter(Empty()).import_module("math")
    with pytest.raises(TypeError, match="is not a Importer"):
        OrderedImporter(3).import_module("math")
    with pytest.raises(ObjNotFoundError, match="not found"):
        sys_importer.get_name(lambda: 0)
    other = type("OrderedImporter", (), {"__module__": OrderedImporter.__module__})
    with pytest.raises(ObjMismatchError, match="comes from"):
        sys_importer.get_name(other)


def test_the_files_of_a_package_are_a_tree(tmp_path):
    tree = Directory("package", True)
    for name in ("b.txt", "a/x.py", "a/c/y.py"):
        tree._add_file(name)
    assert tree.has_file("a/c/y.py") and tree.has_file("a") and not tree.has_file("a/y.py")
    assert str(tree).splitlines() == [
        "─── package", "    ├── a", "    │   ├── c", "    │   │   └── y.py", "    │   └── x.py", "    └── b.txt",
    ]  # fmt: skip
    with PackageExporter(tmp_path / "p.pt") as exporter:
        records = []
        exporter.register_extern_hook(lambda exporter, name: records.append(name))
        exporter.register_extern_hook(lambda exporter, name: records.append("removed")).remove()
        exporter.extern("math")
        exporter.save_source_string("model", "import math\n")
    assert records == ["math"] and RemovableDict({1: print}) == {1: print}
    assert isinstance(PackageImporter(tmp_path / "p.pt").file_structure(), Directory)
    assert repr(PackagingErrorReason.DENIED) == "<PackagingErrorReason.DENIED>"


def test_imports_of_packaged_code(tmp_path):
    with PackageExporter(tmp_path / "p.pt") as exporter:
        exporter.save_source_string("root", "WORD = 'root'", is_package=True)
        exporter.save_source_string("root.leaf", "from . import WORD\nNAME = WORD")
        exporter.save_source_string(
            "main", "import root.leaf\nfrom root import leaf\nPAIR = root.leaf.NAME, leaf.NAME"
        )
    main = PackageImporter(tmp_path / "p.pt").import_module("main")
    assert main.PAIR == ("root", "root") and main.root.leaf is main.leaf
    importer = PackageImporter(tmp_path / "p.pt")
    assert importer.__import__("root.leaf").WORD == "root"
    assert importer.__import__("root.leaf", fromlist=["NAME"]).NAME == "root"
