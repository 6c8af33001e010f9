// The history of a tensor after one of its views was written: the view's part of the gradient goes through
// the writer's node.
#pragma once

#include "view.h"

namespace tl::autograd {

class CopySlices final : public HeapNode<CopySlices> {
 public:
  // `writer` is shared; its edge `self_edge` (or -1) led to the view's old value.
  CopySlices(TlTensor* base, TlTensor* view, Node* writer, int self_edge);
  ~CopySlices() override { drop(writer_); }

  void apply(const GradientsIn& in, TlTensor** out) override;
  void release() override { writer_->release(); }
  std::string name() const override { return "CopySlices"; }

 private:
  void write_with_batches(const Tensor& whole, const Tensor& self, TlTensor** out);

  Geometry base_, view_;
  int64_t dtype_, view_dtype_, device_;
  Node* writer_;
  int self_edge_;
};

}  // namespace tl::autograd
