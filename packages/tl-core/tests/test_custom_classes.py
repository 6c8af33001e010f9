"""`torch::class_`: classes of C++ in Python, as arguments of operators, in pickles."""

from __future__ import annotations

import copy
import pickle
import shutil
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import tl_core as tl
from tl_core.extensions import cpp_extension, custom_classes
from tl_core.operators import packets as ops

compiles = pytest.mark.skipif(
    shutil.which(cpp_extension.get_cxx_compiler()) is None
    or not (Path(sysconfig.get_path("include")) / "Python.h").exists(),
    reason="no compiler, or no headers of Python",
)

SOURCE = r"""
#include <torch/library.h>
struct Stack : torch::CustomClassHolder {
  std::vector<std::string> items;
  int64_t limit = 3;
  explicit Stack(std::vector<std::string> l) : items(std::move(l)) {}
  void push(const std::string& s) {
    TORCH_CHECK_INDEX(int64_t(items.size()) < limit, "the stack is full: ", limit);
    items.push_back(s);
  }
  std::string pop() {
    auto s = items.back();
    items.pop_back();
    return s;
  }
  c10::intrusive_ptr<Stack> twice() const {
    auto l = items;
    l.insert(l.end(), items.begin(), items.end());
    return c10::make_intrusive<Stack>(l);
  }
  std::tuple<int64_t, std::optional<double>, at::Tensor> mixed(
      const c10::Dict<std::string, at::Tensor>& d, std::vector<std::tuple<std::string, int64_t>> l,
      std::optional<double> x) {
    return {std::get<1>(l.at(0)), x, d.at(std::get<0>(l.at(0)))};
  }
};
struct Other : torch::CustomClassHolder {};
at::Tensor sized(const at::Tensor& x, const c10::intrusive_ptr<Stack>& s) {
  return at::full_like(x, int64_t(s->items.size()));
}
c10::intrusive_ptr<Stack> joined(const c10::intrusive_ptr<Stack>& a, const c10::intrusive_ptr<Stack>& b) {
  auto l = a->items;
  l.insert(l.end(), b->items.begin(), b->items.end());
  return c10::make_intrusive<Stack>(l);
}
std::vector<std::string> words(std::vector<std::vector<std::string>> l) { return l.back(); }
TORCH_LIBRARY(tl_classes, m) {
  m.class_<Stack>("Stack")
      .def(torch::init<std::vector<std::string>>(), "A stack of strings.", {torch::arg("items")})
      .def("push", &Stack::push)
      .def("pop", &Stack::pop)
      .def("twice", &Stack::twice)
      .def("mixed", &Stack::mixed, "", {torch::arg("d"), torch::arg("l"), torch::arg("x") = 0.5})
      .def("size", [](const c10::intrusive_ptr<Stack>& self) { return int64_t(self->items.size()); })
      .def("same", [](const c10::intrusive_ptr<Stack>& a, const c10::intrusive_ptr<Stack>& b) {
        return a.get() == b.get();
      })
      .def("echo", [](const c10::intrusive_ptr<Stack>&, c10::IValue v) { return v; })
      .def("__len__", [](const c10::intrusive_ptr<Stack>& self) { return int64_t(self->items.size()); })
      .def_static("empty", [] { return c10::make_intrusive<Stack>(std::vector<std::string>()); })
      .def_readwrite("limit", &Stack::limit)
      .def_property("first", [](const c10::intrusive_ptr<Stack>& self) { return self->items.at(0); })
      .def_pickle([](const c10::intrusive_ptr<Stack>& self) { return self->items; },
                  [](std::vector<std::string> l) { return c10::make_intrusive<Stack>(std::move(l)); });
  m.class_<Other>("Other").def(torch::init<>());
  m.def("sized(Tensor x, __torch__.torch.classes.tl_classes.Stack s) -> Tensor", &sized);
  m.def("joined", &joined);
  m.def("words", &words);
}
static auto again = torch::class_<Other>("tl_classes", "Alone")
    .def(torch::init([](int64_t) { return c10::make_intrusive<Other>(); }));
"""


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("classes")
    (folder / "stack.cpp").write_text(SOURCE)
    cpp_extension.load(
        "tl_test_classes",
        [str(folder / "stack.cpp")],
        build_directory=str(folder),
        is_python_module=False,
        extra_cflags=["-O0"],  # half the time of the compiler
    )
    return custom_classes.tl_classes


def test_absent_class() -> None:
    with pytest.raises(RuntimeError, match=r"'absent.Name', but it does not exist"):
        custom_classes.absent.Name  # noqa: B018  # the access raises
    with pytest.raises(RuntimeError, match="has no constructor"):
        custom_classes.ScriptObject()


@compiles
def test_methods(space: Any) -> None:
    stack = space.Stack(["a", "b"])
    assert isinstance(stack, custom_classes.ScriptObject) and stack.size() == len(stack) == 2
    stack.push("c")
    with pytest.raises(IndexError, match="the stack is full: 3"):
        stack.push("d")
    assert stack.pop() == "c" and stack.twice().size() == 4
    assert stack.same(stack) and not stack.same(stack.twice())
    assert space.Stack.empty().size() == 0 and space.Stack(items=["x"]).pop() == "x"
    stack.limit = 9
    assert stack.limit == 9 and stack.first == "a"
    assert stack._type().str() == "__torch__.torch.classes.tl_classes.Stack" and stack._has_method("pop")
    x = tl.ones(2)
    n, half, t = stack.mixed({"k": x}, [("k", 7)])
    assert (n, half) == (7, 0.5) and t.tolist() == [1, 1]
    assert stack.mixed(d={"k": x}, l=[["k", 7]], x=None)[1] is None
    assert isinstance(space.Alone(1), custom_classes.ScriptObject)


@compiles
def test_values(space: Any) -> None:
    stack = space.Stack([])
    for value in (None, True, 3, 0.5, 2j, "s", [1, 2], [0.5], [True], (1, "a"), {"k": [1]}, [[1], [2]], []):
        assert stack.echo(value) == value and type(stack.echo(value)) is type(value)
    assert stack.echo(tl.ones(2)).tolist() == [1, 1]
    assert stack.same(stack.echo(stack)) and isinstance(stack.echo(stack), space.Stack)


@compiles
def test_types_of_methods(space: Any) -> None:
    stack = "__torch__.torch.classes.tl_classes.Stack"
    for name, schema in (
        ("__init__", f"(str[] _0) -> {stack}"),
        ("push", f"({stack} _0, str _1) -> ()"),
        (
            "mixed",
            f"({stack} _0, Dict(str, Tensor) _1, (str, int)[] _2, float? _3) -> (int, float?, Tensor)",
        ),
        ("echo", f"({stack} _0, Any _1) -> Any"),
        ("empty", f"() -> {stack}"),
        ("limit_getter", f"({stack} _0) -> int"),
        ("limit_setter", f"({stack} _0, int _1) -> ()"),
    ):
        method = custom_classes.method_of(stack, name)
        assert method is not None and method.schema == schema and method.is_static == (name == "empty")
    assert custom_classes.method_of(stack, "absent") is None


@compiles
def test_wrong_arguments(space: Any) -> None:
    stack = space.Stack([])
    for call in (
        lambda: space.Stack(),
        lambda: space.Stack(3),
        lambda: space.Stack("ab"),
        lambda: space.Stack([1]),
        lambda: stack.push(),
        lambda: stack.push("a", "b"),
        lambda: stack.push(word="a"),
        lambda: stack.mixed({}, [], y=1),
        lambda: stack.mixed([], [("k", 1)]),
        lambda: stack.same(space.Other()),
        lambda: stack.same(3),
        lambda: stack.echo(object()),
        lambda: ops.tl_classes.sized(tl.ones(2), 3),
        lambda: ops.tl_classes.sized(tl.ones(2), space.Other()),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="a tuple of 2 values, got 1"):
        stack.mixed({}, [("k",)])
    with pytest.raises(IndexError):
        stack.mixed({}, [("absent", 1)])


@compiles
def test_operators(space: Any) -> None:
    stack = space.Stack(["a", "b"])
    assert ops.tl_classes.sized(tl.zeros(2), stack).tolist() == [2, 2]
    assert ops.tl_classes.joined(stack, stack).size() == 4
    assert ops.tl_classes.words([["a"], ["b", "c"]]) == ["b", "c"]


@compiles
def test_pickles(space: Any) -> None:
    stack = space.Stack(["a", "b"])
    for other in (pickle.loads(pickle.dumps(stack)), copy.deepcopy(stack)):
        other.push("c")
        assert other.size() == 3 and stack.size() == 2
    with pytest.raises(RuntimeError, match="does not have a __getstate__"):
        pickle.dumps(space.Other())
