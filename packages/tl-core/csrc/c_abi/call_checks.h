// The arguments of a call through the table, held against the operator's schema: inside the core nobody
// checks.
#pragma once

#include "dispatch/operator.h"

namespace tl::c_abi {

namespace detail {
constexpr uint64_t tag_bits(std::initializer_list<int> tags) {
  uint64_t bits = 0;
  for (const int tag : tags) bits |= uint64_t{1} << tag;
  return bits;
}
constexpr uint64_t kNumbers = tag_bits({TL_BOOL, TL_INT, TL_FLOAT, TL_COMPLEX, TL_SYMINT});

// The tags that each kind of argument takes, by TlArgKind.
constexpr uint64_t kTags[] = {
    tag_bits({TL_TENSOR}),                             // tensor
    tag_bits({TL_TENSOR_LIST}),                        // list of tensors
    tag_bits({TL_TENSOR_LIST}),                        // the same with undefined ones
    tag_bits({TL_TENSOR}) | kNumbers,                  // operand
    kNumbers,                                          // scalar
    tag_bits({TL_BOOL, TL_INT}),                       // bool
    tag_bits({TL_INT, TL_BOOL, TL_SYMINT}),            // int
    tag_bits({TL_FLOAT, TL_INT, TL_BOOL, TL_SYMINT}),  // float
    tag_bits({TL_STRING}),                             // string
    tag_bits({TL_DTYPE}),                              // dtype
    tag_bits({TL_DEVICE}),                             // device
    tag_bits({TL_LAYOUT}),                             // layout
    tag_bits({TL_MEMORY_FORMAT}),                      // memory format
    tag_bits({TL_GENERATOR}),                          // generator
    tag_bits({TL_INT_LIST}),                           // lists of numbers
    tag_bits({TL_FLOAT_LIST}),
    tag_bits({TL_BOOL_LIST}),
    tag_bits({TL_SCALAR_LIST}),
    ~uint64_t{0},  // any object
    tag_bits({TL_STRING_LIST}),
    tag_bits({TL_STORAGE}),
    tag_bits({TL_STREAM}),
    tag_bits({TL_CAPSULE}),
};
static_assert(sizeof kTags / sizeof *kTags == TL_ARG_CAPSULE + 1, "a row for each TlArgKind");

// Tags whose value is a pointer, and those with which it is NULL where the length is 0.
constexpr uint64_t kPointers =
    tag_bits({TL_COMPLEX, TL_TENSOR, TL_GENERATOR, TL_SYMINT, TL_OBJECT, TL_STORAGE, TL_CAPSULE});
constexpr uint64_t kLists = tag_bits(
    {TL_STRING, TL_BOOL_LIST, TL_INT_LIST, TL_FLOAT_LIST, TL_SCALAR_LIST, TL_STRING_LIST, TL_TENSOR_LIST});
// Tags whose elements or numbers are looked at one by one.
constexpr uint64_t kDeep =
    tag_bits({TL_TENSOR_LIST, TL_SCALAR_LIST, TL_STRING_LIST, TL_LAYOUT, TL_MEMORY_FORMAT});

bool deep_fits(const TlArgInfo& info, const TlValue& v) noexcept;

inline bool fits(const TlArgInfo& info, const TlValue& v) noexcept {
  if (v.tag >= 64) return false;
  const uint64_t bit = uint64_t{1} << v.tag;
  if (!(bit & kTags[info.kind])) return v.tag == TL_NONE && info.optional;
  if ((bit & kPointers) && !v.u.p) return false;
  return !(bit & (kLists | kDeep)) || deep_fits(info, v);
}
}  // namespace detail

// -1 with a pending TypeError that names the operator and the argument.
int refuse_call(const TlOperator* op, const TlValue* args, int n_args, const TlValue* rets,
                int n_rets) noexcept;

// Whether a call can go on.
inline bool call_fits(const TlOperator* op, const TlValue* args, int n_args, const TlValue* rets,
                      int n_rets) noexcept {
  if (!op || n_args != op->info.n_args || n_rets != op->info.n_rets) return false;
  if ((!args && n_args) || (!rets && n_rets)) return false;
  for (int i = 0; i < n_args; ++i)
    if (!detail::fits(op->info.args[i], args[i])) return false;
  return true;
}

}  // namespace tl::c_abi
