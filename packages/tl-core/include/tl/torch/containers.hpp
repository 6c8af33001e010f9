// Lists, dictionaries, and values of any type.
#ifndef TL_TORCH_CONTAINERS_HPP
#define TL_TORCH_CONTAINERS_HPP

#include <algorithm>
#include <stdexcept>
#include <tl/torch/tensor_methods.hpp>
#include <unordered_map>
#include <variant>

namespace c10 {
TL_FACE {
  // Tensors are equal as keys and items if they are one.
  struct SameItem {
    template <class T>
    bool operator()(const T& a, const T& b) const {
      if constexpr (std::is_same_v<T, at::Tensor>)
        return a.is_same(b);
      else
        return a == b;
    }
    template <class T>
    size_t operator()(const T& key) const {
      if constexpr (std::is_same_v<T, at::Tensor>)
        return std::hash<const void*>()(key.handle());
      else
        return std::hash<T>()(key);
    }
  };

  // A list that its copies share. A list that was moved from still has the items.
  template <class T>
  class List {
   public:
    using value_type = T;
    List(const List&) = default;
    List& operator=(const List&) = default;
    List() : items_(std::make_shared<std::vector<T>>()) {}
    List(std::initializer_list<T> l) : items_(std::make_shared<std::vector<T>>(l)) {}
    explicit List(std::vector<T> v) : items_(std::make_shared<std::vector<T>>(std::move(v))) {}
    explicit List(ArrayRef<T> l) : items_(std::make_shared<std::vector<T>>(l.begin(), l.end())) {}
    template <class U, class = std::enable_if_t<std::is_constructible_v<T, U> && !std::is_same_v<U, T>>>
    List(const List<U>& l) : List() {
      for (const auto& item : l) items_->push_back(item);
    }
    size_t size() const { return items_->size(); }
    bool empty() const { return items_->empty(); }
    void push_back(T v) { items_->push_back(std::move(v)); }
    template <class... A>
    void emplace_back(A&&... a) {
      items_->emplace_back(std::forward<A>(a)...);
    }
    void reserve(size_t n) { items_->reserve(n); }
    void resize(size_t n) { items_->resize(n); }
    void clear() { items_->clear(); }
    void pop_back() { items_->pop_back(); }
    decltype(auto) get(size_t i) const { return static_cast<T>(items_->at(i)); }
    T extract(size_t i) const { return std::move(items_->at(i)); }
    void set(size_t i, T v) const { items_->at(i) = std::move(v); }
    decltype(auto) operator[](size_t i) const { return items_->at(i); }
    auto begin() const { return items_->begin(); }
    auto end() const { return items_->end(); }
    auto insert(typename std::vector<T>::iterator at, T v) const { return items_->insert(at, std::move(v)); }
    auto erase(typename std::vector<T>::iterator at) const { return items_->erase(at); }
    std::vector<T> vec() const { return *items_; }
    List copy() const { return List(*items_); }
    bool is(const List& o) const { return items_ == o.items_; }
    friend bool operator==(const List& a, const List& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](const T& x, const T& y) { return SameItem()(x, y); });
    }
    friend bool operator!=(const List& a, const List& b) { return !(a == b); }

   private:
    std::shared_ptr<std::vector<T>> items_;
  };
  template <class T>
  const std::vector<T>& toList(const std::vector<T>& v) {
    return v;
  }

  // A dictionary in the order of insertion, which its copies share. One that was moved from still has the
  // entries.
  template <class K, class V>
  class Dict {
   public:
    struct Entry {
      K first;
      V second;
      const K& key() const { return first; }
      const V& value() const { return second; }
      template <class U>
      void setValue(U&& v) {
        second = std::forward<U>(v);
      }
    };
    Dict(const Dict&) = default;
    Dict& operator=(const Dict&) = default;
    Dict() : state_(std::make_shared<State>()) {}
    using iterator = typename std::vector<Entry>::iterator;
    std::pair<iterator, bool> insert(K key, V value) const {
      auto it = find(key);
      if (it != end()) return {it, false};
      return {put(std::move(key), std::move(value)), true};
    }
    std::pair<iterator, bool> insert_or_assign(K key, V value) const {
      auto it = find(key);
      if (it == end()) return {put(std::move(key), std::move(value)), true};
      it->second = std::move(value);
      return {it, false};
    }
    const V& at(const K& key) const {
      auto it = find(key);
      if (it == end()) throw std::out_of_range("Dict::at: the key is absent");
      return it->second;
    }
    iterator find(const K& key) const {
      auto it = state_->indices.find(key);
      return it == state_->indices.end() ? end() : begin() + int64_t(it->second);
    }
    bool contains(const K& key) const { return state_->indices.count(key) != 0; }
    size_t erase(const K& key) const {
      auto it = find(key);
      if (it == end()) return 0;
      erase(it);
      return 1;
    }
    void erase(iterator it) const {
      state_->entries.erase(it);
      state_->indices.clear();
      for (size_t i = 0; i < state_->entries.size(); ++i)
        state_->indices.emplace(state_->entries[i].first, i);
    }
    Dict copy() const {
      Dict d;
      *d.state_ = *state_;
      return d;
    }
    void clear() const { state_->entries.clear(), state_->indices.clear(); }
    void reserve(size_t n) const { state_->entries.reserve(n); }
    size_t size() const { return state_->entries.size(); }
    bool empty() const { return size() == 0; }
    iterator begin() const { return state_->entries.begin(); }
    iterator end() const { return state_->entries.end(); }
    bool is(const Dict& o) const { return state_ == o.state_; }
    friend bool operator==(const Dict& a, const Dict& b) {
      return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Entry& e) {
               const auto it = b.find(e.first);
               return it != b.end() && SameItem()(e.second, it->second);
             });
    }
    friend bool operator!=(const Dict& a, const Dict& b) { return !(a == b); }

   private:
    struct State {
      std::vector<Entry> entries;
      std::unordered_map<K, size_t, SameItem, SameItem> indices;
    };
    iterator put(K key, V value) const {
      state_->indices.emplace(key, state_->entries.size());
      state_->entries.push_back(Entry{std::move(key), std::move(value)});
      return end() - 1;
    }
    std::shared_ptr<State> state_;
  };

  // An object with a count of its shares.
  class intrusive_ptr_target {
   public:
    virtual ~intrusive_ptr_target() = default;
    virtual void release_resources() {}
  };
  template <class T>
  class intrusive_ptr : public std::shared_ptr<T> {
   public:
    using std::shared_ptr<T>::shared_ptr;
    intrusive_ptr(std::shared_ptr<T> p) : std::shared_ptr<T>(std::move(p)) {}
    template <class... A>
    static intrusive_ptr make(A&&... a) {
      return intrusive_ptr(std::make_shared<T>(std::forward<A>(a)...));
    }
    bool defined() const { return this->get() != nullptr; }
  };
  template <class T, class... A>
  intrusive_ptr<T> make_intrusive(A && ... a) {
    return intrusive_ptr<T>::make(std::forward<A>(a)...);
  }

  // A value of any type that operators have.
  struct IValue {
    using Tuple = std::shared_ptr<std::vector<IValue>>;
    using Pairs = std::shared_ptr<std::vector<std::pair<IValue, IValue>>>;
    struct Elements {
      Tuple items;
      const std::vector<IValue>& elements() const { return *items; }
      size_t size() const { return items->size(); }
      const Elements* operator->() const { return this; }
    };
    struct Any {
      Tuple items;
    };
    using Object = intrusive_ptr<intrusive_ptr_target>;
    std::variant<std::monostate, at::Tensor, int64_t, double, bool, std::complex<double>, std::string, Device,
                 std::vector<int64_t>, std::vector<double>, std::vector<bool>, std::vector<at::Tensor>, Tuple,
                 Any, Pairs, Object, at::Generator>
        v;
    IValue() = default;
    IValue(std::nullopt_t) {}
    IValue(at::Tensor t) : v(std::move(t)) {}
    template <class T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, int> = 0>
    IValue(T i) : v(int64_t(i)) {}
    IValue(double d) : v(d) {}
    IValue(float d) : v(double(d)) {}
    IValue(bool b) : v(b) {}
    IValue(std::complex<double> c) : v(c) {}
    IValue(const char* s) : v(std::string(s)) {}
    IValue(std::string s) : v(std::move(s)) {}
    IValue(std::string_view s) : v(std::string(s)) {}
    IValue(Device d) : v(d) {}
    IValue(ScalarType t) : v(int64_t(t)) {}
    IValue(Layout l) : v(int64_t(l)) {}
    IValue(MemoryFormat f) : v(int64_t(f)) {}
    IValue(const Scalar& s) {
      if (s.isFloatingPoint())
        v = s.toDouble();
      else if (s.isBoolean())
        v = s.toBool();
      else if (s.isComplex())
        v = s.to<std::complex<double>>();
      else
        v = s.toLong();
    }
    IValue(at::Generator g) : v(std::move(g)) {}
    IValue(IntArrayRef l) : v(l.vec()) {}
    IValue(ArrayRef<at::Tensor> l) : v(l.vec()) {}
    IValue(std::vector<int64_t> l) : v(std::move(l)) {}
    IValue(std::vector<double> l) : v(std::move(l)) {}
    IValue(std::vector<bool> l) : v(std::move(l)) {}
    IValue(std::vector<at::Tensor> l) : v(std::move(l)) {}
    template <class T>
    IValue(const std::vector<T>& l) : IValue(generic(l)) {}
    template <class T>
    IValue(const List<T>& l) : IValue(l.vec()) {}
    template <class T>
    IValue(const std::optional<T>& o) {
      if (o) *this = IValue(*o);
    }
    template <class... T>
    IValue(const std::tuple<T...>& t) {
      auto items = std::make_shared<std::vector<IValue>>();
      std::apply([&](const auto&... x) { (items->emplace_back(x), ...); }, t);
      v = std::move(items);
    }
    template <class K, class V>
    IValue(const Dict<K, V>& d) {
      auto items = std::make_shared<std::vector<std::pair<IValue, IValue>>>();
      for (const auto& e : d) items->emplace_back(IValue(e.key()), IValue(e.value()));
      v = std::move(items);
    }
    template <class T, class = std::enable_if_t<std::is_base_of_v<intrusive_ptr_target, T>>>
    IValue(intrusive_ptr<T> p) : v(Object(std::shared_ptr<intrusive_ptr_target>(std::move(p)))) {}

    bool isNone() const { return v.index() == 0; }
#define TL_FACE_KIND(NAME, TYPE)                                    \
  bool is##NAME() const { return std::holds_alternative<TYPE>(v); } \
  const TYPE& to##NAME() const { return get<TYPE>(#NAME); }
    TL_FACE_KIND(Int, int64_t)
    TL_FACE_KIND(Bool, bool)
    TL_FACE_KIND(IntVector, std::vector<int64_t>)
    TL_FACE_KIND(DoubleVector, std::vector<double>)
    TL_FACE_KIND(TensorVector, std::vector<at::Tensor>)
    TL_FACE_KIND(StringRef, std::string)
    TL_FACE_KIND(Device, c10::Device)
    TL_FACE_KIND(Generator, at::Generator)
    TL_FACE_KIND(ComplexDouble, std::complex<double>)
#undef TL_FACE_KIND
    bool isTensor() const { return std::holds_alternative<at::Tensor>(v); }
    at::Tensor toTensor() const { return isNone() ? at::Tensor() : get<at::Tensor>("Tensor"); }
    bool isDouble() const { return std::holds_alternative<double>(v); }
    double toDouble() const { return get<double>("Double"); }
    bool isString() const { return isStringRef(); }
    const std::string& toString() const { return toStringRef(); }
    std::string_view toStringView() const { return toStringRef(); }
    bool isScalar() const { return isInt() || isDouble() || isBool() || isComplexDouble(); }
    Scalar toScalar() const {
      return isDouble()          ? Scalar(toDouble())
             : isBool()          ? Scalar(toBool())
             : isComplexDouble() ? Scalar(toComplexDouble())
                                 : Scalar(toInt());
    }
    ScalarType toScalarType() const { return ScalarType(toInt()); }
    Layout toLayout() const { return Layout(toInt()); }
    bool isIntList() const { return isIntVector(); }
    bool isDoubleList() const { return isDoubleVector(); }
    bool isTensorList() const { return isTensorVector(); }
    List<int64_t> toIntList() const { return List<int64_t>(toIntVector()); }
    List<double> toDoubleList() const { return List<double>(toDoubleVector()); }
    List<at::Tensor> toTensorList() const { return List<at::Tensor>(toTensorVector()); }
    bool isTuple() const { return std::holds_alternative<Tuple>(v); }
    Elements toTuple() const { return {get<Tuple>("Tuple")}; }
    Elements toTupleRef() const { return toTuple(); }
    bool isList() const {
      return isIntVector() || isDoubleVector() || isTensorVector() || std::holds_alternative<Any>(v);
    }
    std::vector<IValue> toListRef() const {
      if (isIntVector()) return {toIntVector().begin(), toIntVector().end()};
      if (isDoubleVector()) return {toDoubleVector().begin(), toDoubleVector().end()};
      if (isTensorVector()) return {toTensorVector().begin(), toTensorVector().end()};
      return *get<Any>("List").items;
    }
    Dict<std::string, IValue> toGenericDict() const;
    template <class T>
    intrusive_ptr<T> toCustomClass() const {
      auto p = std::dynamic_pointer_cast<T>(std::shared_ptr<intrusive_ptr_target>(get<Object>("Object")));
      if (!p) face::fail<TypeError>("", "the object is of another class");
      return intrusive_ptr<T>(std::move(p));
    }
    template <class T>
    T to() const;

   private:
    template <class T>
    static Any generic(const std::vector<T>& l) {
      return {std::make_shared<std::vector<IValue>>(l.begin(), l.end())};
    }
    IValue(Any a) : v(std::move(a)) {}
    template <class T>
    const T& get(const char* name) const {
      const T* p = std::get_if<T>(&v);
      if (!p) face::fail<Error>("", "Expected ", name, " but got another type of IValue");
      return *p;
    }
  };
  template <class T>
  T IValue::to() const {
    if constexpr (std::is_same_v<T, at::Tensor>)
      return toTensor();
    else if constexpr (std::is_same_v<T, bool>)
      return toBool();
    else if constexpr (std::is_integral_v<T>)
      return T(toInt());
    else if constexpr (std::is_floating_point_v<T>)
      return T(toDouble());
    else if constexpr (std::is_same_v<T, std::string>)
      return toStringRef();
    else if constexpr (std::is_same_v<T, Scalar>)
      return toScalar();
    else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
      return toIntVector();
    else if constexpr (std::is_same_v<T, std::vector<double>>)
      return toDoubleVector();
    else if constexpr (std::is_same_v<T, std::vector<at::Tensor>>)
      return toTensorVector();
    else if constexpr (std::is_same_v<T, Device>)
      return toDevice();
    else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>)
      return isNone() ? T() : T(toTensor());
    else if constexpr (std::is_same_v<T, std::optional<int64_t>>)
      return isNone() ? T() : T(toInt());
    else if constexpr (std::is_same_v<T, std::optional<double>>)
      return isNone() ? T() : T(toDouble());
    else
      static_assert(sizeof(T) == 0, "IValue::to: tl has no conversion to this type");
  }
  using Stack = std::vector<IValue>;
}
}  // namespace c10
namespace torch {
TL_FACE {
  using c10::IValue;
  using CustomClassHolder = c10::intrusive_ptr_target;
  namespace jit {
  using c10::IValue;
  using c10::Stack;
  using CustomClassHolder = c10::intrusive_ptr_target;
  inline IValue pop(Stack& s) {
    IValue v = std::move(s.back());
    s.pop_back();
    return v;
  }
  template <class... A>
  void push(Stack& s, A&&... a) {
    (s.emplace_back(std::forward<A>(a)), ...);
  }
  inline IValue& peek(Stack& s, size_t i, size_t n) { return s[s.size() - n + i]; }
  inline void drop(Stack& s, size_t n) { s.erase(s.end() - int64_t(n), s.end()); }
  }  // namespace jit
}
}  // namespace torch

#endif  // TL_TORCH_CONTAINERS_HPP
