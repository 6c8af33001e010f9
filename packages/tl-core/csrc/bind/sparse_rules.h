// The rules by which operators take sparse tensors, written in Python: `tl_core/sparse_layouts/rules`.
#pragma once

namespace tl::bind {

void install_sparse_rules();

}  // namespace tl::bind
