// Frames: a cursor over pieces of memory that sendmsg and recvmsg may move in parts.
#include "network/frame.h"

#include <algorithm>

namespace tl::distributed {

int Cursor::parts(iovec* to, int most) const {
  int n = 0;
  int64_t inside = inside_;
  for (size_t i = at_; i < pieces_.size() && n < most; ++i, inside = 0)
    if (pieces_[i].bytes > inside)
      to[n++] = {pieces_[i].data + inside, static_cast<size_t>(pieces_[i].bytes - inside)};
  return n;
}

void Cursor::advance(int64_t bytes) {
  while (bytes > 0) {
    const int64_t part = std::min(bytes, pieces_[at_].bytes - inside_);
    inside_ += part;
    bytes -= part;
    skip_empty();
  }
}

}  // namespace tl::distributed
