// Names of `at::` that are no operators: reductions, types of results, facts of tensors, lists as one tensor.
#ifndef TL_TORCH_FACTS_HPP
#define TL_TORCH_FACTS_HPP

#include <tl/torch/ivalue.hpp>
#include <tl/torch/modes.hpp>

namespace at {
TL_FACE {
  // The reductions of losses, as numbers.
  namespace Reduction {
  enum Reduction { None, Mean, Sum, END };
  }

  // ---- types ------------------------------------------------------------------------------------------------------
  inline ScalarType promote_types(ScalarType a, ScalarType b) { return c10::promoteTypes(a, b); }
  inline bool can_cast(ScalarType from, ScalarType to) {
    const auto rank = [](ScalarType t) {
      return isComplexType(t) ? 3 : isFloatingType(t) ? 2 : t == kBool ? 0 : 1;
    };
    return rank(from) <= rank(to);
  }
  namespace face {
  inline ScalarType common_type(const Value& a, const Value& b) {
    const Value values[] = {a, b};
    const int64_t code = api().common_dtype(values, 2);
    if (code < 0) raise();
    return type_of(code);
  }
  }  // namespace face
  inline ScalarType result_type(const Tensor& a, const Tensor& b) { return face::common_type(a, b); }
  inline ScalarType result_type(const Tensor& a, const Scalar& b) { return face::common_type(a, b); }
  inline ScalarType result_type(const Scalar& a, const Tensor& b) { return face::common_type(a, b); }
  inline ScalarType result_type(const Scalar& a, const Scalar& b) { return face::common_type(a, b); }

  // PyTorch's older objects for types.
  using DeprecatedTypeProperties = Tensor::Type;
  inline DeprecatedTypeProperties& getDeprecatedTypeProperties(Backend b, ScalarType t) {
    static std::unique_ptr<DeprecatedTypeProperties> all[size_t(Backend::Undefined) + 1]
                                                        [size_t(ScalarType::NumOptions)];
    static std::mutex lock;
    const std::lock_guard<std::mutex> hold(lock);
    const bool cuda = b == Backend::CUDA || b == Backend::SparseCUDA;
    const bool sparse = b == Backend::SparseCPU || b == Backend::SparseCUDA;
    const auto options = TensorOptions(t).device(Device(cuda ? kCUDA : b == Backend::Meta ? kMeta : kCPU));
    auto& entry = all[size_t(b)][size_t(t)];
    if (!entry) entry.reset(new DeprecatedTypeProperties(options.layout(sparse ? kSparse : kStrided)));
    return *entry;
  }
  inline DeprecatedTypeProperties& CPU(ScalarType t) { return getDeprecatedTypeProperties(Backend::CPU, t); }
  inline DeprecatedTypeProperties& CUDA(ScalarType t) {
    return getDeprecatedTypeProperties(Backend::CUDA, t);
  }

  // ---- facts ------------------------------------------------------------------------------------------------------
  inline bool is_nonzero(const Tensor& t) {
    const int64_t n = t.numel();
    TORCH_CHECK(n != 0, "Boolean value of Tensor with no values is ambiguous");
    TORCH_CHECK(n == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return t.ne(Scalar(0)).item<bool>();
  }
  inline bool is_same_size(const Tensor& a, const Tensor& b) { return a.sizes() == b.sizes(); }
  inline bool is_distributed(const Tensor&) { return false; }
  inline bool is_complex(const Tensor& t) { return t.is_complex(); }
  inline bool is_floating_point(const Tensor& t) { return t.is_floating_point(); }
  inline bool is_signed(const Tensor& t) { return t.is_signed(); }
  inline bool is_conj(const Tensor& t) { return t.is_conj(); }
  inline bool is_neg(const Tensor& t) { return t.is_neg(); }
  inline bool is_inference(const Tensor& t) { return t.is_inference(); }
  inline int64_t size(const Tensor& t, int64_t dim) { return t.size(dim); }
  inline int64_t stride(const Tensor& t, int64_t dim) { return t.stride(dim); }

  inline bool is_nested(const Tensor& t) { return t.is_nested(); }

  // A tensor without dimensions, of the widest type of the number's kind.
  inline Tensor scalar_to_tensor(const Scalar& s, Device device = Device(kCPU)) {
    const ScalarType t = s.isFloatingPoint() ? kDouble
                         : s.isComplex()     ? kComplexDouble
                         : s.isBoolean()     ? kBool
                                             : kLong;
    return at::scalar_tensor(s, TensorOptions(t).device(device));
  }

  // ---- views ------------------------------------------------------------------------------------------------------
  inline Tensor linalg_diagonal(const Tensor& A, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
    return A.diagonal(offset, dim1, dim2);
  }
  inline Tensor matrix_H(const Tensor& t) { return t.matrix_H(); }
  inline Tensor numpy_T(const Tensor& t) { return t.numpy_T(); }
  inline Tensor smm(const Tensor& a, const Tensor& b) { return a.mm(b); }
  inline Tensor _reshape_alias(const Tensor& t, IntArrayRef sizes, IntArrayRef strides) {
    return t.as_strided(sizes, strides, t.storage_offset());
  }
  inline Tensor lift(const Tensor& t) { return t; }

  // ---- lists as one tensor ------------------------------------------------------------------------------------------
  inline Tensor flatten_dense_tensors(TensorList tensors) {
    std::vector<Tensor> rows;
    for (const Tensor& t : tensors) rows.push_back(t.contiguous().view({-1}));
    return at::cat(rows);
  }
  inline std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
    std::vector<Tensor> parts;
    int64_t first = 0;
    for (const Tensor& t : tensors) {
      const int64_t n = t.numel();
      parts.push_back(n ? flat.narrow(0, first, n).view(t.sizes()) : at::empty(t.sizes(), flat.options()));
      first += n;
    }
    return parts;
  }
}
}  // namespace at
namespace c10 {
TL_FACE { using at::scalar_to_tensor; }
}  // namespace c10

#endif  // TL_TORCH_FACTS_HPP
