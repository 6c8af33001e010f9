// The table of `tl/extension.h`.
#pragma once

#include "tl/extension.h"

namespace tl::c_abi {

const TlExtension* get_extension() noexcept;

}  // namespace tl::c_abi
