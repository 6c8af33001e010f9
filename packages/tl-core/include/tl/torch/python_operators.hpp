// Functions of `at::` whose operators are functions of Python. A call holds the interpreter's lock.
#ifndef TL_TORCH_PYTHON_OPERATORS_HPP
#define TL_TORCH_PYTHON_OPERATORS_HPP

#include <tl/torch/ivalue.hpp>
#include <tl/torch/modes.hpp>

namespace at {
TL_FACE {
  namespace face {
  struct Keyword {
    const char* name;
    Value value;
  };
  using Keywords = std::initializer_list<Keyword>;

  [[gnu::noinline]] inline ::tl::PyRef object_of(const Value& v) {
    TlValue owned{};
    check(api().value_own(&v, &owned));
    return checked(python().from_value(&owned));
  }
  // An object below the module tl_core, such as "ops.aten.relu6".
  [[gnu::noinline]] inline ::tl::PyRef object_at(std::string_view path) {
    auto object = checked(PyImport_ImportModule("tl_core"));
    while (!path.empty()) {
      const size_t dot = path.find('.');
      object = checked(PyObject_GetAttrString(object.get(), std::string(path.substr(0, dot)).c_str()));
      path.remove_prefix(dot == path.npos ? path.size() : dot + 1);
    }
    return object;
  }
  [[gnu::noinline]] inline ::tl::PyRef call_object(PyObject* function, const Value* args, size_t n,
                                                   const Keyword* keywords, size_t n_keywords) {
    const auto tuple = checked(PyTuple_New(Py_ssize_t(n)));
    for (size_t i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.get(), Py_ssize_t(i), object_of(args[i]).release());
    const auto dict = checked(PyDict_New());
    for (size_t i = 0; i < n_keywords; ++i)
      if (PyDict_SetItemString(dict.get(), keywords[i].name, object_of(keywords[i].value).get()) != 0)
        raise_python();
    return checked(PyObject_Call(function, tuple.get(), dict.get()));
  }
  template <class R>
  struct Taken;
  template <>
  struct Taken<void> {
    static void from(PyObject*) {}
  };
  template <>
  struct Taken<Tensor> {
    static Tensor from(PyObject* o) { return tensor_of(o); }
  };
  inline ::tl::PyRef items_of(PyObject* o) { return checked(PySequence_Tuple(o)); }
  template <>
  struct Taken<std::vector<Tensor>> {
    static std::vector<Tensor> from(PyObject* o) {
      const auto items = items_of(o);
      std::vector<Tensor> list;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
        list.push_back(tensor_of(PyTuple_GET_ITEM(items.get(), i)));
      return list;
    }
  };
  template <class... T>
  struct Taken<std::tuple<T...>> {
    static std::tuple<T...> from(PyObject* o) {
      const auto items = items_of(o);
      const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
      TORCH_CHECK(n == Py_ssize_t(sizeof...(T)), "expected ", sizeof...(T), " results, got ", n);
      return from(items.get(), std::index_sequence_for<T...>{});
    }
    template <size_t... I>
    static std::tuple<T...> from(PyObject* items, std::index_sequence<I...>) {
      return {Taken<T>::from(PyTuple_GET_ITEM(items, Py_ssize_t(I)))...};
    }
  };
  // A function below tl_core, by its path.
  template <class R>
  R call_path(const char* path, Values args, Keywords keywords = {}) {
    ::tl::WithGil gil;
    const auto function = object_at(path);
    return Taken<R>::from(
        call_object(function.get(), args.begin(), args.size(), keywords.begin(), keywords.size()).get());
  }
  // A method of the tensor's object.
  inline Tensor call_method(const Tensor& t, const char* name, Values args, Keywords keywords = {}) {
    ::tl::WithGil gil;
    const auto method = attribute(t, name);
    return tensor_of(
        call_object(method.get(), args.begin(), args.size(), keywords.begin(), keywords.size()).get());
  }
  inline Tensor call_sparse(const char* path, Values args, const TensorOptions& o) {
    return finish(call_path<Tensor>(path, args, {{"dtype", o.dtype_}, {"device", o.device_}}), o);
  }
  }  // namespace face

#define TL_FACE_ATEN(RESULT, NAME, PARAMETERS, ...) \
  inline RESULT NAME PARAMETERS { return face::call_path<RESULT>("ops.aten." #NAME, {__VA_ARGS__}); }

  // ---- functions of networks --------------------------------------------------------------------------------------
  TL_FACE_ATEN(Tensor, alpha_dropout, (const Tensor& input, double p, bool train), input, p, train)
  TL_FACE_ATEN(Tensor, feature_dropout, (const Tensor& input, double p, bool train), input, p, train)
  TL_FACE_ATEN(Tensor, feature_alpha_dropout, (const Tensor& input, double p, bool train), input, p, train)
  TL_FACE_ATEN(Tensor, relu6, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, pad_sequence,
               (TensorList sequences, bool batch_first = false, double padding_value = 0,
                std::string_view padding_side = "right"),
               sequences, batch_first, padding_value, padding_side)
  TL_FACE_ATEN(Tensor, rrelu_with_noise,
               (const Tensor& self, const Tensor& noise, const Scalar& lower = 0.125,
                const Scalar& upper = 0.3333333333333333, bool training = false,
                const std::optional<Generator>& generator = std::nullopt),
               self, noise, lower, upper, training, generator)
  using LossAndWeight = std::tuple<Tensor, Tensor>;
  TL_FACE_ATEN(LossAndWeight, nll_loss2d_forward,
               (const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
                int64_t reduction, int64_t ignore_index),
               self, target, weight, reduction, ignore_index)
  using UniqueParts = std::tuple<Tensor, Tensor, Tensor>;
  TL_FACE_ATEN(UniqueParts, unique_dim_consecutive,
               (const Tensor& self, int64_t dim, bool return_inverse = false, bool return_counts = false),
               self, dim, return_inverse, return_counts)
  TL_FACE_ATEN(Tensor, lift_fresh_copy, (const Tensor& self), self)
  inline Tensor normal_functional(const Tensor& self, double mean = 0, double std = 1,
                                  const std::optional<Generator>& generator = std::nullopt) {
    return face::call_path<Tensor>("ops.aten.normal_functional.default", {self, mean, std},
                                   {{"generator", generator}});
  }

  // ---- sparse tensors ---------------------------------------------------------------------------------------------
  TL_FACE_ATEN(Tensor, hspmm, (const Tensor& mat1, const Tensor& mat2), mat1, mat2)
  inline Tensor sspaddmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
                         const Scalar& alpha = 1) {
    return face::call_path<Tensor>("ops.aten.sspaddmm.default", {self, mat1, mat2},
                                   {{"beta", beta}, {"alpha", alpha}});
  }
  inline Tensor sparse_sampled_addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                                     const Scalar& beta = 1, const Scalar& alpha = 1) {
    return face::call_path<Tensor>("ops.aten.sparse_sampled_addmm.default", {self, mat1, mat2},
                                   {{"beta", beta}, {"alpha", alpha}});
  }
  inline Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values,
                                  const TensorOptions& options = {}, std::optional<bool> is_coalesced = {}) {
    return face::finish(
        face::call_path<Tensor>(
            "sparse_coo_tensor", {indices, values},
            {{"dtype", options.dtype_}, {"device", options.device_}, {"is_coalesced", is_coalesced}}),
        options);
  }
  inline Tensor sparse_coo_tensor(const Tensor& indices, const Tensor& values, IntArrayRef size,
                                  const TensorOptions& options = {}, std::optional<bool> is_coalesced = {}) {
    return face::finish(
        face::call_path<Tensor>(
            "sparse_coo_tensor", {indices, values, size},
            {{"dtype", options.dtype_}, {"device", options.device_}, {"is_coalesced", is_coalesced}}),
        options);
  }
  inline Tensor sparse_coo_tensor(IntArrayRef size, const TensorOptions& options) {
    const Tensor indices = at::zeros({int64_t(size.size()), 0}, TensorOptions(kLong));
    return sparse_coo_tensor(indices, at::zeros({0}, TensorOptions(options).layout(kStrided)), size, options);
  }
#define TL_FACE_COMPRESSED(NAME, OUTER, INNER)                                                         \
  inline Tensor NAME(const Tensor& OUTER, const Tensor& INNER, const Tensor& values, IntArrayRef size, \
                     const TensorOptions& options) {                                                   \
    return face::call_sparse(#NAME, {OUTER, INNER, values, size}, options);                            \
  }                                                                                                    \
  inline Tensor NAME(const Tensor& OUTER, const Tensor& INNER, const Tensor& values,                   \
                     const TensorOptions& options) {                                                   \
    return face::call_sparse(#NAME, {OUTER, INNER, values}, options);                                  \
  }
  TL_FACE_COMPRESSED(sparse_csr_tensor, crow_indices, col_indices)
  TL_FACE_COMPRESSED(sparse_csc_tensor, ccol_indices, row_indices)
  TL_FACE_COMPRESSED(sparse_bsr_tensor, crow_indices, col_indices)
  TL_FACE_COMPRESSED(sparse_bsc_tensor, ccol_indices, row_indices)
#undef TL_FACE_COMPRESSED
  inline Tensor sparse_compressed_tensor(const Tensor& compressed_indices, const Tensor& plain_indices,
                                         const Tensor& values, IntArrayRef size, const TensorOptions& o) {
    return face::finish(
        face::call_path<Tensor>("sparse_compressed_tensor", {compressed_indices, plain_indices, values, size},
                                {{"dtype", o.dtype_}, {"device", o.device_}, {"layout", o.layout_}}),
        o);
  }
  TL_FACE_ATEN(Tensor, indices_copy, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, values_copy, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, crow_indices_copy, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, col_indices_copy, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, ccol_indices_copy, (const Tensor& self), self)
  TL_FACE_ATEN(Tensor, row_indices_copy, (const Tensor& self), self)
#undef TL_FACE_ATEN

  // ---- methods ----------------------------------------------------------------------------------------------------
  inline Tensor Tensor::to_sparse(int64_t sparse_dim) const {
    return face::call_method(*this, "to_sparse", {sparse_dim});
  }
  inline Tensor Tensor::to_sparse(std::optional<Layout> layout, OptionalIntArrayRef blocksize,
                                  std::optional<int64_t> dense_dim) const {
    return face::call_method(*this, "to_sparse", {},
                             {{"layout", layout}, {"blocksize", blocksize}, {"dense_dim", dense_dim}});
  }
  inline Tensor Tensor::to_sparse_csr(std::optional<int64_t> dense_dim) const {
    return face::call_method(*this, "to_sparse_csr", {dense_dim});
  }
  inline Tensor Tensor::to_sparse_csc(std::optional<int64_t> dense_dim) const {
    return face::call_method(*this, "to_sparse_csc", {dense_dim});
  }
  inline Tensor Tensor::to_sparse_bsr(IntArrayRef blocksize, std::optional<int64_t> dense_dim) const {
    return face::call_method(*this, "to_sparse_bsr", {blocksize, dense_dim});
  }
  inline Tensor Tensor::to_sparse_bsc(IntArrayRef blocksize, std::optional<int64_t> dense_dim) const {
    return face::call_method(*this, "to_sparse_bsc", {blocksize, dense_dim});
  }
  inline Tensor Tensor::chalf(std::optional<MemoryFormat> f) const {
    return to(kComplexHalf, false, false, f);
  }
  inline Tensor Tensor::pin_memory(std::optional<Device> device) const {
    return face::call_method(*this, "pin_memory", {device});
  }
}
}  // namespace at

namespace c10 {
TL_FACE {
  inline void set_default_dtype(TypeMeta t) {
    at::face::call_path<void>("set_default_dtype", {t.toScalarType()});
  }
}
}  // namespace c10

#endif  // TL_TORCH_PYTHON_OPERATORS_HPP
