// The slow half of the checks of a call: lists, and the texts of errors.
#include "c_abi/call_checks.h"

#include <string>

namespace tl::c_abi {

namespace {
using detail::kLists;
using detail::kTags;

constexpr const char* kKindNames[] = {
    "Tensor",
    "list of Tensors",
    "list of optional Tensors",
    "Tensor or number",
    "number",
    "bool",
    "int",
    "float",
    "str",
    "dtype",
    "Device",
    "Layout",
    "MemoryFormat",
    "Generator",
    "list of ints",
    "list of floats",
    "list of bools",
    "list of numbers",
    "object",
    "list of strs",
    "Storage",
    "Stream",
    "Capsule",
};
static_assert(sizeof kKindNames / sizeof *kKindNames == TL_ARG_CAPSULE + 1, "a name for each TlArgKind");

std::string tag_text(const TlValue& v) {
  switch (v.tag) {
    case TL_NONE:
      return "None";
    case TL_BOOL:
      return "bool";
    case TL_INT:
    case TL_SYMINT:
      return "int";
    case TL_FLOAT:
      return "float";
    case TL_COMPLEX:
      return "complex";
    case TL_DTYPE:
      return "dtype";
    case TL_DEVICE:
      return "Device";
    case TL_LAYOUT:
      return "Layout " + std::to_string(v.u.i);
    case TL_MEMORY_FORMAT:
      return "MemoryFormat " + std::to_string(v.u.i);
    case TL_STRING:
      return "str";
    case TL_TENSOR:
      return v.u.t ? "Tensor" : "an undefined Tensor";
    case TL_GENERATOR:
      return "Generator";
    case TL_OBJECT:
      return "object";
    case TL_STORAGE:
      return "Storage";
    case TL_STREAM:
      return "Stream";
    case TL_CAPSULE:
      return "Capsule";
    default:
      return v.tag < 64 && (uint64_t{1} << v.tag & kLists)
                 ? "list"
                 : "a value with the unknown tag " + std::to_string(v.tag);
  }
}

// What is wrong with an argument, where its tag alone does not say it.
std::string trouble(const TlArgInfo& info, const TlValue& v) {
  if (v.tag == TL_TENSOR_LIST && v.u.p && (uint64_t{1} << v.tag & kTags[info.kind]))
    return "a list with an undefined Tensor";
  const bool fits_by_tag = v.tag < 64 && (uint64_t{1} << v.tag & kTags[info.kind]);
  if (fits_by_tag && !v.u.p && v.tag != TL_TENSOR && v.tag != TL_LAYOUT && v.tag != TL_MEMORY_FORMAT)
    return tag_text(v) + " whose pointer is NULL";
  if (v.tag == TL_SCALAR_LIST && fits_by_tag) return "a list with an element that is no number";
  if (v.tag == TL_STRING_LIST && fits_by_tag) return "a list with an element that is no str";
  return tag_text(v);
}

void check_counts(const TlOperatorInfo& info, int n_args, const void* args, int n_rets, const void* rets) {
  if (n_args < info.n_args && n_args >= 0)
    fail(ErrorKind::Type, info.name, "(): missing argument '", info.args[n_args].name, "' (position ",
         n_args + 1, "): ", info.n_args, " arguments are needed, got ", n_args);
  TL_CHECK(n_args == info.n_args, Type, info.name, "(): ", info.n_args, " arguments are taken, got ", n_args);
  TL_CHECK(n_rets == info.n_rets, Type, info.name, "(): room for ", info.n_rets, " results is needed, got ",
           n_rets);
  TL_CHECK(args || !n_args, Type, info.name, "(): the pointer to the arguments is NULL");
  TL_CHECK(rets || !n_rets, Type, info.name, "(): the pointer to the results is NULL");
}
}  // namespace

namespace detail {
bool deep_fits(const TlArgInfo& info, const TlValue& v) noexcept {
  if (v.tag == TL_LAYOUT) return v.u.i >= TL_STRIDED && v.u.i <= TL_SPARSE_BSC;
  if (v.tag == TL_MEMORY_FORMAT) return v.u.i >= TL_CONTIGUOUS && v.u.i <= TL_CHANNELS_LAST_3D;
  if (!v.len) return true;
  if (!v.u.p) return false;
  if (v.tag == TL_TENSOR_LIST && info.kind == TL_ARG_TENSOR_LIST) {
    auto* list = static_cast<TlTensor* const*>(v.u.p);
    for (uint32_t i = 0; i < v.len; ++i)
      if (!list[i]) return false;
  }
  if (v.tag == TL_SCALAR_LIST || v.tag == TL_STRING_LIST) {
    const uint8_t kind = v.tag == TL_SCALAR_LIST ? TL_ARG_SCALAR : TL_ARG_STRING;
    const TlArgInfo item{"", kind, 0, 0, 0, 0, 0};
    auto* list = static_cast<const TlValue*>(v.u.p);
    for (uint32_t i = 0; i < v.len; ++i)
      if (!fits(item, list[i])) return false;
  }
  return true;
}
}  // namespace detail

int refuse_call(const TlOperator* op, const TlValue* args, int n_args, const TlValue* rets,
                int n_rets) noexcept {
  return guarded([&] {
    TL_CHECK(op, Type, "the operator of a call is NULL");
    const TlOperatorInfo& info = op->info;
    check_counts(info, n_args, args, n_rets, rets);
    for (int i = 0; i < n_args; ++i) {
      const TlArgInfo& arg = info.args[i];
      if (!detail::fits(arg, args[i]))
        fail(ErrorKind::Type, info.name, "(): argument '", arg.name, "' (position ", i + 1, ") must be ",
             kKindNames[arg.kind], arg.optional ? " or None" : "", ", not ", trouble(arg, args[i]));
    }
  });
}

}  // namespace tl::c_abi
