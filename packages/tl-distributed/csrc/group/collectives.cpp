// Numbers the calls of a group, by which ranks see that they make the same one.
#include "group/collectives.h"

namespace tl::distributed {

Call Collectives::next_call(Kind kind, int64_t dtype, int64_t bytes, const Pieces& shape) {
  Call call;
  call.sequence = ++sequence_;
  call.kind = kind;
  call.dtype = dtype;
  call.count = dtype ? bytes / size_of_dtype(dtype) : 0;
  if (shape.empty()) return call;
  call.shape = 14695981039346656037u;  // FNV-1a over the sizes
  for (const Piece& piece : shape)
    call.shape = (call.shape ^ static_cast<uint64_t>(piece.bytes)) * 1099511628211u;
  return call;
}

}  // namespace tl::distributed
