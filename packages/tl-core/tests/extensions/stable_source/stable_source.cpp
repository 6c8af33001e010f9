// An extension written for PyTorch's stable headers: operators with types, on words, over lists, called by
// name.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/device.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/Dispatch_v2.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/core/TensorAccessor.h>
#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/Exception.h>
#include <torch/headeronly/util/HeaderOnlyArrayRef.h>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// ---- with types ----------------------------------------------------------------------------------------------------
template <class T>
void clip_row(const T* from, T* to, int64_t n, double most) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] < T(most) ? from[i] : T(most);
}

Tensor clip(const Tensor& x, double most) {
  STD_TORCH_CHECK(x.dim() == 2, "clip: x must have 2 dimensions, got ", x.dim());
  STD_TORCH_CHECK(x.is_cpu() && !x.is_cuda() && x.device().type() == torch::headeronly::kCPU,
                  "clip: not on the CPU");
  const Tensor rows = torch::stable::contiguous(x);
  Tensor out = torch::stable::new_empty(rows, rows.sizes(), rows.scalar_type());
  THO_DISPATCH_V2(x.scalar_type(), "clip", AT_WRAP([&] {
                    const scalar_t* from = rows.const_data_ptr<scalar_t>();
                    scalar_t* to = out.mutable_data_ptr<scalar_t>();
                    const int64_t n = rows.size(1);
                    torch::stable::parallel_for(0, rows.size(0), 1, [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) clip_row(from + i * n, to + i * n, n, most);
                    });
                  }),
                  AT_EXPAND(AT_FLOATING_TYPES), ScalarType::Half, ScalarType::Int);
  return out;
}

std::tuple<Tensor, int64_t, std::vector<int64_t>> describe(Tensor x, std::optional<Tensor> other,
                                                           std::optional<int64_t> number, std::string text) {
  const int64_t sum = number.value_or(-1) + (other ? other->numel() : 0) + int64_t(text.size());
  const auto strides = x.strides();
  return {torch::stable::transpose(x, 0, 1), sum, {strides.begin(), strides.end()}};
}

Tensor composed(const Tensor& x, torch::headeronly::IntHeaderOnlyArrayRef sizes) {
  using namespace torch::stable;
  Tensor y = empty(sizes, ScalarType::Double);
  fill_(y, 2.5);
  Tensor z = torch::stable::to(x, ScalarType::Double);
  z = subtract(torch::stable::sum(z, std::vector<int64_t>{0}), torch::stable::amax(z, 0), 2);
  Tensor m = torch::stable::matmul(torch::stable::unsqueeze(z, 0), y);
  m = torch::stable::pad(torch::stable::flatten(torch::stable::clone(m)), {1, 1}, "constant", 9);
  Tensor out = torch::stable::new_zeros(m, {m.size(0)});
  torch::stable::copy_(torch::stable::narrow(out, 0, 1, m.size(0) - 2),
                       torch::stable::narrow(m, 0, 1, m.size(0) - 2));
  return torch::stable::full({2}, 1, ScalarType::Double).numel() == 2 ? torch::stable::view(out, {-1}) : x;
}

Tensor& doubled_(Tensor& x) {
  auto* data = x.mutable_data_ptr<float>();
  for (int64_t i = 0; i < x.numel(); ++i) data[i] *= 2;
  return x;
}

double total(const Tensor& x) {
  auto a = torch::headeronly::HeaderOnlyTensorAccessor<const double, 1>(x.const_data_ptr<double>(),
                                                                        x.sizes().data(), x.strides().data());
  double sum = 0;
  for (int64_t i = 0; i < a.size(0); ++i) sum += a[i];
  return sum;
}

Tensor borrowed() {
  static float numbers[4] = {1, 2, 3, 4};
  return torch::stable::from_blob(numbers, {3}, {1}, torch::stable::Device(torch::headeronly::kCPU),
                                  ScalarType::Float, 1);
}

int64_t current_device() { return torch::stable::accelerator::getCurrentDeviceIndex(); }

// ---- on words ------------------------------------------------------------------------------------------------------
void scaled(StableIValue* stack, uint64_t n_args, uint64_t n_rets) {
  using namespace torch::stable::detail;
  STD_TORCH_CHECK(n_args == 4 && n_rets == 2, "scaled: ", n_args, " arguments");
  Tensor x = to<Tensor>(stack[0]);
  const auto factor = to<std::optional<double>>(stack[1]);
  const auto sizes = to<std::vector<int64_t>>(stack[2]);
  const auto dtype = to<ScalarType>(stack[3]);
  Tensor y = torch::stable::clone(torch::stable::to(x, dtype));
  for (int64_t i = 0; i < y.numel(); ++i) y.mutable_data_ptr<double>()[i] *= factor.value_or(10);
  stack[0] = from(torch::stable::reshape(y, sizes));
  stack[1] = from(factor ? std::optional<int64_t>(y.numel()) : std::nullopt);
}

Tensor by_name(const Tensor& x, double exponent) {
  using namespace torch::stable::detail;
  StableIValue stack[2] = {from(x), from(exponent)};
  TORCH_ERROR_CODE_CHECK(torch_call_dispatcher("aten::pow", "Tensor_Scalar", stack, TORCH_ABI_VERSION));
  return to<Tensor>(stack[0]);
}

STABLE_TORCH_LIBRARY(tl_stable_source, m) {
  m.def("clip(Tensor x, float most) -> Tensor", {torch::headeronly::Tag::pt2_compliant_tag});
  m.def("describe(Tensor x, Tensor? other, int? number, str text) -> (Tensor, int, int[])");
  m.def("composed(Tensor x, int[] sizes) -> Tensor");
  m.def("doubled_(Tensor(a!) x) -> Tensor(a!)");
  m.def("total(Tensor x) -> float");
  m.def("borrowed() -> Tensor");
  m.def("current_device() -> int");
  m.def("by_name(Tensor x, float exponent) -> Tensor");
}
STABLE_TORCH_LIBRARY_FRAGMENT(tl_stable_source, m) {
  m.def("scaled(Tensor x, float? factor, int[] sizes, ScalarType dtype) -> (Tensor, int?)");
}
STABLE_TORCH_LIBRARY_IMPL(tl_stable_source, CPU, m) {
  m.impl("clip", TORCH_BOX(&clip));
  m.impl("describe", TORCH_BOX(&describe));
  m.impl("doubled_", TORCH_BOX(&doubled_));
  m.impl("total", TORCH_BOX(total));
  m.impl("scaled", &scaled);
}
STABLE_TORCH_LIBRARY_IMPL(tl_stable_source, CompositeExplicitAutograd, m) {
  m.impl("composed", TORCH_BOX(&composed));
  m.impl("borrowed", TORCH_BOX(&borrowed));
  m.impl("current_device", TORCH_BOX(&current_device));
  m.impl("by_name", TORCH_BOX(&by_name));
}
