// `torch::tensor`: numbers, nested lists of numbers, and runs of numbers as tensors.
#ifndef TL_TORCH_TENSOR_DATA_HPP
#define TL_TORCH_TENSOR_DATA_HPP

#include <tl/torch/creation.hpp>

namespace torch {
TL_FACE {
  namespace detail {
  enum class TensorDataContainerType { Scalar, InitList, Tensor };

  // A number, a list of containers, or a tensor of a run of numbers. A list is borrowed to the end of the
  // call.
  class TensorDataContainer {
   public:
    TensorDataContainer() : sizes_{0}, type_(at::get_default_dtype()), kind_(Kind::InitList) {}
    template <class T, std::enable_if_t<std::is_constructible_v<at::Scalar, T>, int> = 0>
    TensorDataContainer(const T& value)
        : type_(type_of<T>()), kind_(Kind::Scalar), scalar_(at::Scalar(value)) {}
    TensorDataContainer(std::initializer_list<TensorDataContainer> list)
        : type_(list.size() ? list.begin()->type_ : at::ScalarType(at::get_default_dtype())),
          kind_(Kind::InitList),
          list_(list) {
      check_items();
      sizes_.push_back(int64_t(list.size()));
      if (list.size()) sizes_.insert(sizes_.end(), list.begin()->sizes_.begin(), list.begin()->sizes_.end());
    }
    template <class T>
    TensorDataContainer(at::ArrayRef<T> values)
        : sizes_{int64_t(values.size())},
          type_(type_of<T>()),
          kind_(Kind::Tensor),
          tensor_(at::tensor(values, at::TensorOptions(type_))) {}
    template <class T>
    TensorDataContainer(const std::vector<T>& values)
        : sizes_{int64_t(values.size())},
          type_(type_of<T>()),
          kind_(Kind::Tensor),
          tensor_(at::tensor(values, at::TensorOptions(type_))) {}

    bool is_scalar() const { return kind_ == Kind::Scalar; }
    bool is_init_list() const { return kind_ == Kind::InitList; }
    bool is_tensor() const { return kind_ == Kind::Tensor; }
    const at::Scalar& scalar() const { return refuse_unless(is_scalar(), "scalar"), scalar_; }
    const std::initializer_list<TensorDataContainer>& init_list() const {
      return refuse_unless(is_init_list(), "init_list"), list_;
    }
    const at::Tensor& tensor() const { return refuse_unless(is_tensor(), "tensor"), tensor_; }
    const std::vector<int64_t>& sizes() const { return sizes_; }
    const at::ScalarType& scalar_type() const { return type_; }

    // The tensor of the numbers.
    [[gnu::noinline]] at::Tensor convert_to_tensor(at::TensorOptions options) const {
      const at::ScalarType wanted = options.dtype_ ? *options.dtype_ : result_type(type_);
      if (at::isComplexType(type_) && !at::isComplexType(wanted)) {
        TORCH_CHECK(!is_tensor(),
                    "can not do torch::tensor(complex, dtype=non-complex) because complex can not be casted "
                    "to real number without loss of information");
        TORCH_CHECK(false, "value cannot be converted to type ", c10::face::source_name(wanted),
                    " without overflow");
      }
      at::Tensor t = is_tensor()                 ? tensor_
                     : at::isComplexType(type_)  ? filled<c10::complex<double>>()
                     : at::isFloatingType(type_) ? filled<double>()
                                                 : filled<int64_t>();
      return at::face::finish(t.to(at::TensorOptions(wanted).device(options.device_)), options);
    }
    void pretty_print_recursive(std::ostream& out) const {
      if (is_scalar()) {
        out << scalar_;
      } else if (is_init_list()) {
        const char* between = "{";
        for (const TensorDataContainer& item : list_) {
          out << between;
          item.pretty_print_recursive(out);
          between = ", ";
        }
        out << (list_.size() ? "}" : "{}");
      } else {
        for (int64_t i = 0; i < tensor_.size(0); ++i) out << (i ? ", " : "{") << tensor_.select(0, i).item();
        out << (tensor_.size(0) ? "}" : "{}");
      }
    }
    friend std::ostream& operator<<(std::ostream& out, const TensorDataContainer& data) {
      return data.pretty_print_recursive(out), out;
    }

   private:
    using Kind = TensorDataContainerType;
    template <class T>
    static at::ScalarType type_of() {
      if constexpr (std::is_same_v<T, at::Scalar>)
        return at::kDouble;
      else if constexpr (std::is_integral_v<T> && sizeof(T) == 8)
        return at::kLong;
      else
        return at::CppTypeToScalarType<T>::value;
    }
    // The type of the tensor: int and int64 become int64, and numbers with a point the default type.
    static at::ScalarType result_type(at::ScalarType t) {
      if (t == at::kInt) return at::kLong;
      const at::ScalarType wanted = at::get_default_dtype();
      if (t == at::kFloat || t == at::kDouble) return wanted;
      if (at::isComplexType(t)) return wanted == at::kDouble ? at::kComplexDouble : at::kComplexFloat;
      return t;
    }
    void refuse_unless(bool same, const char* name) const {
      TORCH_CHECK(same, "Can only call `", name, "()` on a TensorDataContainer that has `is_", name,
                  "() == true`");
    }
    static std::string joined(const std::vector<int64_t>& sizes) {
      std::string text;
      for (int64_t n : sizes) text += (text.empty() ? "" : " ") + std::to_string(n);
      return text;
    }
    void check_items() const {
      for (const TensorDataContainer& item : list_) {
        const TensorDataContainer& first = *list_.begin();
        TORCH_CHECK(item.sizes_ == first.sizes_,
                    "Expected all sub-lists to have sizes: ", joined(first.sizes_), " (e.g. ", first,
                    "), but got sub-list ", item, " with sizes: ", joined(item.sizes_));
        TORCH_CHECK(item.type_ == first.type_,
                    "Expected all elements of the tensor to have the same scalar type: ", first.type_,
                    ", but got element of scalar type: ", item.type_);
        TORCH_CHECK(!item.is_tensor(),
                    "TensorDataContainer is already a Tensor type, `fill_tensor` should not be called");
      }
    }
    template <class T>
    void append(std::vector<T>& numbers) const {
      if (is_scalar()) numbers.push_back(scalar_.to<T>());
      for (const TensorDataContainer& item : list_) item.append(numbers);
    }
    template <class T>
    at::Tensor filled() const {
      std::vector<T> numbers;
      append(numbers);
      return at::tensor(at::ArrayRef<T>(numbers)).view(sizes_);
    }

    std::vector<int64_t> sizes_;
    at::ScalarType type_;
    Kind kind_;
    at::Scalar scalar_;
    std::initializer_list<TensorDataContainer> list_;
    at::Tensor tensor_;
  };
  }  // namespace detail

  inline at::Tensor tensor(detail::TensorDataContainer data, const at::TensorOptions& options = {}) {
    return data.convert_to_tensor(options);
  }
}
}  // namespace torch

#endif  // TL_TORCH_TENSOR_DATA_HPP
