// How a store's requests look on the way: the format of the reference, so that each side may be either
// program's. Numbers are little-endian; bytes have their length before them, lists their count.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tl::distributed {

enum class Request : uint8_t {
  kValidate,
  kSet,
  kCompareSet,
  kGet,
  kAdd,
  kCheck,
  kWait,
  kCountKeys,
  kDelete,
  kAppend,
  kMultiGet,
  kMultiSet,
  kCancelWait,
  kPing,
  kQueuePush,
  kQueuePop,
  kQueueLength,
  kListKeys,
  kBarrier,
};

inline constexpr uint32_t kStoreMagic = 0x3C85F7CE;
inline constexpr int64_t kLongestValue = int64_t{1} << 31;  // more is no request
inline constexpr char kReady = 0, kNotReady = 1;            // answers to kCheck
inline constexpr char kArrived = 0, kCanceled = 1;          // answers to kWait and kCancelWait

// The received bytes are no request.
struct Malformed {};

// Takes the parts of a request from the received bytes. Once one is missing all further parts are empty,
// and `needed` says how many bytes there must be to try again.
class Reader {
 public:
  explicit Reader(std::string_view data) : data_(data) {}

  bool is_complete() const { return needed_ == 0; }
  size_t needed() const { return needed_; }
  size_t position() const { return at_; }

  uint8_t byte() { return scalar<uint8_t>(); }
  uint32_t word() { return scalar<uint32_t>(); }
  int64_t number() { return scalar<int64_t>(); }
  std::string_view value() {
    const int64_t size = number();
    if (size < 0 || size >= kLongestValue) throw Malformed();
    return take(static_cast<size_t>(size));
  }
  int64_t count() {
    const int64_t n = number();
    if (n < 0 || n >= kLongestValue) throw Malformed();
    return n;
  }
  std::vector<std::string_view> values(int each = 1) {
    std::vector<std::string_view> list;
    const int64_t n = count() * each;
    for (int64_t i = 0; i < n && is_complete(); ++i) list.push_back(value());
    return list;
  }

 private:
  std::string_view take(size_t size) {
    if (needed_ || size > data_.size() - at_) {
      if (!needed_) needed_ = at_ + size;
      return {};
    }
    at_ += size;
    return data_.substr(at_ - size, size);
  }
  template <class T>
  T scalar() {
    T number = 0;
    const std::string_view bytes = take(sizeof number);
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }

  std::string_view data_;
  size_t at_ = 0;
  size_t needed_ = 0;
};

// Appends the parts of a request or of an answer.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  Writer& byte(uint8_t b) { return scalar(b); }
  Writer& word(uint32_t w) { return scalar(w); }
  Writer& number(int64_t n) { return scalar(n); }
  Writer& value(std::string_view v) {
    number(static_cast<int64_t>(v.size()));
    out_.append(v);
    return *this;
  }

 private:
  template <class T>
  Writer& scalar(T number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  std::string& out_;
};

}  // namespace tl::distributed
