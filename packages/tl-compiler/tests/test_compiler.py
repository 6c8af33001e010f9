"""`compile`, its backends and marks: what each option does, and what is said where it does nothing."""

import copy
import gc
import inspect
import logging
import pickle
import warnings

import pytest

import tl_core as tl
import tl_nn
from tl_compiler import compiler
from tl_compiler.compat import dynamo
from tl_compiler.compiler import dynamo_config as config
from tl_compiler.compiler import warn_once as warnings_once
from tl_compiler.compiler.errors import BackendCompilerFailed, FailOnRecompileLimitHit, Unsupported
from tl_compiler.compiler.watch import Watch
from tl_compiler.fx import GraphModule, symbolic_trace


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(warnings_once, "_texts", set())
    compiler.reset()


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Backend:
    """Counts the graphs that it gets and the calls of what it returns."""

    def __init__(self, result=None):
        self.graphs, self.examples, self.runs, self.options, self.result = [], [], 0, [], result

    def __call__(self, graph, examples, **options):
        assert isinstance(graph, GraphModule)
        self.graphs.append(graph)
        self.examples.append(examples)
        self.options.append(options)

        def run(*inputs):
            self.runs += 1
            return graph(*inputs) if self.result is None else self.result

        return run


def double(x):
    return 2 * x


def decided(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


class Doubler:
    def __call__(self, x):
        return 2 * x


@pytest.mark.parametrize("model", [double, Doubler(), len, double.__call__])
def test_what_is_compiled_by_default_runs_as_it_is(quiet, model):
    x = tl.ones(3)
    assert str(compiler.compile(model)(x)) == str(model(x))
    assert str(compiler.compile(model, fullgraph=True, dynamic=False, mode="max-autotune")(x)) == str(
        model(x)
    )


def test_decorators(quiet):
    @compiler.compile
    def first(x):
        return x + 1

    @compiler.compile(mode="reduce-overhead")
    def second(x):
        """Adds two."""
        return x + 2

    assert (first(1), second(1), first.__name__, second.__doc__) == (2, 3, "first", "Adds two.")
    assert inspect.signature(second).parameters.keys() == {"x"}


def test_a_backend_that_is_not_there_is_named_once():
    with pytest.warns(
        UserWarning, match=r"tl\.compile: there is no backend 'tvm'; tl's own compiles"
    ) as text:
        assert compiler.compile(double, backend="tvm")(1) == 2
    assert text[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler.compile(double)(1)
        compiler.compile()(double)(1)
        compiler.compile(double, backend="tvm")(1)


@pytest.mark.parametrize("options", [{"backend": "eager"}, {"backend": "aot_eager"}, {"disable": True}])
def test_who_asks_for_eager_is_not_warned(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiler.compile(double, **options)(2) == 4


# ---- backends
def test_a_backend_gets_a_graph_and_examples_and_what_it_returns_is_run():
    backend = Backend()
    f = compiler.compile(lambda x, y: (x + y).relu(), backend=backend)
    x, y = tl.randn(3), tl.randn(3)
    for _ in range(3):
        assert tl.equal(f(x, y), (x + y).relu())
    assert (len(backend.graphs), backend.runs) == (1, 3)
    (graph,), (examples,) = backend.graphs, backend.examples
    assert [n.op for n in graph.graph.nodes] == ["placeholder"] * 2 + ["call_function"] * 2 + ["output"]
    assert tl.equal(graph(*examples)[0], (x + y).relu())


def test_what_the_backend_returns_decides_the_result():
    f = compiler.compile(double, backend=Backend(result=(tl.zeros(2),)))
    assert f(tl.ones(2)).tolist() == [0.0, 0.0]
    f = compiler.compile(double, backend=Backend(result=tl.zeros(2)))  # a tensor instead of a tuple of one
    assert f(tl.ones(2)).tolist() == [0.0, 0.0]


def test_parameters_are_inputs_and_get_gradients():
    model, backend = tl_nn.Linear(3, 2), Backend()
    f = compiler.compile(model, backend=backend)
    x = tl.randn(4, 3)
    f(x).square().sum().backward()
    clone = model.weight.grad.clone()
    model.zero_grad()
    model(x).square().sum().backward()
    assert tl.equal(clone, model.weight.grad)
    assert [type(t) for t in backend.examples[0]] == [tl.Tensor, tl_nn.Parameter, tl_nn.Parameter]


def test_nodes_say_where_they_come_from():
    backend = Backend()
    compiler.compile(decided_by_shape, backend=backend)(tl.ones(2))
    node = next(n for n in backend.graphs[0].graph.nodes if n.op == "call_function")
    assert "return x + 1" in node.meta["stack_trace"]


def decided_by_shape(x):
    if x.shape[0] > 1:
        return x + 1
    return x


def test_registered_backends(quiet):
    backend = Backend()
    dynamo.register_backend(backend, name="counted")
    assert "counted" in compiler.list_backends() and dynamo.lookup_backend("counted") is backend
    compiler.compile(double, backend="counted")(tl.ones(2))
    assert len(backend.graphs) == 1
    with pytest.raises(AssertionError, match="the backend 'counted' is registered already"):
        dynamo.register_backend(Backend(), name="counted")

    @dynamo.register_backend(tags=("experimental",))
    def in_trial(graph, examples):
        return graph.forward

    assert "in_trial" not in compiler.list_backends()
    assert "in_trial" in compiler.list_backends(exclude_tags=("debug",))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cudagraphs", "there are no CUDA graphs"),
        ("inductor", "takes functions, not graphs"),
        ("onnxrt", "ONNX Runtime isn't connected"),
        ("openxla", "XLA isn't connected"),
        ("tvm", "TVM isn't connected"),
    ],
)
def test_a_graph_of_an_absent_backend_runs_as_it_is(name, reason):
    graph, x = symbolic_trace(double), tl.ones(2)
    with pytest.warns(UserWarning, match=f"^the backend '{name}': .*{reason}; the graph runs as it is$"):
        compiled = dynamo.lookup_backend(name)(graph, [x])
    assert compiled(x).tolist() == [2.0, 2.0]


def test_the_backends_that_compile_takes():
    listed = compiler.list_backends()
    assert {"cudagraphs", "inductor", "openxla", "tvm"} <= set(listed) and "eager" not in listed
    assert all(callable(dynamo.lookup_backend(name)) for name in compiler.list_backends(None))
    assert {"aot_eager", "eager"} <= set(compiler.list_backends(None))
    assert dynamo.list_backends is compiler.list_backends


def test_unknown_backends(quiet):
    for backend in ("inductor", "cudagraphs", "eager", None):
        assert compiler.compile(double, backend=backend)(2) == 4
    with pytest.raises(
        compiler.InvalidBackend, match="Invalid backend: 'nonsense', should be a function or one of"
    ):
        compiler.compile(double, backend="nonsense")
    with pytest.raises(compiler.InvalidBackend, match="Invalid backend: 3"):
        compiler.compile(double, backend=3)


def test_a_backend_that_fails():
    def broken(graph, examples):
        raise ValueError("no")

    with pytest.raises(BackendCompilerFailed, match="backend='broken' raised:\nValueError: no"):
        compiler.compile(double, backend=broken)(tl.ones(2))
    with config.patch(suppress_errors=True):
        assert compiler.compile(double, backend=broken)(tl.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(BackendCompilerFailed, match="can't be called"):
        compiler.compile(double, backend=lambda graph, examples: 3)(tl.ones(2))


def test_a_backend_gets_mode_and_options():
    backend = Backend()
    compiler.compile(double, backend=backend, mode="max-autotune")(tl.ones(2))
    compiler.compile(double, backend=backend, options={"level": 3})(tl.ones(2))
    compiler.compile(double, backend=backend, mode="default")(tl.ones(2))
    assert backend.options == [{"mode": "max-autotune"}, {"options": {"level": 3}}, {}]
    with pytest.warns(UserWarning, match="the backend 'eager' has no options; mode: without effect"):
        compiler.compile(double, backend="eager", mode="max-autotune")(tl.ones(2))


def test_options(quiet):
    assert compiler.compile(double, options={"trace.enabled": True, "max_autotune": True})(2) == 4
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        compiler.compile(double, mode="default", options={})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default"):
        compiler.compile(double, mode="fast")
    for wrong in ([], "x", {1: 2}):
        with pytest.raises(RuntimeError, match="options must be a dictionary of settings by name, got"):
            compiler.compile(double, options=wrong)


@pytest.mark.parametrize("name", ["fullgraph", "dynamic", "disable"])
def test_flags_are_bools(name):
    with pytest.raises(AssertionError, match=f"Expected {name} to be a bool, got <class 'str'>: 'yes'"):
        compiler.compile(double, **{name: "yes"})


def test_only_what_can_be_called_is_compiled():
    for call in (lambda: compiler.compile(3), lambda: compiler.compile()(3)):
        with pytest.raises(
            AssertionError, match="A callable function is expected as model, but <class 'int'>"
        ):
            call()


def test_the_signature_names_the_options():
    names = list(inspect.signature(compiler.compile).parameters)
    assert names == ["model", "fullgraph", "dynamic", "backend", "mode", "options", "disable"]


# ---- where no graph is made
LINE = inspect.getsourcelines(decided)[1] + 1


@pytest.mark.parametrize("backend", ["inductor", "eager", Backend()])
def test_fullgraph_raises_where_a_value_decides(quiet, backend):
    f = compiler.compile(decided, backend=backend, fullgraph=True)
    for _ in range(2):
        with pytest.raises(Unsupported, match=rf"{__file__}:{LINE}: the value of a tensor is asked for"):
            f(tl.ones(2))


def test_without_fullgraph_it_runs_eagerly(caplog):
    backend = Backend()
    f = compiler.compile(decided, backend=backend)
    with caplog.at_level(logging.INFO, "torch._dynamo"):
        assert f(tl.ones(1)).item() == 2 and f(-tl.ones(1)).item() == -2
    assert not backend.graphs and f"{__file__}:{LINE}" in caplog.text


def test_fullgraph_raises_where_an_effect_can_not_be_repeated():
    def printed(x):
        print("called")
        return x + 1

    with pytest.raises(Unsupported, match="print is called, whose effect or value no graph has"):
        compiler.compile(printed, backend="eager", fullgraph=True)(tl.ones(2))


def test_explain():
    report = dynamo.explain(lambda x: x.sin() + x.cos())(tl.ones(2))
    assert (report.graph_count, report.graph_break_count, report.op_count) == (1, 0, 3)
    assert report.ops_per_graph[0][0] is tl.ops.aten.sin.default and "Graph Count: 1" in str(report)
    assert isinstance(report.graphs[0], GraphModule)
    report = dynamo.explain(decided, tl.ones(2))
    assert (report.graph_count, report.graph_break_count, report.op_count) == (0, 1, 0)
    (broken,) = report.break_reasons
    assert broken.user_stack[0].lineno == LINE and "the value of a tensor" in broken.reason
    assert "Break Reason 1" in str(report)
    model = tl_nn.Sequential(tl_nn.Linear(2, 2), tl_nn.ReLU())
    assert dynamo.explain(model)(tl.ones(1, 2)).op_count == 2
    assert dynamo.explain(compiler.compile(model, backend="eager"))(tl.ones(1, 2)).op_count == 2


def test_a_graph_break_that_is_asked_for():
    def f(x):
        dynamo.graph_break("here")
        return x + 1

    backend = Backend()
    assert compiler.compile(f, backend=backend)(tl.ones(1)).item() == 2 and not backend.graphs
    assert dynamo.explain(f)(tl.ones(1)).break_reasons[0].reason == "here"
    assert f(tl.ones(1)).item() == 2


# ---- questions
def test_the_answers_tell_where_the_code_runs():
    answers = []

    def f(x):
        return x + 1 if (compiler.is_compiling() and compiler.is_dynamo_compiling()) else x - 1

    assert compiler.compile(f, backend="eager")(tl.ones(1)).item() == 2
    assert f(tl.ones(1)).item() == 0

    def g(x):
        return x + 1 if compiler.is_exporting() else x - 1

    assert compiler.compile(g, backend="eager")(tl.ones(1)).item() == 0

    def backend(graph, examples):
        answers.append(compiler.is_compiling())
        return graph.forward

    compiler.compile(double, backend=backend)(tl.ones(1))
    assert answers == [False]
    assert not (compiler.is_compiling() or compiler.is_dynamo_compiling() or compiler.is_exporting())
    assert compiler.config.job_id is None and compiler.cudagraph_mark_step_begin() is None


def test_what_exports_is_compiling():
    from tl_compiler.export import export

    class Model(tl_nn.Module):
        def forward(self, x):
            messages = compiler.is_compiling(), compiler.is_exporting(), compiler.is_dynamo_compiling()
            return x + 1 if messages == (True, True, False) else x

    assert export(Model(), (tl.ones(1),)).module()(tl.ones(1)).item() == 2


# ---- disable
def test_disabled_functions_are_not_compiled():
    backend = Backend()

    @compiler.disable
    def plain(x):
        return x * 3

    f = compiler.compile(lambda x: plain(x) + 1, backend=backend)
    assert f(tl.ones(1)).item() == 4 and not backend.graphs
    assert compiler.compile(plain, backend=backend)(tl.ones(1)).item() == 3 and not backend.graphs
    with pytest.raises(Unsupported, match=r"disable marks: why"):
        marked = compiler.disable(reason="why")(double)
        compiler.compile(lambda x: marked(x), backend=backend, fullgraph=True)(tl.ones(1))


def test_disable_is_recursive_unless_told_otherwise():
    backend = Backend()
    inner = compiler.compile(double, backend=backend)
    assert compiler.disable(lambda x: inner(x))(tl.ones(1)).item() == 2 and not backend.graphs
    assert compiler.disable(lambda x: inner(x), recursive=False)(tl.ones(1)).item() == 2
    assert len(backend.graphs) == 1


def test_disabled_modules_and_classes():
    backend = Backend()
    model = tl_nn.Linear(2, 2)
    off = compiler.disable(model)
    assert isinstance(off, dynamo.OptimizedModule) and off._orig_mod is model

    @compiler.disable
    class Off(tl_nn.Module):
        def forward(self, x):
            return x + 1

    f = compiler.compile(Off(), backend=backend)
    assert f(tl.ones(1)).item() == 2 and not backend.graphs


@pytest.mark.parametrize(
    "mark",
    [
        compiler.disable,
        compiler.disable(),
        compiler.allow_in_graph,
        compiler.assume_constant_result,
        compiler.substitute_in_graph,
        compiler.set_stance("default"),
    ],
)
def test_annotations_are_for_what_can_be_called(quiet, mark):
    with pytest.raises(AssertionError, match=r"must be callable: .* got <class 'int'>"):
        mark(3)


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("set_stance", lambda: compiler.set_stance("default", skip_guard_eval_unsafe=True)),
        ("torch._dynamo.config.capture_scalar_outputs", lambda: setattr(config, "capture_scalar_outputs", 1)),
        ("torch._inductor.config.triton.cudagraphs", lambda: set_inductor("triton.cudagraphs")),
    ],
)
def test_what_has_no_effect_says_so_once(name, mark):
    with pytest.warns(UserWarning, match=rf"{name.replace('.', '[.]')}.*without effect"):
        mark()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mark()
    config.load_config({"capture_scalar_outputs": False})


def set_inductor(name):
    from tl_compiler.compat.inductor import config as inductor

    setattr(inductor, name, not getattr(inductor, name))


# ---- stances
def test_force_eager():
    backend = Backend()
    f = compiler.compile(double, backend=backend)
    with compiler.set_stance("force_eager"):
        f(tl.ones(2))
    assert not backend.graphs
    f(tl.ones(2))
    compiler.set_stance("force_eager")
    try:
        f(tl.ones(2))
        assert backend.runs == 1
    finally:
        compiler.set_stance("default")
    f(tl.ones(2))
    assert backend.runs == 2


def test_a_decorated_function_has_its_stance():
    backend = Backend()
    f = compiler.compile(double, backend=backend)

    @compiler.set_stance("force_eager")
    def program(x):
        return f(x)

    assert program(tl.ones(1)).item() == 2 and not backend.graphs
    f(tl.ones(1))
    assert backend.runs == 1


def test_recompiles_by_stance():
    backend = Backend()
    f = compiler.compile(double, backend=backend)
    f(tl.ones(2))
    with compiler.set_stance("fail_on_recompile"):
        assert f(tl.zeros(2)).tolist() == [0, 0]
        with pytest.raises(RuntimeError, match=r"Detected recompile when torch\.compile stance is"):
            f(tl.ones(3))
    with compiler.set_stance("eager_on_recompile"):
        f(tl.ones(2))
        assert f(tl.ones(3)).tolist() == [2, 2, 2]
    assert (len(backend.graphs), backend.runs) == (1, 3)
    f(tl.ones(3))
    assert len(backend.graphs) == 2


def test_the_first_call_is_eager():
    backend = Backend()
    f = compiler.compile(double, backend=backend)
    with compiler.set_stance("eager_then_compile"):
        f(tl.ones(2))
        assert not backend.graphs
        f(tl.ones(2))
    assert len(backend.graphs) == 1


def test_a_backend_for_all():
    own, forced = Backend(), Backend()
    f = compiler.compile(double, backend=own)
    with compiler.set_stance("default", force_backend=forced):
        f(tl.ones(2))
    f(tl.ones(2))
    assert (len(own.graphs), len(forced.graphs)) == (1, 1)


def test_wrong_stances():
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'nonsense'"):
        compiler.set_stance("nonsense")
    with pytest.raises(RuntimeError, match="force_backend needs the stance 'default', got 'force_eager'"):
        compiler.set_stance("force_eager", force_backend="eager")

    def f(x):
        compiler.set_stance("force_eager")
        return x

    with pytest.raises(Unsupported, match="set_stance cannot be called"):
        compiler.compile(f, backend="eager", fullgraph=True)(tl.ones(1))
    assert compiler.compile(double, backend="eager")(tl.ones(1)).item() == 2


# ---- settings
def test_settings_that_decide():
    backend = Backend()
    f = compiler.compile(double, backend=backend, dynamic=False)
    with config.patch(recompile_limit=2):
        f(tl.ones(1)), f(tl.ones(2))
        with pytest.warns(UserWarning, match="recompile_limit reached: double has 2 graphs"):
            assert f(tl.ones(3)).tolist() == [2, 2, 2]
        with config.patch(fail_on_recompile_limit_hit=True), pytest.raises(FailOnRecompileLimitHit):
            f(tl.ones(4))
    assert len(backend.graphs) == 2
    assert config.cache_size_limit == config.recompile_limit == 8
    with config.patch(error_on_recompile=True), pytest.raises(RuntimeError, match="error_on_recompile"):
        f(tl.ones(5))
    with config.patch(disable=True):
        f(tl.ones(6))
    compiler.reset()
    f(tl.ones(1))
    assert len(backend.graphs) == 3
    with pytest.raises(AttributeError, match="nonsense does not exist"):
        config.nonsense = 1


# ---- modules
class Net(tl_nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = tl_nn.Linear(2, 2)
        self.factor = 1.0

    def forward(self, x):
        return self.linear(x) * self.factor

    def other(self):
        return "other"


def test_compiled_modules_answer_for_the_module():
    model, backend = Net(), Backend()
    result = compiler.compile(model, backend=backend)
    assert isinstance(result, dynamo.OptimizedModule) and result._orig_mod is model
    assert (result.factor, result.other()) == (1.0, "other")
    result.factor = 3.0
    assert model.factor == 3.0 and next(iter(result.state_dict())) == "_orig_mod.linear.weight"
    x = tl.randn(3, 2)
    assert tl.equal(result(x), model(x)) and len(backend.graphs) == 1
    result.eval()
    assert not model.training
    assert compiler.compile(result, backend=backend)._orig_mod is model
    for copied in (copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert tl.equal(copied(x), model(x))


def test_a_module_is_compiled_in_place():
    model, backend = Net(), Backend()
    model.compile(backend=backend)
    x = tl.randn(3, 2)
    expected = x @ model.linear.weight.t() + model.linear.bias
    assert tl.allclose(model(x), expected) and type(model) is Net
    model.factor = 2.0
    assert tl.allclose(model(x), expected * 2)
    assert (len(backend.graphs), backend.runs) == (2, 2)
    assert tl.allclose(pickle.loads(pickle.dumps(model))(x), expected * 2) and backend.runs == 2
    assert tl.allclose(copy.deepcopy(model)(x), expected * 2) and backend.runs == 2


def test_methods_are_compiled_with_their_object():
    class Model(Net):
        @compiler.compile(backend="eager")
        def forward(self, x):
            return super().forward(x) + 1

    model = Model()
    x = tl.randn(3, 2)
    assert tl.allclose(model(x), model.linear(x) + 1)


# ---- other names
def test_functions_of_arrays():
    numpy = pytest.importorskip("numpy")
    f = compiler.wrap_numpy(lambda x: {"sum": numpy.sum(x), "n": 3})
    assert f(tl.ones(3))["sum"].item() == 3 and f(tl.ones(3))["n"] == 3


def test_nothing_is_kept_between_processes():
    assert compiler.save_cache_artifacts() is None and compiler.load_cache_artifacts(b"x") is None
    with pytest.raises(TypeError, match="expects bytes"):
        compiler.load_cache_artifacts("x")


def test_older_forms():
    backend = Backend()
    dynamo.optimize(backend)(double)(tl.ones(2))
    assert len(backend.graphs) == 1
    with pytest.raises(Unsupported):
        dynamo.optimize_assert(backend)(decided)(tl.ones(2))
    f = compiler.compile(double, backend=backend)
    f(tl.ones(3))
    assert dynamo.run(f)(tl.ones(4)).tolist() == [2] * 4 and len(backend.graphs) == 2

    @dynamo.disallow_in_graph
    def off(x):
        return 2 * x

    compiler.compile(lambda x: off(x), backend=backend)(tl.ones(2))
    assert len(backend.graphs) == 2


def test_backends_that_count():
    from tl_compiler.compat.dynamo.testing import CompileCounter, EagerAndRecordGraphs

    counter, recorder = CompileCounter(), EagerAndRecordGraphs()
    for backend in (counter, recorder):
        f = compiler.compile(lambda x: x.sin() + 1, backend=backend)
        f(tl.ones(2)), f(tl.ones(3))
    assert (counter.frame_count, counter.op_count, len(recorder.graphs)) == (2, 4, 2)
    counter.clear()
    assert (counter.frame_count, counter.op_count) == (0, 0)


def test_a_compiled_function_lets_its_arguments_go():
    import gc
    import weakref

    f = compiler.compile(double, backend="eager")
    x = tl.ones(1000)
    alive = weakref.ref(x)
    f(x)
    del x
    gc.collect()
    assert alive() is None


def test_finalizers_of_garbage_do_not_stop_a_capture():
    class Cyclic:
        def __init__(self):
            self.me = self

        def __del__(self):
            freed.append(1)

    freed, value, n = [], None, 20_000
    gc.collect()
    Cyclic()
    with Watch(set(), {}):
        while n:  # enough objects for a collection, without a call
            value, n = [value], n - 1
        freed_inside = [*freed]
    assert gc.isenabled() and not freed_inside
    del value
    gc.collect()
    assert freed
