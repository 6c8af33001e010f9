// Tensors as dense bytes: where one isn't, a dense copy stands for it.
#pragma once

#include "base/pieces.h"
#include "tl/tl.hpp"

namespace tl::distributed {

class Staged {
 public:
  enum class Use { kRead, kWrite, kUpdate };
  Staged(const Tensor& tensor, Use use);

  Piece piece() const { return {static_cast<char*>(dense_.data()), bytes_}; }
  Pieces equal_parts(int n) const;
  void give_back() const;  // what was written, to the tensor

 private:
  Tensor tensor_, dense_;
  Use use_;
  int64_t bytes_;
};

// Several of them.
class StagedList {
 public:
  StagedList(const std::vector<Tensor>& tensors, Staged::Use use);
  Pieces pieces() const;
  void give_back() const;

 private:
  std::vector<Staged> list_;
};

}  // namespace tl::distributed
