// Short lists of sizes: up to six stand in the object itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <utility>

namespace tl {

using IntSpan = std::span<const int64_t>;

class DimVector {
 public:
  DimVector() = default;
  explicit DimVector(size_t n, int64_t value = 0) { resize(n, value); }
  DimVector(IntSpan s) { assign(s); }
  DimVector(std::initializer_list<int64_t> s) { assign({s.begin(), s.size()}); }
  DimVector(const DimVector& o) { assign(o); }
  DimVector(DimVector&& o) noexcept { steal(o); }
  DimVector& operator=(const DimVector& o) {
    if (this != &o) assign(o);
    return *this;
  }
  DimVector& operator=(DimVector&& o) noexcept {
    if (this != &o) {
      drop();
      steal(o);
    }
    return *this;
  }
  ~DimVector() { drop(); }

  operator IntSpan() const { return {data_, size_}; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // As a span's: checked where the library's assertions are on.
  int64_t& operator[](size_t i) { return std::span<int64_t>(data_, size_)[i]; }
  int64_t operator[](size_t i) const { return IntSpan(data_, size_)[i]; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t& back() { return data_[size_ - 1]; }
  int64_t back() const { return data_[size_ - 1]; }

  void push_back(int64_t x) {
    if (size_ == capacity_) grow(2 * capacity_);
    data_[size_++] = x;
  }
  void pop_back() { --size_; }
  void resize(size_t n, int64_t value = 0) {
    if (n > capacity_) grow(n);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = n;
  }
  void insert(size_t at, int64_t x) {
    push_back(x);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void clear() { size_ = 0; }

 private:
  static constexpr size_t kInline = 6, kMost = size_t{1} << 27;  // no tensor has so many dimensions or pieces

  void assign(IntSpan s) {
    if (s.size() > capacity_) grow(s.size());
    if (!s.empty()) std::memmove(data_, s.data(), s.size() * sizeof(int64_t));  // an empty span may be null
    size_ = s.size();
  }
  void grow(size_t capacity) {
    if (capacity > kMost) throw std::bad_alloc();
    auto* bigger = static_cast<int64_t*>(std::malloc(capacity * sizeof(int64_t)));
    if (!bigger) throw std::bad_alloc();
    std::memcpy(bigger, data_, size_ * sizeof(int64_t));
    const size_t size = size_;
    drop();
    data_ = bigger;
    size_ = size;
    capacity_ = capacity;
  }
  void drop() {
    if (data_ != inline_) std::free(data_);
    data_ = inline_;
    size_ = 0;
    capacity_ = kInline;
  }
  void steal(DimVector& o) {
    if (o.data_ == o.inline_) {
      std::memcpy(inline_, o.inline_, sizeof inline_);
      size_ = o.size_;
    } else {
      data_ = std::exchange(o.data_, o.inline_);
      capacity_ = std::exchange(o.capacity_, kInline);
      size_ = o.size_;
    }
    o.size_ = 0;
  }

  int64_t* data_ = inline_;
  size_t size_ = 0;
  size_t capacity_ = kInline;
  int64_t inline_[kInline] = {};
};

}  // namespace tl
