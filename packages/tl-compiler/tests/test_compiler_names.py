"""PyTorch's names around `compile`: packages of programs, regions, callbacks, counters, helpers of tests."""

import io
import unittest
import warnings
from typing import ClassVar

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import compiler, export
from tl_compiler.compat import dynamo, inductor
from tl_compiler.compat.dynamo import debug_utils, regions, test_helpers, testing, utils
from tl_compiler.compat.dynamo.backends import common, debugging, registry
from tl_compiler.compat.inductor import compile_fx
from tl_compiler.compiler.errors import BackendCompilerFailed, RecompileError, TorchRuntimeError, Unsupported
from tl_core.testing import assert_close


@pytest.fixture(autouse=True)
def fresh():
    compiler.reset()
    utils.counters.clear()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("shift", tl.ones(2))

    def forward(self, x):
        return (self.linear(x) + self.shift).relu()


# ---- programs in files
def test_packages(tmp_path):
    net, x = Net(), tl.randn(4, 3)
    program = export.export(net, (x,))
    path = inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "net.pt2"))
    model = inductor.aoti_load_package(path)
    assert tl.equal(model(x), net(x)) and not model(x).requires_grad
    assert model.get_constant_fqns() == ["linear.weight", "linear.bias", "shift"] and model.get_metadata()
    model.load_constants({"shift": tl.zeros(2)}, check_full_update=False)
    assert tl.equal(model(x), net.linear(x).relu())
    with pytest.raises(RuntimeError, match=r"missing names \['linear.bias', 'linear.weight'\]"):
        model.load_constants({"shift": tl.zeros(2)}, check_full_update=True)
    with pytest.raises(RuntimeError, match=r"unknown names \['other'\]"):
        model.load_constants({"other": tl.zeros(2)}, check_full_update=False)
    with pytest.raises(RuntimeError, match=r"shift has the shape \(2,\), got \(3,\)"):
        model.load_constants({"shift": tl.zeros(3)}, check_full_update=False)


def test_packages_that_are_refused(tmp_path):
    program = export.export(Net(), (tl.ones(1, 3),))
    with pytest.raises(ValueError, match=r"must end in \.pt2"):
        inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "net.so"))
    with pytest.raises(ValueError, match="must be an ExportedProgram, got"):
        inductor.aoti_compile_and_package(Net(), package_path=io.BytesIO())
    with pytest.raises(NotImplementedError, match="aoti_compile_and_package"):
        inductor.aot_compile(program.graph_module, ())


def test_graphs_that_inductor_runs():
    backend, x = testing.EagerAndRecordGraphs(), tl.randn(2, 3)
    compiler.compile(Net(), backend=backend)(x)
    (graph,) = backend.graphs
    inputs = [x, tl.ones(2, 3), tl.ones(2), tl.ones(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_close(inductor.compile(graph, inputs)(*inputs), graph(*inputs))
        assert_close(compile_fx.compile_fx(graph, inputs)(*inputs), graph(*inputs))
    with pytest.raises(RuntimeError, match=r"unexpected options \['speed'\]"):
        inductor.compile(graph, inputs, {"speed": 1})


# ---- backends
@pytest.mark.parametrize("name", sorted(set(compiler.list_backends(None)) - set(compiler.list_backends())))
def test_backends_for_debugging(name):
    def f(x):
        y = x * 2
        y.add_(1)
        return y.sin().sum(), x.shape[0]

    x, z = (tl.linspace(0, 1, 4).requires_grad_() for _ in range(2))
    compiled, expected = compiler.compile(f, backend=name, fullgraph=True)(x), f(z)
    assert tl.equal(compiled[0], expected[0]) and compiled[1] == 4
    compiled[0].backward(), expected[0].backward()
    assert_close(x.grad, z.grad)


def test_a_backend_of_compilers():
    graphs = []

    def compile_graph(graph, examples):
        graphs.append(([str(n.target) for n in graph.graph.nodes if n.op == "call_function"], len(examples)))
        return graph.forward

    backend = common.aot_autograd(fw_compiler=compile_graph)
    x = tl.ones(3, requires_grad=True)
    compiler.compile(lambda x: x.exp() * 2, backend=backend)(x).sum().backward()
    assert_close(x.grad, 2 * tl.ones(3).exp())
    (forward, _), (backward, _) = graphs
    assert forward == ["aten.exp.default", "aten.mul.Tensor"] and backward.count("aten.mul.Tensor") == 2
    assert common.device_from_inputs([1, x]).type == "cpu" and common.dtype_from_inputs([]) is None
    assert registry.lookup_backend("eager") is debugging.eager


def test_an_input_with_a_derivative_that_is_written():
    def f(x):
        x.mul_(2)
        return x + 1

    x = tl.ones(2, requires_grad=True)
    y = x * 1
    out = compiler.compile(f, backend="aot_eager", fullgraph=True)(y)
    out.sum().backward()
    assert out.tolist() == [3.0, 3.0] and y.tolist() == [2.0, 2.0] and x.grad.tolist() == [2.0, 2.0]


def test_results_without_derivatives_of_aot_eager():
    def f(x):
        y = x * 2
        return y, y.detach()

    first, second = compiler.compile(f, backend="aot_eager")(tl.ones(2, requires_grad=True))
    assert first.requires_grad and not second.requires_grad


def test_a_write_to_a_value_that_the_backward_pass_needs():
    weight = tl.ones(3, requires_grad=True)

    def f(x):
        y = x * weight
        x.add_(1)
        return y

    out = compiler.compile(f, backend="aot_eager")(tl.ones(3))
    assert out.tolist() == [1.0] * 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_traces_of_graphs_draw_no_random_numbers():
    f = compiler.compile(lambda x: x + tl.rand(3), backend="aot_eager")
    tl.manual_seed(0)
    first = f(tl.zeros(3))
    tl.manual_seed(0)
    assert tl.equal(first, tl.rand(3))


# ---- errors and counts
def test_errors_of_one_graph():
    def f(x):
        return x @ tl.ones(5)

    with pytest.raises(TorchRuntimeError, match=r"test_compiler_names.py:\d+: aten\.\S+ raises RuntimeError"):
        compiler.compile(f, backend="eager", fullgraph=True)(tl.ones(2))
    with pytest.raises(RuntimeError, match=r"size|shapes"):
        compiler.compile(f, backend="eager")(tl.ones(2))
    compiled = compiler.compile(lambda x: x + 1, backend="eager", dynamic=False)
    compiled(tl.ones(2))
    with compiler.set_stance("fail_on_recompile"), pytest.raises(RecompileError, match="Detected recompile"):
        compiled(tl.ones(3))
    with pytest.raises(BackendCompilerFailed):
        compiler.compile(lambda x: x + 1, backend=lambda graph, examples: None)(tl.ones(1))


def test_regions_that_raise():
    def printed(x):
        with regions.error_on_graph_break(True):
            print("called")
        return x + 1

    with pytest.raises(Unsupported, match="print is called"):
        compiler.compile(printed, backend="eager")(tl.ones(1))

    @regions.error_on_graph_break(False)
    def allowed(x):
        print("called")
        return x + 1

    with regions.error_on_graph_break(True):
        assert compiler.compile(allowed, backend="eager")(tl.ones(1)).item() == 2
        with pytest.raises(Unsupported):
            compiler.compile(lambda x: allowed.__wrapped__(x), backend="eager")(tl.ones(1))


def test_counts_and_callbacks():
    events = []
    dynamo.callback.on_compile_start(lambda event: events.append(("start", event.compile_id)))
    dynamo.callback.on_compile_end(lambda event: events.append(("end", event.compile_id)))
    try:
        f = compiler.compile(lambda x: x.sin() + 1, backend="eager")
        f(tl.ones(2)), f(tl.ones(2))
    finally:
        dynamo.callback.callback_handler.clear()
    (first, number), (last, same) = events
    assert (first, last) == ("start", "end") and number == same
    assert utils.counters["stats"] == {"unique_graphs": 1, "calls_captured": 2}
    compiler.compile(lambda x: x if x.sum() > 0 else -x, backend="eager")(tl.ones(2))
    assert utils.counters["graph_break"] == {"the value of a tensor is asked for": 1}


def test_the_first_call_of_a_lazy_module():
    counter = testing.CompileCounter()
    net = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    compiled = compiler.compile(net, backend=counter, fullgraph=True)
    for _ in range(3):
        assert compiled(tl.ones(2, 4)).shape == (2, 3)
    assert counter.frame_count == 1


def test_literals_have_values():
    def f(x):
        return x * tl.tensor(3.0).item() if tl.tensor(True) else x

    assert compiler.compile(f, backend="eager", fullgraph=True)(tl.ones(2)).tolist() == [3.0, 3.0]

    def g(x):
        t = tl.tensor(3.0)
        t.add_(x.sum())
        return x * t.item()

    with pytest.raises(Unsupported, match="the value of a tensor"):
        compiler.compile(g, backend="eager", fullgraph=True)(tl.ones(2))


# ---- helpers
def test_helpers_of_tests():
    class Case(unittest.TestCase):
        def runTest(self):
            test_helpers.standard_test(self, lambda a, b: a + b * 2, 2, expected_ops=2)

    Case().runTest()
    with pytest.raises(AssertionError):
        test_helpers.standard_test(Case(), _drifting(), 1)
    net = Net()
    assert debug_utils.same_two_models(net, net, [tl.ones(2, 3)])
    assert not debug_utils.same_two_models(net, nn.Linear(3, 2), [tl.ones(2, 3)])
    assert debug_utils.backend_accuracy_fails(
        lambda x: x + 1, [tl.ones(2)], lambda graph, examples: lambda x: x + 2
    )
    recorder = testing.AotEagerAndRecordGraphs()
    compiler.compile(lambda x: x.sin(), backend=recorder)(tl.ones(2, requires_grad=True)).sum().backward()
    assert [len(g) for g in (recorder.graphs, recorder.fw_graphs, recorder.bw_graphs)] == [1, 1, 1]


def _drifting():
    """A function whose results differ from call to call."""
    numbers = iter(range(100))

    def f(x):
        with regions.error_on_graph_break(False):
            return x + next(numbers)

    return dynamo.nonstrict_trace(f)


def test_copies_of_inputs():
    x = tl.ones(2, 3).t().requires_grad_()
    x.grad = tl.zeros(3, 2)
    copy = utils.clone_input(x)
    assert copy.stride() == x.stride() and copy.requires_grad and copy.grad is not x.grad
    assert utils.clone_inputs({"x": x})["x"] is not x and utils.detect_fake_mode([x]) is None
    assert utils.istype(1, (int, float)) and not utils.istype(True, int)


def test_exported_graphs_of_calls_with_defaults():
    def f(x, scale=None, *, shift=1.0):
        return (x if scale is None else x * scale) + shift

    graph, _ = dynamo.export(f)(tl.ones(2))
    assert graph(tl.zeros(2)).tolist() == [1.0, 1.0]

    def g(x):
        return x + 1 if x.shape[0] > 1 else x - 1

    graph, _ = dynamo.export(g)(tl.ones(2))
    assert graph(tl.zeros(2)).tolist() == [1.0, 1.0]


class Owner:
    sizes: ClassVar = [1, 2]

    def __init__(self):
        self.table = {"a": 2}


def test_reasons_of_recompiles(caplog):
    owner, gain = Owner(), 1.0

    def f(x, n=3):
        return x * gain + owner.table["a"] + len(owner.sizes) + n

    def without_gradients():
        with tl.no_grad():
            compiled(tl.ones(2))

    def change():
        nonlocal gain
        gain = 2.0

    changes = {
        "tensor 'args_0' size mismatch at index 0. expected 2, actual 3": lambda: compiled(tl.ones(3)),
        "tensor 'args_0' stride mismatch at index 0. expected 1, actual 2": lambda: compiled(tl.ones(4)[::2]),
        "args_0: expected torch.float32, got torch.float64": lambda: compiled(tl.ones(2).double()),
        "gain: expected '1.0', got '2.0'": lambda: (change(), compiled(tl.ones(2))),
        "owner_table_a: expected 2, got 5": lambda: (owner.table.update(a=5), compiled(tl.ones(2))),
        "owner_sizes: expected 2, got 3": lambda: (setattr(Owner, "sizes", [1, 2, 3]), compiled(tl.ones(2))),
        "a setting of the thread differs": without_gradients,
    }
    for reason, call in changes.items():
        compiled = compiler.compile(f, backend="eager", dynamic=False)
        compiled(tl.ones(2))
        with dynamo.config.patch(error_on_recompile=True), pytest.raises(RecompileError) as error:
            call()
        assert reason in str(error.value)
    compiled = compiler.compile(f, backend="eager")
    compiled(tl.ones(2))
    with caplog.at_level("INFO", "torch._dynamo"):
        compiled(tl.ones(3))
    assert "f is compiled again: tensor 'args_0' size mismatch" in caplog.text
    Owner.sizes = [1, 2]
