// Tensors of numbers and of memory that exists.
#ifndef TL_TORCH_CREATION_HPP
#define TL_TORCH_CREATION_HPP

#include <tl/torch/ivalue.hpp>
#include <tl/torch/modes.hpp>

namespace at {
TL_FACE {
  namespace face {
  template <class T>
  Tensor tensor_of(const T* data, size_t n, IntArrayRef sizes, TensorOptions o) {
    constexpr ScalarType own = CppTypeToScalarType<T>::value;
    const ScalarType wanted = o.dtype_.value_or(own);
    TORCH_CHECK_NOT_IMPLEMENTED(!isComplexType(own) || isComplexType(wanted),
                                "\"tensor_cpu\" not implemented for '", wanted, "'");
    Tensor t = at::empty(sizes, TensorOptions(own));
    if (n) std::copy(data, data + n, t.data_ptr<T>());
    return finish(t.to(TensorOptions(wanted).device(o.device_)), o);
  }
  }  // namespace face
  template <class T>
  Tensor tensor(ArrayRef<T> values, const TensorOptions& o = {}) {
    const int64_t n = int64_t(values.size());
    return face::tensor_of(values.data(), values.size(), n, o);
  }
  template <class T>
  Tensor tensor(const std::vector<T>& values, const TensorOptions& o = {}) {
    if constexpr (std::is_same_v<T, bool>) {
      const std::vector<uint8_t> bytes(values.begin(), values.end());
      return tensor(ArrayRef<uint8_t>(bytes), o.dtype_ ? o : o.dtype(kBool));
    } else {
      return tensor(ArrayRef<T>(values), o);
    }
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || is_complex<T>::value, int> = 0>
  Tensor tensor(std::initializer_list<T> values, const TensorOptions& o = {}) {
    return tensor(ArrayRef<T>(values), o);
  }
  template <class T, std::enable_if_t<std::is_arithmetic_v<T> || is_complex<T>::value, int> = 0>
  Tensor tensor(T value, const TensorOptions& o = {}) {
    return tensor(ArrayRef<T>(value), o);
  }

  // ---- memory that somebody else owns -----------------------------------------------------------------------------
  namespace face {
  inline void call_deleter(void* context) {
    auto* release = static_cast<std::function<void()>*>(context);
    (*release)();
    delete release;
  }
  inline void no_deleter(void*) {}
  [[gnu::noinline]] inline Tensor from_memory(void* data, IntArrayRef sizes, IntArrayRef strides,
                                              std::function<void()> release, const TensorOptions& o) {
    auto* context = release ? new std::function<void()>(std::move(release)) : nullptr;
    TlTensor* t = api().tensor_from_memory(data, int(sizes.size()), sizes.data(), strides.data(),
                                           code_of(o.dtype().toScalarType()), code_of(o.device()),
                                           context ? call_deleter : no_deleter, context);
    if (!t) {
      delete context;
      raise();
    }
    return finish(Tensor::adopt(t), o);
  }
  inline std::vector<int64_t> dense_strides(IntArrayRef sizes) {
    std::vector<int64_t> strides(sizes.size());
    int64_t n = 1;
    for (size_t i = sizes.size(); i-- > 0;) strides[i] = n, n *= std::max<int64_t>(sizes[i], 1);
    return strides;
  }
  }  // namespace face
  inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& o = {}) {
    return face::from_memory(data, sizes, strides, nullptr, o);
  }
  inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& o = {}) {
    return face::from_memory(data, sizes, face::dense_strides(sizes), nullptr, o);
  }
  template <class D, class = decltype(std::declval<D&>()(std::declval<void*>()))>
  Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, D deleter,
                   const TensorOptions& o = {}) {
    return face::from_memory(data, sizes, strides, [=]() mutable { deleter(data); }, o);
  }
  template <class D, class = decltype(std::declval<D&>()(std::declval<void*>()))>
  Tensor from_blob(void* data, IntArrayRef sizes, D deleter, const TensorOptions& o = {}) {
    return face::from_memory(data, sizes, face::dense_strides(sizes), [=]() mutable { deleter(data); }, o);
  }
}
}  // namespace at

#endif  // TL_TORCH_CREATION_HPP
