// A message between two ranks of a collective: a fingerprint, then bytes.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <vector>

#include "base/pieces.h"
#include "ranks/call.h"

namespace tl::distributed {

struct FrameHeader {
  int64_t bytes;
  Call call;
};

// Bytes for a rank, or room for those of a rank.
struct Frame {
  int peer;
  Pieces pieces;
};
using Frames = std::vector<Frame>;

// How far several pieces, one behind the other, have been moved.
class Cursor {
 public:
  explicit Cursor(Pieces pieces) : pieces_(std::move(pieces)) { skip_empty(); }
  bool is_over() const { return at_ == pieces_.size(); }
  // The next parts, at most `most` of them; how many.
  int parts(iovec* to, int most) const;
  void advance(int64_t bytes);

 private:
  void skip_empty() {
    while (at_ < pieces_.size() && inside_ == pieces_[at_].bytes) ++at_, inside_ = 0;
  }
  Pieces pieces_;
  size_t at_ = 0;
  int64_t inside_ = 0;
};

}  // namespace tl::distributed
