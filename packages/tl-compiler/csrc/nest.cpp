// Dimensions ordered by the results' strides, and merged where no operand notices.
#include "nest.h"

#include <algorithm>

namespace tl::compiler {

Nest::Nest(const Geometry& results) : results_(results) {
  for (int d = 0; d < results.ndim; ++d)
    if (results.sizes[d] > 1) dims_[ndim_++] = d;
  std::sort(dims_, dims_ + ndim_, [&](int a, int b) { return results.strides[a] < results.strides[b]; });
  for (int i = 0; i < ndim_; ++i) numel_ *= sizes_[i] = results.sizes[dims_[i]];
}

int Nest::add(const Operand& o) {
  const Geometry& g = o.geometry;
  Stream s;
  s.kind = o.kind;
  s.index = o.index;
  s.item = o.bytes();
  s.offset = g.offset * s.item;
  s.is_flat = true;
  int64_t dense = s.item;
  for (int i = 0; i < ndim_; ++i) {
    const int d = dims_[i] - (results_.ndim - g.ndim);  // sizes are aligned at their ends
    s.strides[i] = d < 0 || g.sizes[d] == 1 ? 0 : g.strides[d] * s.item;
    s.is_flat &= s.strides[i] == dense;
    dense *= sizes_[i];
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    const Stream& other = streams_[i];
    if (other.kind == s.kind && other.index == s.index && other.offset == s.offset && other.item == s.item &&
        std::equal(s.strides, s.strides + ndim_, other.strides))
      return static_cast<int>(i);
  }
  streams_.push_back(s);
  return static_cast<int>(streams_.size()) - 1;
}

int Nest::add_number(const char* number, int64_t item) {
  Stream s;
  s.base = number;
  s.item = item;
  streams_.push_back(s);
  return static_cast<int>(streams_.size()) - 1;
}

void Nest::merge() {
  int last = 0;
  for (int d = 1; d < ndim_; ++d) {
    const bool joins = std::all_of(streams_.begin(), streams_.end(), [&](const Stream& s) {
      return s.strides[d] == s.strides[last] * sizes_[last];
    });
    if (joins) {
      sizes_[last] *= sizes_[d];
      continue;
    }
    ++last;
    sizes_[last] = sizes_[d];
    for (Stream& s : streams_) s.strides[last] = s.strides[d];
  }
  ndim_ = ndim_ ? last + 1 : 0;
  for (Stream& s : streams_) std::fill(s.strides + ndim_, s.strides + kMaxDims, 0);
}

int64_t Nest::tile(int64_t most) const {
  constexpr int64_t kLongRow = 256;
  if (ndim_ <= 1) return most;
  const int64_t row = sizes_[0];
  if (row < kLongRow) return most / row * row;
  // Within a long row an operand is one piece of memory, or one number: a tile that ends with it needs no
  // copies.
  for (int64_t parts = (row + most - 1) / most; parts <= row / kLongRow; ++parts)
    if (row % parts == 0) return row / parts;
  return most;
}

const char* Nest::at(const Stream& s, int64_t position) const {
  const char* p = s.base;
  for (int d = 0; d < ndim_ && position; ++d) {
    p += position % sizes_[d] * s.strides[d];
    position /= sizes_[d];
  }
  return p;
}

namespace {
template <class T>
void copy_run(char* to, const char* from, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(T), from + i * stride, sizeof(T));
}
struct Sixteen {
  char bytes[16];
};

void copy_run(int64_t item, char* to, const char* from, int64_t stride, int64_t n) {
  if (stride == item) {
    std::memcpy(to, from, static_cast<size_t>(n * item));
    return;
  }
  switch (item) {
    case 1:
      return copy_run<uint8_t>(to, from, stride, n);
    case 2:
      return copy_run<uint16_t>(to, from, stride, n);
    case 4:
      return copy_run<uint32_t>(to, from, stride, n);
    case 8:
      return copy_run<uint64_t>(to, from, stride, n);
    default:
      return copy_run<Sixteen>(to, from, stride, n);
  }
}
}  // namespace

void gather(const Nest& nest, const Stream& s, int64_t begin, int64_t n, char* to) {
  const int64_t row = nest.ndim() ? nest.size(0) : 1;
  for (int64_t done = 0; done < n;) {
    const int64_t column = (begin + done) % row, run = std::min(row - column, n - done);
    copy_run(s.item, to + done * s.item, nest.at(s, begin + done), s.strides[0], run);
    done += run;
  }
}

}  // namespace tl::compiler
