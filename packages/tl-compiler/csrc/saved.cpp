// A tensor is the nodes' alone if they hold all of its references. So is the tensor that it is a view of, if
// only such views hold it.
#include "saved.h"

namespace tl::compiler {

namespace {
const TlRegions* g_regions = nullptr;
}

void set_regions(const TlRegions* table) { g_regions = table; }

void note_nodes(bool on) {
  if (g_regions) g_regions->note_nodes(on);
}

SavedStorages::SavedStorages() {
  if (!g_regions) return;
  g_regions->take_saved([](void* self, TlTensor* t) { static_cast<SavedStorages*>(self)->add(t); }, this);
  if (!is_whole_) return;
  std::unordered_map<TlTensor*, int64_t> bases;
  for (const auto& [t, saved] : saved_) {
    const bool is_alone = api->tensor_refcount(t) == saved.holds + 1;
    references_[api->tensor_storage_id(t)] += is_alone;
    if (TlTensor* base = api->tensor_view_base(t); base && is_alone) ++bases[base];
  }
  for (const auto& [base, views] : bases)
    if (!saved_.contains(base) && api->tensor_refcount(base) == views)
      ++references_[api->tensor_storage_id(base)];
}

// Called where no exception may pass. Without the memory for a note, nothing counts as the nodes' alone.
void SavedStorages::add(TlTensor* t) noexcept {
  try {
    Saved& saved = saved_[t];
    if (saved.holds++) return;
    api->tensor_retain(t);
    saved.tensor = Tensor(t);
  } catch (...) {
    is_whole_ = false;
  }
}

int64_t SavedStorages::references(const void* storage) const {
  const auto at = references_.find(storage);
  return at == references_.end() ? 0 : at->second;
}

}  // namespace tl::compiler
