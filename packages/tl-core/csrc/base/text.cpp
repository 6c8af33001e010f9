// Numbers as text by std::to_chars: the shortest that reads back, in Python's notation.
#include "base/text.h"

#include <charconv>
#include <cmath>

namespace tl {

namespace {
template <class T>
void append_number(std::string& out, T value) {
  char buffer[24];
  auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

void append_list(std::string& out, const int64_t* items, size_t n) {
  out += '[';
  for (size_t i = 0; i < n; ++i) {
    if (i) out += ", ";
    append_number(out, items[i]);
  }
  out += ']';
}
}  // namespace

void Part::append_to(std::string& out) const {
  switch (kind_) {
    case Kind::Text:
      out.append(static_cast<const char*>(data_), size_);
      break;
    case Kind::Char:
      out += static_cast<char>(integer_);
      break;
    case Kind::Signed:
      append_number(out, integer_);
      break;
    case Kind::Unsigned:
      append_number(out, static_cast<uint64_t>(integer_));
      break;
    case Kind::Real:
      out += shortest(real_);
      break;
    case Kind::Ints:
      append_list(out, static_cast<const int64_t*>(data_), size_);
      break;
  }
}

std::string cat(std::initializer_list<Part> parts) {
  std::string out;
  for (const Part& part : parts) part.append_to(out);
  return out;
}

std::string shortest(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  auto [end, code] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  // Python writes exponents from 1e16 on and below 1e-4, and always shows that the number is a float.
  const double size = std::abs(value);
  const bool scientific = size != 0 && (size >= 1e16 || size < 1e-4);
  auto [end2, code2] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                     scientific ? std::chars_format::scientific : std::chars_format::fixed);
  text.assign(buffer, end2);
  if (!scientific && text.find('.') == std::string::npos) text += ".0";
  return text;
}

}  // namespace tl
