// Checks of elementwise rows that go beyond their dtypes: the row's field `check` names one.
#pragma once

#include "ops/shared/elementwise.h"

namespace tl {

// A bool among the inputs is refused whatever the common type is: `tensor - mask` would count, where `~` was
// meant.
void check_not_bool(const ElementwiseDef& def, const TlValue* args, Out out);
// The modulus of complex numbers is real, and has no place in their memory.
void check_modulus_out(const ElementwiseDef& def, const TlValue* args, Out out);
// Answers of yes or no go into a bool output alone.
void check_bool_out(const ElementwiseDef& def, const TlValue* args, Out out);
// A quotient of two integers was rounded once, and is refused so that nobody gets the other one.
void check_quotient(const ElementwiseDef& def, const TlValue* args, Out out);
// The end and the weights of an interpolation have its start's type; one weight for all may have another.
void check_one_dtype(const ElementwiseDef& def, const TlValue* args, Out out);
// Unsigned numbers have no negative bounds.
void check_bounds(const ElementwiseDef& def, const TlValue* args, Out out);

}  // namespace tl
