// Values inside a program: the interface's values, and lists that grow.
#pragma once

#include <vector>

#include "core.h"
#include "tl/program.h"

namespace tl::autograd {

// A list made while a program runs, or kept by a node: p is a std::vector<TlValue>*.
inline constexpr uint32_t kList = 0x80;

using List = std::vector<TlValue>;
inline const List& list_of(const TlValue& v) { return *static_cast<const List*>(v.u.p); }

inline List& writable_list(const TlValue& v) { return *static_cast<List*>(const_cast<void*>(v.u.p)); }

bool is_list(const TlValue& v);
size_t list_length(const TlValue& v);
TlValue list_element(const TlValue& v, size_t i);  // borrowed

bool truth(const TlValue& v);
TlValue arithmetic(int arith, const TlValue* inputs,
                   int n_inputs);  // of plain values; complex numbers need `complex_out`

// A copy that does not borrow, and its end. Tensors are shared; their version goes into `len`.
TlValue keep(const TlValue& v);
void forget(TlValue& v);

TlValue read_meta(const TlValue& v, int meta);  // owned, freed by `forget`

}  // namespace tl::autograd
