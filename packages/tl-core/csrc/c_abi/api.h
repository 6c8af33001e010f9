// The table of `tl/c_api.h`.
#pragma once

#include "tl/c_api.h"

namespace tl::c_abi {

const TlApi* get_api(uint32_t major, uint32_t min_minor) noexcept;

}  // namespace tl::c_abi
