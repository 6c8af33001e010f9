// Texts put together from parts: cat("dimension ", 3, " of ", sizes).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tl {

template <class R>
concept RangeOfInts = requires(const R& r) {
  { r.data() } -> std::convertible_to<const int64_t*>;
  r.size();
};

// Of any type behind one, so that a message costs its caller a list of addresses and numbers. It must not
// outlive what it was made of.
class Part {
 public:
  Part(std::string_view s) : kind_(Kind::Text), size_(static_cast<uint32_t>(s.size())), data_(s.data()) {}
  Part(const std::string& s) : Part(std::string_view(s)) {}
  Part(const char* s) : Part(std::string_view(s)) {}
  Part(char c) : kind_(Kind::Char), integer_(c) {}
  // Exactly bool: an address would rather become one than a text.
  Part(std::same_as<bool> auto b) : Part(b ? "True" : "False") {}
  Part(std::signed_integral auto i) : kind_(Kind::Signed), integer_(i) {}
  Part(std::unsigned_integral auto i) : kind_(Kind::Unsigned), integer_(static_cast<int64_t>(i)) {}
  Part(double d) : kind_(Kind::Real), real_(d) {}
  Part(const RangeOfInts auto& r)
      : kind_(Kind::Ints),
        size_(static_cast<uint32_t>(r.size())),
        data_(static_cast<const int64_t*>(r.data())) {}

  void append_to(std::string& out) const;

 private:
  enum class Kind : uint32_t { Text, Char, Signed, Unsigned, Real, Ints };

  Kind kind_;
  uint32_t size_ = 0;
  union {
    const void* data_;
    int64_t integer_;
    double real_;
  };
};

std::string cat(std::initializer_list<Part> parts);
template <class... Parts>
std::string cat(const Parts&... parts) {
  return cat({Part(parts)...});
}

std::string shortest(double value);  // as Python's repr writes it

}  // namespace tl
