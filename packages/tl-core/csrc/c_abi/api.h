// The table of `tl/c_api.h`.
#pragma once

#include "tensor/tensor.h"
#include "tl/c_api.h"

namespace tl::c_abi {

const TlApi* get_api(uint32_t major, uint32_t min_minor) noexcept;

// The memory of a tensor's elements, for a caller who may write there: whatever waits for them reads them
// first. NULL, with the error pending, where they can't be computed.
void* opened_data(const TensorImpl& t) noexcept;

}  // namespace tl::c_abi
