// Dimension names, interned in one table; a tensor's list hangs in a slot.
#include "tensor/names.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "base/fork.h"
#include "base/interrupt.h"
#include "tensor/slots.h"

namespace tl {

namespace {
constexpr uint64_t kBit = uint64_t{1} << kNamesLayer;

void destroy_names(void* data) { delete static_cast<Names*>(data); }
constexpr TlSlotType kSlotType{sizeof(TlSlotType), destroy_names, nullptr, nullptr};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

void check_identifier(std::string_view text) {
  const bool valid = !text.empty() && is_letter(text[0]) &&
                     std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
  TL_CHECK(valid, Runtime,
           "Invalid name: a valid identifier contains only digits, alphabets, and/or underscore and starts "
           "with a non-digit. got: '",
           text, "'.");
}

struct NameTable {
  LongLock mutex;
  std::set<std::string, std::less<>> names;
};
NameTable& name_table() {
  static NameTable* const table = [] {
    static auto* made = new NameTable;
    register_fork_lock(ForkOrder::Names, [] { made->mutex.lock(); }, [] { made->mutex.unlock(); });
    return made;
  }();
  return *table;
}
}  // namespace

Name name_of(std::string_view text) {
  check_identifier(text);
  NameTable& table = name_table();
  std::lock_guard lock(table.mutex);
  auto found = table.names.find(text);
  if (found == table.names.end()) found = table.names.emplace(text).first;
  return &*found;
}

bool has_names(const TensorImpl& t) { return t.bits.load(std::memory_order_relaxed) & kBit; }

Names names_of(const TensorImpl& t) {
  const auto* list = has_names(t) ? static_cast<const Names*>(get_slot(t, kNamesLayer)) : nullptr;
  // What changes a tensor's geometry without an operator leaves names behind that mean nothing any more.
  return list && list->size() == t.ndim ? *list : Names(t.ndim);
}

namespace {
bool any_named(const Names& names) {
  return std::ranges::any_of(names, [](Name n) { return n != nullptr; });
}
}  // namespace

void check_can_have_names(const TensorImpl& t, const Names& names) {
  TL_CHECK(names.size() == t.ndim, Runtime, "Number of names (", static_cast<int64_t>(names.size()),
           ") and number of dimensions in tensor (", static_cast<int64_t>(t.ndim),
           ") do not match. Attempted to create a tensor with names ", shown(names));
  for (size_t i = 0; i < names.size(); ++i)
    TL_CHECK(!names[i] || std::find(names.begin(), names.begin() + i, names[i]) == names.begin() + i, Runtime,
             "Cannot construct a tensor with duplicate names. Got names: ", shown(names), ".");
  TL_CHECK(t.layout == Layout::Strided || !any_named(names), Runtime,
           "names: only strided tensors can have names; to_dense() makes one of a sparse tensor");
}

void set_names(TensorImpl& t, const Names& names) {
  check_can_have_names(t, names);
  const bool named = any_named(names);
  if (!named && !has_names(t)) return;
  set_slot(t, kNamesLayer, named ? new Names(names) : nullptr, &kSlotType);
  if (named)
    t.bits.fetch_or(kBit, std::memory_order_relaxed);
  else
    t.bits.fetch_and(~kBit, std::memory_order_relaxed);
}

int64_t dim_named(const TensorImpl& t, std::string_view name) {
  const Names names = names_of(t);
  const auto found = std::ranges::find_if(names, [&](Name n) { return n && *n == name; });
  TL_CHECK(found != names.end(), Runtime, "Name '", name, "' not found in Tensor", shown(names), ".");
  return found - names.begin();
}

std::string shown(Name name) { return name ? "'" + *name + "'" : "None"; }

std::string shown(const Names& names) {
  std::string text = "[";
  for (size_t i = 0; i < names.size(); ++i) text += (i ? ", " : "") + shown(names[i]);
  return text + "]";
}

}  // namespace tl
