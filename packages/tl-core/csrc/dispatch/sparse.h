// Tensors of the layout sparse_coo: the layer `sparse` gives them a row's kernel for them, or refuses the
// call.
#pragma once

namespace tl {

void install_sparse();  // once, after the operators

}  // namespace tl
