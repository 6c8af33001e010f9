"""Sources written for PyTorch's C++: functions bound by pybind11, operators registered, errors, types."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import extension_build
import pytest

import tl_core as tl
from tl_core.extensions import build_job, cpp_extension, stable_abi
from tl_core.operators import packets as ops

sys.path.insert(0, str(Path(__file__).parents[1]))
from opgen import collect, cpp_functions, cpp_headers

compiles = pytest.mark.skipif(
    shutil.which(cpp_extension.get_cxx_compiler()) is None
    or not (Path(sysconfig.get_path("include")) / "Python.h").exists(),
    reason="no compiler, or no headers of Python",
)

SOURCE = r"""
#include <c10/util/Logging.h>
using namespace torch::indexing;
at::Tensor wave(at::Tensor x) { return x.sin() + 1; }
at::Tensor pick(at::Tensor x) { return x.index({Slice(1, None), "...", 0}); }
at::Tensor pick_by(at::Tensor x, at::Tensor rows) { return x.index({rows, Slice(None, None, 2)}); }
at::Tensor put(at::Tensor x) { x.index_put_({0, Slice(0, 2)}, 7); return x; }
at::Tensor typed(at::Tensor x, at::ScalarType t, c10::Device d, at::IntArrayRef s, const at::Scalar& k) {
  return x.to(d, t).reshape(s) * k;
}
void only_double(at::Tensor x) { x.data_ptr<double>(); }
void three(at::Tensor x) { TORCH_CHECK_VALUE(x.dim() == 3, "x has ", x.dim(), " dimensions"); }
void plain(at::Tensor x) { TORCH_CHECK(x.dim() == 3); }
void thrown() { throw std::runtime_error("thrown by the extension"); }
int64_t size_of(at::Tensor x, int64_t d) { return x.size(d); }
int64_t undefined() { return at::Tensor().strides()[0]; }
std::string facts_of_undefined() {
  const at::Tensor none;
  return c10::str(none.dim(), none.numel(), none.sizes(), none.size(0), none.defined(), none.toString());
}
int64_t beyond_undefined() { return at::Tensor().size(1); }
bool views(at::Tensor x) { return x.select(0, 0).is_view() && x.t()._base().is_same(x) && !(x + 1).is_view(); }
void base_of_none(at::Tensor x) { (x + 1)._base(); }
at::Tensor add_undefined(at::Tensor x) { return x + at::Tensor(); }
at::Tensor none() { return {}; }
bool is_none(std::optional<at::Tensor> x) { return !x; }
double total(at::Tensor x) {
  double sum = 0;
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "total", [&] {
    auto a = x.accessor<scalar_t, 2>();
    for (int64_t i = 0; i < a.size(0); ++i)
      for (int64_t j = 0; j < a.size(1); ++j) sum += static_cast<double>(a[i][j]);
  });
  return sum;
}
int64_t in_chunks(int64_t n, int64_t bad) {
  std::atomic<int64_t> sum{0};
  at::parallel_for(0, n, 10, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      TORCH_CHECK_INDEX(i != bad, "chunk of ", i);
      sum += i;
    }
  });
  return sum;
}
at::Tensor made() { return torch::tensor({{1, 2}, {3, 4}}).to(at::kFloat) + torch::tensor(0.5); }
at::Tensor blob(std::vector<double> v) {
  auto* kept = new std::vector<double>(v);
  return at::from_blob(kept->data(), {int64_t(v.size())}, [kept](void*) { delete kept; }, at::kDouble);
}
at::Tensor halves(double x) { return at::full({1}, static_cast<float>(at::Half(x) / 3), at::kFloat); }
std::tuple<at::Tensor, at::Tensor> top(at::Tensor x) { return x.max(1); }
at::Tensor like(at::Tensor x) { return torch::zeros({2, x.size(0)}, x.options().dtype(torch::kInt64)); }
std::tuple<int64_t, int64_t> zeros_of(int64_t x) {
  return {c10::llvm::countLeadingZeros(uint32_t(x)), c10::llvm::countTrailingZeros(int16_t(x))};
}
std::vector<at::Tensor> losses(at::Tensor x, at::Tensor y) {
  return {at::mse_loss(x, y), at::l1_loss(x, y, at::Reduction::Sum), at::smooth_l1_loss(x, y, at::Reduction::None, 0.5),
          at::cosine_similarity(x, y, 0), at::cov(x), at::absolute(x - y), at::special_exp2(x), x.clip(0, 1),
          x.unsqueeze(0).mT().numpy_T()};
}
std::vector<at::Tensor> of_python(at::Tensor x, at::Tensor d) {
  const at::Tensor index = torch::tensor({{0, 1}, {1, 0}}), ends = torch::tensor({0, 1, 2});
  const at::Tensor values = torch::tensor({5.0, 6.0}), squares = torch::tensor({1.0, 4.0, 9.0});
  const at::Tensor sparse = at::sparse_coo_tensor(index, values, {2, 2});
  auto [rows, inverse, counts] = at::unique_dim_consecutive(torch::tensor({{1, 2}, {1, 2}, {3, 4}}), 0, true, true);
  auto [bins, edges] = at::histogramdd(squares.reshape({3, 1}), at::IntArrayRef{2}, std::vector<double>{0, 10});
  return {at::linalg_norm(x), at::linalg_norm(x, "nuc"), at::linalg_norm(x, 1, at::IntArrayRef{0}),
          at::linalg_matrix_norm(x), at::frobenius_norm(x, {0, 1}), at::nuclear_norm(x), at::native_norm(x),
          at::linalg_matrix_rank(x), at::linalg_matrix_rank(d, 3.0, false), at::linalg_cond(d),
          at::gradient(squares)[0], at::gradient(squares, at::Scalar(2), at::IntArrayRef{0})[0], sparse.to_dense(),
          at::sparse_csr_tensor(ends, torch::tensor({1, 0}), values, {2, 2}, at::kFloat).to_dense(),
          at::values_copy(sparse.coalesce()), x.to_sparse_csr().to_dense() - x, x.to_sparse(1).to_dense() - x,
          rows, inverse, counts, bins, edges[0],
          at::segment_reduce(squares, "sum", torch::tensor({2, 1}))};
}
std::vector<at::Tensor> numbers() {
  const std::vector<int> ints{1, 2};
  return {torch::tensor({{1, 2}, {3, 4}}), torch::tensor({{1.5, 2.5}}), torch::tensor({true, false}),
          torch::tensor({{}, {}}), torch::tensor(ints), at::tensor(ints), torch::tensor(1.5), at::tensor(1.5),
          torch::tensor({c10::complex<float>(1, 2)}), torch::tensor({1, 2}, torch::kHalf)};
}
void ragged() { torch::tensor({{1, 2}, {3}}); }
void two_types() { torch::tensor({1, 2.5}); }
void lost_part() { torch::tensor({c10::complex<float>(1, 2)}, torch::kFloat); }
std::string listed() { return c10::str(torch::detail::TensorDataContainer({{1, 2}, {3, 4}})); }
std::vector<at::Tensor> by_masks(at::Tensor x, at::Tensor on, at::Tensor off, at::Tensor one) {
  using namespace torch::indexing;
  at::Tensor view = x.index({one, one});
  view.fill_(50);
  at::Tensor y = at::zeros({2, 3});
  y.index_put_({on}, torch::ones({1, 1, 3}));
  y.index_put_({off}, 7);
  return {x.index({on}), x.index({off}), x.index({on, 0}), x.index({on, Slice(), on}), x, y};
}
std::string index_text() {
  using namespace torch::indexing;
  return c10::str(std::vector<TensorIndex>({None, "...", 3, true, Slice(1, None, 2), Slice(None, 4, -1)}));
}
std::string option_text(at::Tensor x) {
  const auto o = at::TensorOptions().requires_grad(true).memory_format(at::MemoryFormat::ChannelsLast);
  return c10::str(x.options(), ";", o, ";", at::Backend::CPU);
}
void beyond(at::Tensor x) { x.index({at::indexing::None, 0, 7}); }
void of_scalar(at::Tensor x) { x.index({0}); }
void no_index(at::Tensor x) { x.index({}); }
std::vector<at::Tensor> spreads(at::Tensor x) {
  return {x.var(0), x.std(1), at::var(x, 0), std::get<0>(at::std_mean(x, 0)), x.var(), torch::linalg::norm(x),
          torch::special::expm1(x), torch::fft::rfft(x).abs(), torch::utils::flatten_dense_tensors({x, x})};
}
at::ScalarType with_default(at::ScalarType t) {
  const auto before = torch::get_default_dtype();
  torch::set_default_dtype(torch::scalarTypeToTypeMeta(t));
  const at::ScalarType found = torch::ones({1}).scalar_type();
  torch::set_default_dtype(before);
  return found;
}
void to_recorded(at::Tensor x) { x.to(at::TensorOptions().requires_grad(true)); }
template <class T>
std::vector<double> limits() {
  using L = std::numeric_limits<T>;
  static_assert(L::has_denorm == std::denorm_present && L::is_specialized && !L::is_integer && L::radix == 2);
  return {double(L::digits), double(L::digits10), double(L::max_digits10), double(L::min_exponent),
          double(L::max_exponent), double(L::min_exponent10), double(L::max_exponent10),
          double(float(L::round_error())), double(float(L::max())), double(std::isnan(float(L::signaling_NaN())))};
}
std::vector<std::vector<double>> half_limits() { return {limits<at::Half>(), limits<at::BFloat16>()}; }
std::string dictionaries(at::Tensor x, at::Tensor y) {
  c10::Dict<std::string, int64_t> d;
  d.insert("one", 1), d.insert("two", 2);
  const c10::Dict<std::string, int64_t> moved = std::move(d), apart = d.copy();
  apart.erase(apart.find("one"));
  c10::List<int64_t> list{1, 2};
  const c10::List<int64_t> rest = std::move(list);
  c10::Dict<at::Tensor, int64_t> by_tensor;
  by_tensor.insert(x, 1), by_tensor.insert(y, 2);
  return c10::str(d.size(), moved == d, apart != d, apart.size(), list == rest, by_tensor.at(x),
                  by_tensor.contains(x + 0));
}
int64_t absent_key() { return c10::Dict<int64_t, int64_t>().at(3); }
std::string older_names(at::Tensor x) {
  at::DeprecatedTypeProperties& type = at::CPU(at::kDouble);
  const at::Tensor zeros = at::zeros({2}, type);
  at::Generator generator = at::detail::createCPUGenerator(3);
  const std::lock_guard<std::mutex> hold(generator.mutex());
  const at::Tensor wide = c10::scalar_to_tensor(2.5);
  return c10::str(zeros.scalar_type(), type.scalarType(), &type == &at::CPU(at::kDouble), wide.dtype(),
                  at::Scalar(c10::complex<double>(1, 2)).equal(c10::complex<double>(1, 2)), at::Scalar(1).equal(true),
                  x.m([](const at::Tensor& t, int64_t n) { return t.dim() + n; }, 5));
}
std::string ivalues(at::Tensor x) {
  using c10::IValue;
  const IValue flags(std::vector<bool>{true, false}), words(std::vector<std::string>{"a", "b"}), none, tensor(x);
  const IValue pair(std::make_tuple(int64_t(7), std::string("x"))), complex(c10::complex<double>(1, 2));
  IValue copy = words;
  copy = 3;
  return c10::str(flags.isBoolList(), flags.to<std::vector<bool>>().size(), words.isList(),
                  words.to<std::vector<std::string>>().at(1), words.to<c10::List<std::string>>().size(),
                  none.to<std::optional<double>>().has_value(), *IValue(2.5).to<std::optional<double>>(),
                  pair.toTuple()->elements().at(1).toString(), IValue(at::Device("cuda:1")).toDevice(),
                  complex.to<c10::complex<double>>().imag(), copy.toInt(), tensor.toTensor().is_same(x),
                  tensor.isScalar(), IValue(at::Scalar(true)).isBool());
}
bool wrong_ivalue() { return c10::IValue(3).toStringRef().empty(); }
// "1" for each conversion that raises.
std::string overflows() {
  std::string raised;
  auto note = [&](auto convert) {
    try {
      convert(), raised += '0';
    } catch (const std::exception&) {
      raised += '1';
    }
  };
  const at::Scalar wide(1e300), infinite(INFINITY), complex(c10::complex<double>(1e300, 0));
  note([&] { at::Scalar(100000).toHalf(); });
  note([&] { at::Scalar(65504.).toHalf(); });
  note([&] { wide.toFloat(); });
  note([&] { at::Scalar(-1e300).toBFloat16(); });
  note([&] { complex.toComplexFloat(); });
  note([&] { wide.toDouble(); });
  note([&] { infinite.toHalf(); });
  note([&] { infinite.toFloat(); });
  note([&] { infinite.toLong(); });
  return raised;
}
std::string equal_numbers() {
  using at::Scalar;
  return c10::str(Scalar(2).equal(2.5), Scalar(2).equal(2.0), Scalar(true).equal(1.0), Scalar(true).equal(1),
                  Scalar(true).equal(true), Scalar(257).equal(int8_t(1)), Scalar(-1).equal(~uint64_t(0)),
                  Scalar(true).equal(c10::complex<double>(1, 0)));
}
std::deque<int> transitive() { return {int(std::bitset<8>(7).count()), std::queue<int>().empty(), CHAR_BIT}; }
at::Tensor refused_by_python(at::Tensor x) { return at::linalg_norm(x, "no norm"); }
bool same_types(at::Tensor x) {
  return at::can_cast(at::kInt, at::kFloat) && !at::can_cast(at::kFloat, at::kInt) &&
         at::promote_types(at::kInt, at::kHalf) == at::kHalf && at::result_type(x, 2.5) == at::kFloat &&
         at::is_same_size(x, x) && at::is_nonzero(at::ones({1})) && !at::is_distributed(x);
}
at::Tensor joined(std::vector<at::Tensor> l) {
  const at::Tensor flat = at::flatten_dense_tensors(l) * 2;
  return at::cat({flat, at::unflatten_dense_tensors(flat, l)[1].reshape(-1)});
}
void checked(int64_t n) {
  LOG(INFO) << "not written";
  LOG_IF(ERROR, n > 100) << "written " << n;
  VLOG(1) << "not written";
  CHECK(n > 0) << "with " << n;
}
std::string shown(at::Tensor x) { return c10::str(x.sizes(), " ", x.dtype(), " ", x.device()); }

at::Tensor scaled_cpu(const at::Tensor& x, double k) { return x * k; }
std::tuple<at::Tensor, std::vector<int64_t>, std::string> mixed(
    at::TensorList l, std::optional<int64_t> k, const std::string& s, c10::List<double> f) {
  return {l[0] * k.value_or(2), {int64_t(f.size())}, s + "!"};
}
at::Tensor& twice_(at::Tensor& x) { return x.mul_(2); }
void on_stack(const c10::OperatorHandle&, torch::jit::Stack* stack) {
  const int64_t n = torch::jit::pop(*stack).toInt();
  torch::jit::push(*stack, torch::jit::pop(*stack).toTensor() + n);
}
at::Tensor by_name(at::Tensor x) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("tl_face::scaled", "")
                       .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(x, 3);
}
void by_wrong_name() { c10::Dispatcher::singleton().findSchemaOrThrow("tl_face::absent", ""); }
TORCH_LIBRARY(tl_face, m) {
  m.def("scaled(Tensor x, float k) -> Tensor");
  m.def("mixed", &mixed);
  m.def("twice_", &twice_);
  m.def("on_stack(Tensor x, int n) -> Tensor");
}
TORCH_LIBRARY_IMPL(tl_face, CPU, m) {
  m.impl("scaled", &scaled_cpu);
  m.impl("on_stack", torch::CppFunction::makeFromBoxedFunction<&on_stack>());
}
TORCH_LIBRARY_IMPL(tl_face, Meta, m) {
  m.impl("scaled", [](const at::Tensor& x, double) { return at::empty_like(x); });
}
"""
NAMES = """
wave pick pick_by put typed only_double three plain thrown size_of undefined add_undefined none is_none total
in_chunks made
blob halves top like zeros_of shown by_name by_wrong_name losses of_python refused_by_python same_types joined checked
numbers ragged two_types lost_part listed by_masks index_text option_text beyond of_scalar no_index spreads with_default
to_recorded transitive dictionaries absent_key older_names overflows equal_numbers ivalues wrong_ivalue
facts_of_undefined beyond_undefined views base_of_none
half_limits
"""


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Any:
    pytest.importorskip("pybind11")
    folder = tmp_path_factory.mktemp("face")
    return cpp_extension.load_inline(
        "tl_test_face",
        SOURCE,
        functions=NAMES.split(),
        build_directory=str(folder),
        extra_cflags=["-Wall", "-Werror"],
    )


@compiles
def test_functions(face: Any) -> None:
    x = tl.arange(6.0).reshape(2, 3)
    assert face.wave(x).flatten().tolist() == pytest.approx([math.sin(i) + 1 for i in range(6)], rel=1e-6)
    assert face.pick(x).tolist() == [3]
    assert face.pick_by(x, tl.tensor([1, 0])).tolist() == [[3, 5], [0, 2]]
    assert face.put(x.clone()).tolist() == [[7, 7, 2], [3, 4, 5]]
    product = face.typed(x, tl.float64, tl.device("cpu"), [6], 2)
    assert product.dtype is tl.float64 and product.tolist() == [0, 2, 4, 6, 8, 10]
    assert [t.tolist() for t in face.top(x)] == [[2, 5], [2, 2]]
    zeros = face.like(x)
    assert zeros.dtype is tl.int64 and zeros.tolist() == [[0, 0], [0, 0]]
    assert face.shown(x) == "[2, 3] float cpu" and face.size_of(x, -1) == 3
    assert [face.zeros_of(x) for x in (0, 1, 8, -1)] == [(32, 16), (31, 0), (28, 3), (0, 0)]
    assert face.none() is None and face.is_none(None) and not face.is_none(x)
    assert face.by_name(x).tolist() == [[0, 3, 6], [9, 12, 15]]


@compiles
def test_elements(face: Any) -> None:
    for dtype in (tl.uint8, tl.int64, tl.float16, tl.bfloat16, tl.float64):
        assert face.total(tl.arange(6).reshape(3, 2).t().to(dtype)) == 15
    assert face.in_chunks(1000, -1) == 499500
    assert face.made().tolist() == [[1.5, 2.5], [3.5, 4.5]] and face.made().dtype is tl.float32
    assert face.blob([1.0, 2.0]).tolist() == [1, 2]
    assert face.halves(1.0).item() == 0.333251953125  # 1/3 in float16
    half, brain = face.half_limits()
    assert half == [11, 3, 5, -13, 16, -4, 4, 0.5, 65504, 1]
    assert brain == [8, 2, 4, -125, 128, -37, 38, 0.5, (2 - 2**-7) * 2.0**127, 1]


@compiles
def test_names_that_are_no_rows_of_their_own(face: Any, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = tl.tensor([3.0, 0.0]), tl.tensor([4.0, 3.0])
    results = [t.tolist() for t in face.losses(x, y)]
    wanted: list[Any] = [5.0, 4.0, [0.75, 2.75], 0.8, 4.5, [1.0, 3.0], [8.0, 1.0], [1.0, 0.0], [[3.0, 0.0]]]
    assert results[:-1] == [pytest.approx(v) for v in wanted[:-1]] and results[-1] == wanted[-1]
    assert face.same_types(x)
    assert face.joined([tl.ones(1, 2), tl.tensor(3.0)]).tolist() == [2, 2, 6, 6]
    face.checked(101)
    assert re.fullmatch(r"\[E main.cpp:\d+\] written 101\n", capfd.readouterr().err)
    with pytest.raises(RuntimeError, match="Check failed: n > 0 with 0"):
        face.checked(0)


@compiles
def test_tensors_of_numbers(face: Any) -> None:
    results = face.numbers()
    wanted: list[Any] = [[[1, 2], [3, 4]], [[1.5, 2.5]], [True, False], [[], []], [1, 2], [1, 2], 1.5, [1.5]]
    assert [t.tolist() for t in results] == [*wanted, [1 + 2j], [1, 2]]
    types = [tl.int64, tl.float32, tl.bool, tl.float32, tl.int64, tl.int32, tl.float32, tl.float64]
    assert [t.dtype for t in results] == [*types, tl.complex64, tl.float16]
    assert face.listed() == "{{1, 2}, {3, 4}}"
    cases: list[tuple[Any, str]] = [
        (face.ragged, r"sub-lists to have sizes: 2 \(e.g. \{1, 2\}\), but got sub-list \{3\} with sizes: 1"),
        (face.two_types, "same scalar type: Int, but got element of scalar type: Double"),
        (face.lost_part, "value cannot be converted to type float without overflow"),
    ]
    for call, message in cases:
        with pytest.raises(RuntimeError, match=message):
            call()
    assert face.with_default(tl.float64) is tl.float64 and tl.get_default_dtype() is tl.float32
    assert face.transitive() == [3, 1, 8]


@compiles
def test_numbers_and_their_conversions(face: Any) -> None:
    assert face.overflows() == "101110001"  # as PyTorch 2.13's
    assert face.equal_numbers() == "01001000"


@compiles
def test_values_of_any_type(face: Any) -> None:
    assert face.ivalues(tl.ones(2)) == "121b202.5xcuda:123101"
    with pytest.raises(RuntimeError, match="Expected String but got another type of IValue"):
        face.wrong_ivalue()


@compiles
def test_containers_and_older_names(face: Any) -> None:
    assert face.dictionaries(tl.ones(2), tl.ones(2)) == "2111110"
    with pytest.raises(IndexError, match="the key is absent"):
        face.absent_key()
    assert face.older_names(tl.ones(2, 2)) == "DoubleDouble1double107"
    assert face.facts_of_undefined() == "10[0]00UndefinedType"
    with pytest.raises(IndexError, match="Dimension out of range"):
        face.beyond_undefined()
    assert face.views(tl.ones(2, 2))
    with pytest.raises(RuntimeError, match="base of non-view"):
        face.base_of_none(tl.ones(2, 2))


@compiles
def test_indices(face: Any) -> None:
    x = tl.arange(6.0).reshape(2, 3)
    results = face.by_masks(x, tl.tensor(True), tl.tensor(False), tl.tensor(1))
    rows = [[0, 1, 2], [3, 50, 5]]
    wanted: list[Any] = [[rows], [], [rows[0]], [rows], rows, [[1, 1, 1], [1, 1, 1]]]
    assert [t.tolist() for t in results] == wanted
    assert results[1].shape == (0, 2, 3) and x.tolist() == rows
    most, least = 2**63 - 1, -(2**63)
    assert face.index_text() == f"(None, ..., 3, true, 1:{most}:2, {most}:4:-1)" and least < 0
    cases: list[tuple[type[Exception], str, Any]] = [
        (IndexError, "index 7 is out of bounds for dimension 1 with size 3", lambda: face.beyond(x)),
        (IndexError, "invalid index of a 0-dim tensor", lambda: face.of_scalar(tl.tensor(1))),
        (ValueError, r"Passing an empty index list to Tensor::index\(\)", lambda: face.no_index(x)),
        (RuntimeError, "options.requires_grad set as true", lambda: face.to_recorded(x)),
    ]
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()
    with pytest.warns(UserWarning, match="torch.uint8 is now deprecated"):
        face.pick_by(x, tl.tensor([1, 0], dtype=tl.uint8))


@compiles
def test_text_of_options(face: Any) -> None:
    texts = face.option_text(tl.ones(2, dtype=tl.float64)).split(";")
    wanted = [
        ["TensorOptions(dtype=double", "device=cpu", "layout=Strided", "memory_format=(nullopt))"],
        ["dtype=float (default)", "requires_grad=true,", "memory_format=ChannelsLast)"],
        ["CPU"],
    ]
    for text, parts in zip(texts, wanted, strict=True):
        assert [part for part in parts if part not in text] == []


@compiles
def test_dimensions_are_no_bools(face: Any) -> None:
    x = tl.tensor([[1.0, 2.0, 4.0], [3.0, 2.0, 0.0]])
    results = [t.tolist() for t in face.spreads(x)]
    columns = [2.0, 0.0, 8.0]
    roots = [math.sqrt(v) for v in columns]
    assert results[0] == columns and results[2] == columns and results[3] == pytest.approx(roots)
    assert results[1] == pytest.approx([math.sqrt(7 / 3), math.sqrt(7 / 3)])
    assert results[4] == pytest.approx(2.0) and results[5] == pytest.approx(math.sqrt(34))
    assert results[6][0] == pytest.approx([math.expm1(v) for v in (1, 2, 4)])
    assert results[7][0] == pytest.approx([7, math.sqrt(7)]) and len(results[8]) == 12


@compiles
def test_operators_that_are_functions_of_python(face: Any) -> None:
    x, d = tl.tensor([[3.0, 0.0], [4.0, 0.0]]), tl.tensor([[2.0, 0.0], [0.0, 4.0]])
    results = [t.tolist() for t in face.of_python(x, d)]
    wanted: list[Any] = [5, 5, [7, 0], 5, 5, 5, 5, 1, 1, 2, [3, 4, 5], [1.5, 2, 2.5]]
    wanted += [[[0, 5], [6, 0]], [[0, 5], [6, 0]], [5, 6], [[0, 0], [0, 0]], [[0, 0], [0, 0]]]
    wanted += [[[1, 2], [3, 4]], [0, 0, 1], [2, 1], [2, 1], [0, 5, 10], [5, 9]]
    for result, number in zip(results, wanted, strict=True):
        if isinstance(number, list) and number and isinstance(number[0], list):
            assert result == number
        else:
            assert result == pytest.approx(number, rel=1e-6)
    with pytest.raises(RuntimeError, match="no norm"):
        face.refused_by_python(x)


@compiles
def test_errors(face: Any) -> None:
    x = tl.ones(2, 2)
    cases: list[tuple[type[Exception], str, Any]] = [
        (RuntimeError, "expected scalar type Double but found Float", lambda: face.only_double(x)),
        (ValueError, "x has 2 dimensions", lambda: face.three(x)),
        (RuntimeError, r"Expected x.dim\(\) == 3 to be true, but got false", lambda: face.plain(x)),
        (RuntimeError, "thrown by the extension", face.thrown),
        (IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
         lambda: face.size_of(x, 2)),
        (RuntimeError, "undefined Tensor", face.undefined),
        (TypeError, "add", lambda: face.add_undefined(x)),
        (NotImplementedError, "\"total\" not implemented for 'Bool'", lambda: face.total(x > 0)),
        (RuntimeError, "TensorAccessor expected 2 dims but tensor has 1", lambda: face.total(x[0])),
        (IndexError, "chunk of 77", lambda: face.in_chunks(1000, 77)),
        (TypeError, "incompatible function arguments", lambda: face.wave(3)),
        (RuntimeError, "shape", lambda: face.typed(x, tl.float32, tl.device("cpu"), [3], 1)),
        (RuntimeError, "Could not find schema for tl_face::absent", face.by_wrong_name),
        (IndexError, "too many indices", lambda: face.pick_by(x[0], tl.tensor([0]))),
    ]  # fmt: skip
    for kind, message, call in cases:
        with pytest.raises(kind, match=message):
            call()


@compiles
def test_operators(face: Any) -> None:
    x = tl.arange(3.0)
    space = ops.tl_face
    assert space.scaled(x, 2.0).tolist() == [0, 2, 4] and space.on_stack(x, 5).tolist() == [5, 6, 7]
    assert space.scaled(x.to("meta"), 2.0).shape == (3,)
    schema = "tl_face::mixed(Tensor[] _0, int? _1, str _2, float[] _3) -> (Tensor, int[], str)"
    assert str(space.mixed.default._schema) == schema
    tensor, sizes, text = space.mixed([x], None, "a", [1.0, 2.0])
    assert tensor.tolist() == [0, 2, 4] and sizes == [2] and text == "a!"
    assert space.twice_(x) is x and x.tolist() == [0, 2, 4]
    with pytest.raises(TypeError, match=r"tl_face::scaled\(\): argument 'x'"):
        space.scaled(None, 1.0)


@compiles
def test_a_wrong_registration_is_raised_by_load(tmp_path: Path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text(
        '#include <torch/library.h>\nTORCH_LIBRARY(tl_wrong, m) { m.def("f(Tensor x -> Tensor"); }\n'
    )
    with pytest.raises(RuntimeError, match="f"):
        cpp_extension.load(
            "tl_test_wrong", str(source), is_python_module=False, build_directory=str(tmp_path)
        )
    assert not stable_abi.errors


# ---- the build --------------------------------------------------------------------------------------------------
@compiles
def test_a_changed_header_compiles_again(tmp_path: Path) -> None:
    header, source = tmp_path / "number.h", tmp_path / "main.cpp"
    header.write_text("#define NUMBER 1\n")
    source.write_text('#include <cstdio>\n#include "number.h"\nint main() { std::printf("%d", NUMBER); }\n')

    def printed() -> str:
        path = cpp_extension.load(
            "tl_test_header", str(source), is_standalone=True, build_directory=str(tmp_path)
        )
        return subprocess.run([path], capture_output=True, text=True, check=True).stdout

    assert printed() == "1"
    header.write_text("#define NUMBER 22\n")
    assert printed() == "22"


@compiles
def test_the_words_of_the_compiler_come_once(tmp_path: Path) -> None:
    names = [tmp_path / "a.cpp", tmp_path / "b.cpp"]
    for name in names:
        name.write_text("int f() { return no_such_name; }\n")
    with pytest.raises(RuntimeError, match="Error building extension 'tl_test_words'") as error:
        cpp_extension.load("tl_test_words", list(map(str, names)), build_directory=str(tmp_path))
    assert str(error.value).count("was not declared") == 1


TWO_MINORS = r"""
#include <torch/library.h>
at::Tensor one_dimension(const at::Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() == 1, SPACE, " got ", x.dim(), " dimensions");
  return x + at::Scalar(ADDED);
}
std::string caught(const at::Tensor& x) {
  try {
    x.select(0, 100);
  } catch (const c10::IndexError&) {
    return "index";
  } catch (const c10::Error& e) {
    return e.kind() == TL_ERROR_INDEX ? SPACE : "another";
  }
  return "none";
}
TORCH_LIBRARY_FRAGMENT(NAMESPACE, m) {
  m.def("one_dimension", &one_dimension);
  m.def("caught", &caught);
}
"""


@compiles
def test_two_minor_versions_of_the_headers_in_one_process(tmp_path: Path) -> None:
    """An error has another layout in the newer headers."""
    newer = Path(extension_build.changed_headers(tmp_path, "c_api.h", "TL_API_MINOR 0", "TL_API_MINOR 1"))
    source = Path(tl.get_include())
    for folder in ("torch", "ATen", "c10"):
        shutil.copytree(source / folder, newer / folder)
    errors = newer / "tl" / "torch" / "errors.hpp"
    text = errors.read_text()
    wider = text.replace("int kind_;\n", "char first_[64] = {};\n    int kind_;\n", 1)
    assert wider != text
    errors.write_text(wider)
    (tmp_path / "two.cpp").write_text(TWO_MINORS)
    for space, added, folders in (("tl_minor_0", 10, []), ("tl_minor_1", 20, [str(newer)])):
        build = tmp_path / space
        build.mkdir()
        flags = ["-O0", f"-DNAMESPACE={space}", f'-DSPACE="{space}"', f"-DADDED={added}", "-DTL_API_TARGET=0"]
        cpp_extension.load(
            space,
            str(tmp_path / "two.cpp"),
            extra_cflags=flags,
            extra_include_paths=folders,
            build_directory=str(build),
            is_python_module=False,
        )
    for space, added in (("tl_minor_0", 10), ("tl_minor_1", 20), ("tl_minor_0", 10)):
        operators = getattr(ops, space)
        assert operators.one_dimension(tl.zeros(2)).tolist() == [added, added]
        with pytest.raises(ValueError, match=f"{space} got 2 dimensions"):
            operators.one_dimension(tl.zeros(2, 2))
        assert operators.caught(tl.zeros(2)) == space


OF_ANOTHER_DRAFT = r"""
#include <torch/library.h>
struct Counter : torch::CustomClassHolder {
  int64_t n = 0;
  int64_t next() { return ++n; }
};
TORCH_LIBRARY(tl_draft, m) {
  m.def("twice", [](const at::Tensor& x) { return x * 2; });
  m.class_<Counter>("Counter").def(torch::init<>()).def("next", &Counter::next);
}
static auto older = torch::RegisterOperators().op("tl_draft::thrice", [](const at::Tensor& x) { return x * 3; });
"""


@compiles
def test_an_extension_of_another_draft_is_refused(tmp_path: Path) -> None:
    newer = Path(
        extension_build.changed_headers(
            tmp_path, "python.h", r"TL_API_DIGEST UINT64_C\(0x[0-9a-f]+\)", "TL_API_DIGEST UINT64_C(0x7)"
        )
    )
    for folder in ("torch", "ATen", "c10"):
        shutil.copytree(Path(tl.get_include()) / folder, newer / folder)
    (tmp_path / "draft.cpp").write_text(OF_ANOTHER_DRAFT)
    with pytest.raises(ImportError, match=r"headers of another draft .* \(0{15}7\)"):
        cpp_extension.load(
            "tl_draft",
            str(tmp_path / "draft.cpp"),
            extra_cflags=["-O0"],
            extra_include_paths=[str(newer)],
            build_directory=str(tmp_path),
            is_python_module=False,
        )
    assert not hasattr(ops.tl_draft, "twice")


def test_dependencies() -> None:
    text = "a.o: a.cpp \\\n  /usr/include/x.h b\\ c.h\n"
    assert build_job.read_dependencies(text) == ["a.cpp", "/usr/include/x.h", "b c.h"]


# ---- the generated headers ----------------------------------------------------------------------------------------
def test_every_functional_row_has_a_function() -> None:
    rows = collect.rows()
    text = cpp_functions.functions_hpp(rows)
    assert text == cpp_functions.functions_hpp(rows)
    expected = {row.base for row in rows} - cpp_functions.BY_HAND - cpp_functions.KEYWORDS
    absent = {b for b in expected if f",{b}," not in text and f"({b}," not in text}
    assert {b for b in absent if not b.startswith("_")} == set()


# Names of other packages' parts, of libraries that no build has, and gradients that only formulas call.
ABSENT = r"quantize|^q_|^quantized|fake_quant|choose_qparams|int_repr|overrideable|_backward|^glu_jvp|^slow_conv|fbgemm"
ABSENT += r"|mkldnn|cudnn|vulkan|^thnn|^sym_|^xla|infinitely"
LEAST = 0.96


def test_functions_of_aten() -> None:
    """How many of PyTorch's functions C++ can call."""
    names = (Path(__file__).parent / "aten_names.txt").read_text().split()
    wanted = {name.rstrip("_") for name in names if not name.startswith("_") and not re.search(ABSENT, name)}
    rows = collect.rows()
    text = cpp_functions.functions_hpp(rows) + cpp_functions.methods_hpp(rows)
    here = set(re.findall(r"\b([a-z]\w*?)_?(?=,\"|,\(|\()", text))
    for header in (Path(__file__).parents[1] / "include/tl/torch").glob("*.hpp"):
        here |= set(re.findall(r"\b([a-z]\w*?)_?\(", header.read_text()))
        here |= set(re.findall(r"TL_FACE_(?:ATEN\(\w+, |COMPRESSED\()(\w+),", header.read_text()))
    assert len(wanted & here) >= LEAST * len(wanted), sorted(wanted - here)


def test_headers_are_distinct() -> None:
    names = cpp_headers.names()
    for name in (
        "torch/extension.h",
        "ATen/ATen.h",
        "torch/library.h",
        "c10/util/Exception.h",
        "torch/script.h",
    ):
        assert name in names
    include = Path(tl.get_include())
    assert [n for n in names if not (include / n).exists()] == []
    assert [p for p in set(names.values()) if not (include / "tl" / "torch" / f"{p}.hpp").exists()] == []
