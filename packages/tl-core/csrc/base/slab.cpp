// Slabs: 128 KB pieces cut off regions of 1 MB, then of two huge pages; rests are used again.
#include "base/slab.h"

#include <new>

#include "base/size_class.h"
#include "base/system_memory.h"

namespace tl {

namespace {
constexpr size_t kSlab = size_t{128} << 10;
// Small programs stay on small pages; beyond this, page faults cost more than a huge page's unused part.
constexpr size_t kSmallProgram = size_t{4} << 20;
}  // namespace

// Written into the rest itself.
struct SlabSource::Rest {
  Rest* next;
  char* end;
};

Slab SlabSource::take() {
  if (Rest* rest = rests_) {
    rests_ = rest->next;
    return {reinterpret_cast<char*>(rest), rest->end};
  }
  if (region_.size() == 0) {
    const size_t bytes = mapped_ < kSmallProgram ? kSmallProgram / 4 : 2 * kHugePage;
    char* p = static_cast<char*>(map_pages(bytes));
    if (!p) return {};
    region_ = {p, p + bytes};
    mapped_ += bytes;
  }
  char* p = region_.begin;
  region_.begin += kSlab;
  return {p, region_.begin};
}

void SlabSource::put(Slab rest) {
  if (rest.size() < kSmallMax) return;  // what take() gives holds a block of any class
  rests_ = new (rest.begin) Rest{rests_, rest.end};
}

}  // namespace tl
