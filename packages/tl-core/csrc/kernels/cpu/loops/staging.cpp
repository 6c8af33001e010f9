// Staging of operands through contiguous tile buffers, for loops that cannot take the strides or dtype as is.
#include "kernels/cpu/loops/staging.h"

#include <algorithm>

#include "kernels/cpu/loops/copy.h"

namespace tl::cpu {

namespace {

constexpr int64_t kBufferBytes = 4096;
constexpr int64_t kSide = 64;  // of a tile, where rows of one operand are columns of another

// A little further apart than a page: the processor takes accesses a page apart for accesses to one place.
struct Buffers {
  alignas(64) char bytes[kMaxStaged][kBufferBytes + 320];
};

class Tiles {
 public:
  Tiles(const Staging& staging, Buffers& buffers, char* const* data, const int64_t* strides, int64_t n0,
        int64_t n1)
      : staging_(staging),
        buffers_(buffers),
        data_(data),
        strides_(strides),
        outer_(strides + staging.operands) {
    const int64_t largest = *std::max_element(staging.items, staging.items + staging.operands);
    // Short tiles keep reading and writing of the memory going side by side.
    const int64_t room = (staging.streams ? kBufferBytes / 2 : kBufferBytes) / largest;
    width_ = std::min(n0, n1 > 1 && is_crossed() ? kSide : room);
    rows_ = std::min(n1, room / width_);
    for (int k = 1; k < staging.operands; ++k) {
      constant_[k] = strides_[k] == 0 && outer_[k] == 0;
      if (constant_[k]) fetch(k, data[k], width_ * rows_, 1);
    }
  }

  int64_t width() const { return width_; }
  int64_t rows() const { return rows_; }

  void run(int64_t i, int64_t j, int64_t width, int64_t rows, const void* params) {
    const int n = staging_.operands;
    char* at[kMaxStaged];
    int64_t steps[2 * kMaxStaged];
    bool flat = true;
    for (int k = 0; k < n; ++k) {
      char* own = data_[k] + i * strides_[k] + j * outer_[k];
      const bool staged = (k == 0 && staging_.streams) || !lies_ready(k, width, rows);
      at[k] = staged ? buffers_.bytes[k] : own;
      steps[k] = staging_.items[k];
      steps[n + k] = staged ? width * staging_.items[k] : outer_[k];
      flat = flat && (staged || is_flat(k, width, rows));
      if (staged && k > 0 && !constant_[k]) fetch(k, own, width, rows);
    }
    staging_.loop(at, steps, flat ? width * rows : width, flat ? 1 : rows, params);
    if (at[0] == buffers_.bytes[0]) give_back(data_[0] + i * strides_[0] + j * outer_[0], width, rows);
  }

 private:
  bool is_crossed() const {
    for (int k = 0; k < staging_.operands; ++k)
      if (outer_[k] != 0 && std::abs(outer_[k]) < std::abs(strides_[k])) return true;
    return false;
  }
  bool lies_ready(int k, int64_t width, int64_t rows) const {
    constexpr int64_t kLongRow = 32;  // that is worth a turn of the loop
    return !staging_.converts[k] && strides_[k] == staging_.items[k] &&
           (width >= kLongRow || is_flat(k, width, rows));
  }
  bool is_flat(int k, int64_t width, int64_t rows) const {
    return rows == 1 || outer_[k] == width * staging_.items[k];
  }
  ElementwiseLoop mover(int k) const {
    return staging_.converts[k] ? staging_.converts[k] : copy_loop(staging_.items[k]);
  }
  void fetch(int k, char* from, int64_t width, int64_t rows) {
    char* data[] = {buffers_.bytes[k], from};
    const int64_t strides[] = {staging_.items[k], strides_[k], width * staging_.items[k], outer_[k]};
    mover(k)(data, strides, width, rows, nullptr);
  }
  void give_back(char* to, int64_t width, int64_t rows) {
    if (lies_ready(0, width, rows)) {
      const bool flat = is_flat(0, width, rows);
      const int64_t parts = flat ? 1 : rows, part = width * rows / parts * staging_.items[0];
      for (int64_t r = 0; r < parts; ++r) stream_copy(to + r * outer_[0], buffers_.bytes[0] + r * part, part);
      return;
    }
    char* data[] = {to, buffers_.bytes[0]};
    const int64_t strides[] = {strides_[0], staging_.items[0], outer_[0], width * staging_.items[0]};
    mover(0)(data, strides, width, rows, nullptr);
  }

  const Staging& staging_;
  Buffers& buffers_;
  char* const* data_;
  const int64_t *strides_, *outer_;
  int64_t width_, rows_;
  bool constant_[kMaxStaged] = {};
};

}  // namespace

void run_staged(const Staging& staging, char* const* data, const int64_t* strides, int64_t n0, int64_t n1,
                const void* params) {
  if (n0 == 0 || n1 == 0) return;
  Buffers buffers;
  Tiles tiles(staging, buffers, data, strides, n0, n1);
  for (int64_t j = 0; j < n1; j += tiles.rows()) {
    for (int64_t i = 0; i < n0; i += tiles.width())
      tiles.run(i, j, std::min(tiles.width(), n0 - i), std::min(tiles.rows(), n1 - j), params);
  }
  if (staging.streams) end_streams();
}

}  // namespace tl::cpu
