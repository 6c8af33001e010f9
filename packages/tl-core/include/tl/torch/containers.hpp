// Lists, dictionaries, and objects with a count of their shares.
#ifndef TL_TORCH_CONTAINERS_HPP
#define TL_TORCH_CONTAINERS_HPP

#include <algorithm>
#include <stdexcept>
#include <tl/torch/tensor_methods.hpp>
#include <unordered_map>

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
}
}  // namespace c10

#endif  // TL_TORCH_CONTAINERS_HPP
