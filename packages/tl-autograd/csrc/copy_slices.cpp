#include "copy_slices.h"

#include "ops.h"
#include "view.h"

namespace tl::autograd {

CopySlices::CopySlices(TlTensor* base, TlTensor* view, Node* writer, int self_edge)
    : HeapNode(1, 1 + writer->n_edges - (self_edge >= 0)),
      base_(base),
      view_(view),
      dtype_(api->tensor_dtype(base)),
      view_dtype_(api->tensor_dtype(view)),
      device_(api->tensor_device(base)),
      writer_(writer),
      self_edge_(self_edge) {
  view_.marks ^= base_.marks;  // gradients of the base are made without marks
  writer->retain();
  if (writer->n_outputs != 1)
    fail(TL_ERROR_NOT_IMPLEMENTED,
         "autograd cannot record a call that writes several tensors at once when one is a view");
  edges[0] = gradient_edge(base);
  for (uint32_t i = 0, to = 1; i < writer->n_edges; ++i)
    if (static_cast<int>(i) != self_edge) edges[to++] = writer->edges[i];
  for (uint32_t i = 0; i < n_edges; ++i)
    if (edges[i].node) edges[i].node->retain();
  sequence = next_sequence(edges, n_edges);
}

void CopySlices::apply(const GradientsIn& in, TlTensor** out) {
  if (!in.grads[0]) return;
  Tensor whole = empty_strided(base_.sizes.size(), base_.sizes.data(), base_.strides.data(), dtype_, device_);
  copy_into(whole.get(), in.grads[0]);
  Tensor slice = view_by_geometry(whole.get(), base_.offset, view_, view_dtype_);
  Tensor grad = clone(slice.get());

  std::vector<uint8_t> needs(writer_->n_edges);
  std::vector<TlTensor*> grads(writer_->n_edges);
  for (uint32_t i = 0, from = 1; i < writer_->n_edges; ++i)
    needs[i] = static_cast<int>(i) == self_edge_ ? in.needs[0] : in.needs[from++];
  TlTensor* given = grad.get();
  writer_->apply({&given, 1, needs.data(), in.create_graph}, grads.data());

  Tensor self;
  for (uint32_t i = 0, to = 1; i < writer_->n_edges; ++i) {
    if (static_cast<int>(i) == self_edge_)
      self = Tensor(grads[i]);
    else
      out[to++] = grads[i];
  }
  if (!in.needs[0]) return;
  if (self)
    copy_into(slice.get(), self.get());
  else
    fill_zero(slice.get());
  out[0] = whole.take();
}

}  // namespace tl::autograd
