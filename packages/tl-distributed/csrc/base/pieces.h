// Bytes of another owner, one piece or several.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tl::distributed {

struct Piece {
  char* data = nullptr;
  int64_t bytes = 0;
  // Its part from `offset` on, at most `most` bytes.
  Piece part(int64_t offset, int64_t most) const {
    const int64_t left = bytes - std::min(offset, bytes);
    return {data + std::min(offset, bytes), std::min(left, most)};
  }
};
using Pieces = std::vector<Piece>;

inline void copy(char* to, const Piece& from) {
  if (from.bytes > 0 && to != from.data) std::memcpy(to, from.data, static_cast<size_t>(from.bytes));
}
inline int64_t total(const Pieces& pieces) {
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.bytes;
  return bytes;
}
inline int64_t longest(const Pieces& pieces) {
  int64_t most = 0;
  for (const Piece& piece : pieces) most = std::max(most, piece.bytes);
  return most;
}

}  // namespace tl::distributed
