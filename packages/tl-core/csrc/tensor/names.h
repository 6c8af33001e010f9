// Names of a tensor's dimensions. A tensor without any has no list; its layer is off.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace tl {

// The layer of names, below all others: what stands above it has done its part, and what it calls meets none.
inline constexpr int kNamesLayer = TL_LAYER_NAMES;

// One object a name for the life of the process, so that equal names are equal pointers; NULL: no name.
using Name = const std::string*;
using Names = std::vector<Name>;

Name name_of(std::string_view text);  // raises unless it is an identifier
bool has_names(const TensorImpl& t);
Names names_of(const TensorImpl& t);  // one a dimension; all NULL without names
// Raises unless there is one a dimension and none twice, and the layout has strides.
void check_can_have_names(const TensorImpl& t, const Names& names);
// Checks the same; nothing but NULLs takes the names away.
void set_names(TensorImpl& t, const Names& names);
// The dimension of that name; raises if there is none.
int64_t dim_named(const TensorImpl& t, std::string_view name);

std::string shown(Name name);           // 'N', None
std::string shown(const Names& names);  // ['N', None]

}  // namespace tl
