// A tensor as dense bytes: its own, or those of a dense copy.
#pragma once

#include "base/pieces.h"
#include "tl/tl.hpp"

namespace tl::distributed {

class DenseBuffer {
 public:
  enum class Use { kRead, kWrite, kUpdate };
  DenseBuffer(const Tensor& tensor, Use use);

  Piece piece() const { return {static_cast<char*>(dense_.data()), bytes_}; }
  Pieces equal_parts(int n) const;
  void give_back() const;  // copies the written bytes to the tensor

 private:
  Tensor tensor_, dense_;
  Use use_;
  int64_t bytes_;
};

// Several of them.
class DenseBuffers {
 public:
  DenseBuffers(const std::vector<Tensor>& tensors, DenseBuffer::Use use);
  Pieces pieces() const;
  void give_back() const;

 private:
  std::vector<DenseBuffer> list_;
};

}  // namespace tl::distributed
