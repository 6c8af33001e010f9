// Runs of values that somebody else owns, and lists of them.
#ifndef TL_TORCH_ARRAY_REF_HPP
#define TL_TORCH_ARRAY_REF_HPP

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <tl/torch/errors.hpp>
#include <vector>

namespace c10 {
TL_FACE {
  template <class T, unsigned N>
  class SmallVector : public std::vector<T> {
   public:
    using std::vector<T>::vector;
    SmallVector(const std::vector<T>& v) : std::vector<T>(v) {}
    SmallVector(std::vector<T>&& v) : std::vector<T>(std::move(v)) {}
  };

  template <class T>
  class ArrayRef {
   public:
    using value_type = T;
    using iterator = const T*;
    using const_iterator = const T*;
    using size_type = size_t;
    using reverse_iterator = std::reverse_iterator<iterator>;

    constexpr ArrayRef() = default;
    constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
    constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
    constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(size_t(end - begin)) {}
    template <class C,
              class = std::enable_if_t<
                  std::is_same_v<std::remove_const_t<decltype(std::declval<C>().data())>, T*> ||
                  std::is_same_v<std::remove_const_t<decltype(std::declval<C>().data())>, const T*>>,
              class = decltype(std::declval<C>().size())>
    ArrayRef(const C& container) : data_(container.data()), size_(container.size()) {}
    template <class A>
    ArrayRef(const std::vector<T, A>& v) : data_(v.data()), size_(v.size()) {
      static_assert(!std::is_same_v<T, bool>, "ArrayRef<bool> cannot refer to a std::vector<bool>");
    }
    template <size_t N>
    constexpr ArrayRef(const std::array<T, N>& v) : data_(v.data()), size_(N) {}
    template <size_t N>
    constexpr ArrayRef(const T (&v)[N]) : data_(v), size_(N) {}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime"  // the run ends with the call, as the list does
    constexpr ArrayRef(const std::initializer_list<T>& v)
        : data_(v.begin() == v.end() ? nullptr : v.begin()), size_(v.size()) {}
#pragma GCC diagnostic pop

    constexpr iterator begin() const { return data_; }
    constexpr iterator end() const { return data_ + size_; }
    constexpr const_iterator cbegin() const { return data_; }
    constexpr const_iterator cend() const { return data_ + size_; }
    constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
    constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T* data() const { return data_; }
    constexpr size_t size() const { return size_; }
    const T& front() const { return at(0); }
    const T& back() const { return at(size_ - 1); }
    constexpr const T& operator[](size_t i) const { return data_[i]; }
    const T& at(size_t i) const {
      if (i >= size_)
        face::fail<IndexError>("", "ArrayRef: the index ", i, " is not below the length ", size_);
      return data_[i];
    }
    bool equals(ArrayRef o) const { return size_ == o.size_ && std::equal(begin(), end(), o.begin()); }
    ArrayRef slice(size_t n, size_t m) const {
      if (n + m > size_) face::fail<IndexError>("", "ArrayRef: the slice ends at ", n + m, " of ", size_);
      return ArrayRef(data_ + n, m);
    }
    ArrayRef slice(size_t n) const { return slice(n, size_ - n); }
    std::vector<T> vec() const { return std::vector<T>(begin(), end()); }

   private:
    const T* data_ = nullptr;
    size_t size_ = 0;
  };
  template <class T>
  bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
    return a.equals(b);
  }
  template <class T>
  bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
    return !a.equals(b);
  }
  template <class T>
  bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
    return ArrayRef<T>(a).equals(b);
  }
  template <class T>
  bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
    return a.equals(b);
  }
  template <class T>
  bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
    return !a.equals(b);
  }
  template <class T>
  std::ostream& operator<<(std::ostream& out, ArrayRef<T> a) {
    out << "[";
    for (size_t i = 0; i < a.size(); ++i) {
      if (i) out << ", ";
      out << a[i];
    }
    return out << "]";
  }
  template <class T>
  ArrayRef<T> makeArrayRef(const std::vector<T>& v) {
    return v;
  }
  template <class T>
  ArrayRef<T> makeArrayRef(const T& one) {
    return one;
  }
  template <class T>
  ArrayRef<T> makeArrayRef(const T* data, size_t size) {
    return {data, size};
  }
  using IntArrayRef = ArrayRef<int64_t>;
  using SymInt = int64_t;
  using SymIntArrayRef = ArrayRef<int64_t>;
  using SymFloat = double;
  using IntList = IntArrayRef;
  using DimVector = SmallVector<int64_t, 5>;

  // A run or nothing. A single number and a list in braces make a run of a temporary, which lives to the end
  // of the call.
  template <class T>
  class OptionalArrayRef {
   public:
    constexpr OptionalArrayRef() = default;
    constexpr OptionalArrayRef(std::nullopt_t) {}
    OptionalArrayRef(ArrayRef<T> v) : value_(v) {}
    OptionalArrayRef(const std::optional<ArrayRef<T>>& v) : value_(v) {}
    OptionalArrayRef(const std::optional<std::vector<T>>& v) {
      if (v) value_ = ArrayRef<T>(*v);
    }
    OptionalArrayRef(const T& one) : value_(ArrayRef<T>(one)) {}
    OptionalArrayRef(const std::vector<T>& v) : value_(ArrayRef<T>(v)) {}
    template <size_t N>
    OptionalArrayRef(const std::array<T, N>& v) : value_(ArrayRef<T>(v)) {}
    OptionalArrayRef(const std::initializer_list<T>& v) : value_(ArrayRef<T>(v)) {}
    bool has_value() const { return value_.has_value(); }
    explicit operator bool() const { return has_value(); }
    const ArrayRef<T>& value() const { return value_.value(); }
    const ArrayRef<T>& operator*() const { return *value_; }
    const ArrayRef<T>* operator->() const { return &*value_; }
    ArrayRef<T> value_or(ArrayRef<T> other) const { return value_.value_or(other); }

   private:
    std::optional<ArrayRef<T>> value_;
  };
  using OptionalIntArrayRef = OptionalArrayRef<int64_t>;
  using OptionalSymIntArrayRef = OptionalArrayRef<int64_t>;
}
}  // namespace c10

#endif  // TL_TORCH_ARRAY_REF_HPP
