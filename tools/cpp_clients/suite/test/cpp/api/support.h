// What PyTorch's tests of its interface for C++ share.
#pragma once
#include <ATen/TensorIndexing.h>
#include <test/cpp/common/support.h>
#include <torch/torch.h>

#include <mutex>

namespace torch::test {
struct SeedingFixture : ::testing::Test {
  SeedingFixture() { torch::manual_seed(0); }
};
// The warnings of a scope. tl's are those of Python.
struct WarningCapture {
  WarningCapture() {
    ::tl::WithGil gil;
    const auto module = at::face::checked(PyImport_ImportModule("warnings"));
    const auto type = at::face::checked(PyObject_GetAttrString(module.get(), "catch_warnings"));
    const auto keywords = at::face::checked(Py_BuildValue("{s:O}", "record", Py_True));
    const auto none = at::face::checked(PyTuple_New(0));
    scope_ = at::face::checked(PyObject_Call(type.get(), none.get(), keywords.get()));
    list_ = at::face::checked(PyObject_CallMethod(scope_.get(), "__enter__", nullptr));
    at::face::checked(PyObject_CallMethod(module.get(), "simplefilter", "s", "always"));
  }
  ~WarningCapture() {
    ::tl::WithGil gil;
    at::face::checked(PyObject_CallMethod(scope_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    scope_ = {}, list_ = {};
  }
  std::vector<std::string> messages() const {
    ::tl::WithGil gil;
    std::vector<std::string> all;
    for (Py_ssize_t i = 0; i < PyList_Size(list_.get()); ++i) {
      const auto message =
          at::face::checked(PyObject_GetAttrString(PyList_GetItem(list_.get(), i), "message"));
      all.emplace_back(PyUnicode_AsUTF8(at::face::checked(PyObject_Str(message.get())).get()));
    }
    return all;
  }
  std::string str() const {
    std::string text;
    for (const std::string& message : messages()) text += (text.empty() ? "" : "\n") + message;
    return text;
  }

 private:
  ::tl::PyRef scope_, list_;
};
inline bool pointer_equal(at::Tensor a, at::Tensor b) { return a.data_ptr() == b.data_ptr(); }
inline double largest_difference(at::Tensor a, at::Tensor b) {
  a = a.to(torch::kDouble), b = b.to(torch::kDouble);
  const at::Tensor nan = torch::isnan(a);
  if (!torch::equal(nan, torch::isnan(b))) return INFINITY;
  return torch::where(nan, torch::zeros_like(a), (a - b).abs()).max().item<double>();
}
inline void assert_tensor_equal(at::Tensor a, at::Tensor b, bool = false) {
  ASSERT_TRUE(a.sizes() == b.sizes());
  ASSERT_EQ(a.scalar_type() == torch::kBool, b.scalar_type() == torch::kBool);
  if (a.numel() > 0) ASSERT_LE(largest_difference(a, b), 1e-5);
}
inline void assert_tensor_not_equal(at::Tensor a, at::Tensor b) {
  if (a.sizes() == b.sizes()) ASSERT_GE(largest_difference(a, b), 1e-5);
}
inline int count_substr_occurrences(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t i = text.find(part); i != text.npos; i = text.find(part, i + part.size())) ++n;
  return n;
}
struct AutoDefaultDtypeMode {
  explicit AutoDefaultDtypeMode(c10::ScalarType t) : before(torch::get_default_dtype()) {
    torch::set_default_dtype(torch::scalarTypeToTypeMeta(t));
  }
  ~AutoDefaultDtypeMode() { torch::set_default_dtype(before); }
  static std::mutex default_dtype_mutex;
  caffe2::TypeMeta before;
};
}  // namespace torch::test
