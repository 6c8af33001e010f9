// Storages that are made smaller while tensors lie on them, and the layer that keeps operators from reading
// on.
#pragma once

#include <atomic>

#include "tensor/storage.h"
#include "tl/c_api.h"

namespace tl {

// Generated, in the order of kOperatorDefs: whether a form of a row reads or writes elements of its tensors,
// and not their geometry alone.
extern const bool kReadsElements[];

// Whether the process has made any storage smaller.
extern std::atomic<bool> g_any_shrunk_storage;
// Raises for tensors that reach beyond their storage; of a sparse tensor its parts are asked.
void check_inside_storages(const TlValue* args, int n_args);

// As resize_storage(). Operators that read elements refuse tensors that reach beyond the new end.
void resize_used_storage(Storage& storage, size_t bytes);

}  // namespace tl
