// The schema of an operator registered at run time, parsed into the structures of the C interface.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "dispatch/operator.h"

namespace tl {

// "ns::name.overload(Tensor(a!) self, Scalar alpha=1, *, int[]? dim=None) -> (Tensor values, Tensor indices)"
class ParsedSchema {
 public:
  // Where `checked`, somebody has parsed the text already: types that have no kind here are objects, and
  // defaults are set one by one.
  explicit ParsedSchema(const std::string& text, bool checked = false);
  TlOperatorInfo info() const;
  const TlValue* defaults() const { return defaults_.data(); }
  void set_default(int arg, TlValue v) { defaults_[static_cast<size_t>(arg)] = v; }

 private:
  void parse_arguments(std::string_view list);
  void parse_results(std::string_view list);
  TlArgInfo parse_one(std::string_view text, bool keyword_only, TlValue* default_value);
  const char* keep(std::string_view text);
  TlValue parse_default(std::string_view text, uint8_t kind);
  uint8_t alias_set(std::string_view name);

  std::string text_;
  bool checked_;
  std::vector<std::string> alias_sets_;
  const char* name_ = nullptr;
  std::deque<std::string> strings_;
  std::deque<std::vector<int64_t>> lists_;
  std::vector<TlArgInfo> args_, rets_;
  std::vector<TlValue> defaults_;
};

}  // namespace tl
