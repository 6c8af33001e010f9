// The schema parser: splits at commas outside brackets, reads types, alias sets and defaults.
#include "dispatch/schema.h"

#include <algorithm>

namespace tl {

namespace {
std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

// Splits at commas outside brackets.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    if (i < s.size() && (s[i] == '(' || s[i] == '[')) ++depth;
    if (i < s.size() && (s[i] == ')' || s[i] == ']')) --depth;
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      if (auto part = trim(s.substr(start, i - start)); !part.empty()) parts.push_back(part);
      start = i + 1;
    }
  }
  return parts;
}

struct TypeName {
  const char* name;
  uint8_t kind;
};
constexpr TypeName kTypes[] = {
    {"Tensor[]", TL_ARG_TENSOR_LIST},
    {"Tensor?[]", TL_ARG_OPTIONAL_TENSOR_LIST},
    {"Tensor", TL_ARG_TENSOR},
    {"Operand", TL_ARG_OPERAND},
    {"Scalar", TL_ARG_SCALAR},
    {"number", TL_ARG_SCALAR},
    {"complex", TL_ARG_SCALAR},
    {"Scalar[]", TL_ARG_SCALAR_LIST},
    {"bool", TL_ARG_BOOL},
    {"SymBool", TL_ARG_BOOL},
    {"bool[]", TL_ARG_BOOL_LIST},
    {"int", TL_ARG_INT},
    {"SymInt", TL_ARG_INT},
    {"int[]", TL_ARG_INT_LIST},
    {"SymInt[]", TL_ARG_INT_LIST},
    {"float", TL_ARG_FLOAT},
    {"SymFloat", TL_ARG_FLOAT},
    {"float[]", TL_ARG_FLOAT_LIST},
    {"str", TL_ARG_STRING},
    {"str[]", TL_ARG_STRING_LIST},
    {"ScalarType", TL_ARG_DTYPE},
    {"Device", TL_ARG_DEVICE},
    {"Layout", TL_ARG_LAYOUT},
    {"MemoryFormat", TL_ARG_MEMORY_FORMAT},
    {"Generator", TL_ARG_GENERATOR},
    {"Any", TL_ARG_OBJECT},
    {"Storage", TL_ARG_STORAGE},
    {"Stream", TL_ARG_STREAM},
    {"Capsule", TL_ARG_CAPSULE},
};

// Schemas of Python's operators leave these to Python: they are objects there.
bool is_object_in_python(uint8_t kind) { return kind >= TL_ARG_STRING_LIST; }

uint8_t kind_of(std::string_view type, std::string_view schema, bool any) {
  std::string plain;  // "int[2]" reads as "int[]"
  for (size_t i = 0; i < type.size(); ++i)
    if (!(type[i] >= '0' && type[i] <= '9' && !plain.empty() && plain.back() == '[')) plain += type[i];
  for (const auto& t : kTypes)
    if (plain == t.name && !(any && is_object_in_python(t.kind))) return t.kind;
  if (any) return TL_ARG_OBJECT;
  fail(ErrorKind::Value, "unknown type '", type, "' in the schema '", schema, "'");
}
}  // namespace

ParsedSchema::ParsedSchema(const std::string& text, bool checked) : text_(text), checked_(checked) {
  const size_t open = text_.find('(');
  const size_t arrow = text_.rfind("->");
  const size_t close = arrow == std::string::npos ? std::string::npos : text_.rfind(')', arrow);
  TL_CHECK(open != std::string::npos && close != std::string::npos && close > open, Value,
           "a schema reads 'name(Type argument, …) -> Type', got '", text_, "'");
  const std::string_view all = text_;
  name_ = keep(trim(all.substr(0, open)));
  parse_arguments(all.substr(open + 1, close - open - 1));
  parse_results(trim(all.substr(arrow + 2)));
}

const char* ParsedSchema::keep(std::string_view text) { return strings_.emplace_back(text).c_str(); }

void ParsedSchema::parse_arguments(std::string_view list) {
  bool keyword_only = false;
  for (auto part : split(list)) {
    if (part == "*") {
      keyword_only = true;
      continue;
    }
    TlValue value = none();
    args_.push_back(parse_one(part, keyword_only, &value));
    defaults_.push_back(value);
  }
}

void ParsedSchema::parse_results(std::string_view list) {
  if (list == "()") return;
  const bool several = !list.empty() && list.front() == '(' && list.back() == ')';
  if (several) list = list.substr(1, list.size() - 2);
  for (auto part : split(list)) rets_.push_back(parse_one(part, false, nullptr));
}

// One argument or result: type, alias annotation in parentheses, "?", name, "=" default.
TlArgInfo ParsedSchema::parse_one(std::string_view text, bool keyword_only, TlValue* default_value) {
  TlArgInfo info{};
  info.keyword_only = keyword_only;
  const size_t equals = text.find('=');
  std::string_view left = trim(text.substr(0, equals));
  const size_t space = left.rfind(' ');
  std::string type(space == std::string_view::npos ? left : left.substr(0, space));
  info.name = keep(space == std::string_view::npos ? std::string_view() : trim(left.substr(space + 1)));
  const size_t mark = type.find('(');
  if (mark != std::string::npos && mark > 0 && !type.starts_with("Dict") && !type.starts_with("Future")) {
    const size_t end = type.find(')', mark);
    const std::string_view annotation = std::string_view(type).substr(mark + 1, end - mark - 1);
    info.alias = alias_set(trim(annotation.substr(0, annotation.find_first_of("!|- "))));
    info.written = annotation.find('!') != std::string_view::npos;
    type.erase(mark, end - mark + 1);
  }
  if (!type.empty() && type.back() == '?') {
    info.optional = 1;
    type.pop_back();
  }
  info.kind = kind_of(type, text_, checked_);
  if (checked_ && equals != std::string_view::npos) {
    info.has_default = 1;
  } else if (equals != std::string_view::npos && default_value) {
    info.has_default = 1;
    *default_value = parse_default(trim(text.substr(equals + 1)), info.kind);
  }
  return info;
}

// (a), (b), … are the sets 1, 2, …; what else a set may be called follows.
uint8_t ParsedSchema::alias_set(std::string_view name) {
  if (name.size() == 1 && name[0] >= 'a' && name[0] <= 'z') return static_cast<uint8_t>(name[0] - 'a' + 1);
  auto it = std::find(alias_sets_.begin(), alias_sets_.end(), name);
  if (it == alias_sets_.end()) it = alias_sets_.insert(it, std::string(name));
  return static_cast<uint8_t>(27 + (it - alias_sets_.begin()));
}

TlValue ParsedSchema::parse_default(std::string_view text, uint8_t kind) {
  if (text == "None") return none();
  if (text == "True" || text == "False") return value(text == "True");
  if (kind == TL_ARG_INT_LIST) {
    auto& list = lists_.emplace_back();
    for (auto item : split(text.substr(1, text.size() - 2))) list.push_back(std::stoll(std::string(item)));
    return value(IntSpan(list));
  }
  if (kind == TL_ARG_STRING) return value(std::string_view(keep(text.substr(1, text.size() - 2))));
  const std::string number(text);
  if (kind == TL_ARG_FLOAT || number.find_first_of(".e") != std::string::npos)
    return value(std::stod(number));
  return value(static_cast<int64_t>(std::stoll(number)));
}

TlOperatorInfo ParsedSchema::info() const {
  TlOperatorInfo info{};
  info.name = name_;
  info.schema = text_.c_str();
  info.n_args = static_cast<int>(args_.size());
  info.n_rets = static_cast<int>(rets_.size());
  info.args = args_.data();
  info.rets = rets_.data();
  const bool writes_first = !args_.empty() && args_[0].written;
  const bool returns_it = rets_.empty() || (rets_.size() == 1 && rets_[0].written);
  info.variant = writes_first && returns_it ? TL_INPLACE : TL_FUNCTIONAL;
  for (const auto& r : rets_) info.is_view |= r.alias && !r.written;
  return info;
}

}  // namespace tl
