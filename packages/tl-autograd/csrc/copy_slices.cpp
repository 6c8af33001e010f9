// Gradient of a written view: its part of the base's gradient goes through the writer's node.
#include "copy_slices.h"

#include "levels/level.h"
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
  view_.bits ^= base_.bits;  // gradients of the base are made without such bits
  writer->retain();
  if (writer->n_outputs != 1)
    fail(TL_ERROR_NOT_IMPLEMENTED,
         "autograd cannot record a call that writes several tensors at once when one is a view");
  edges[0] = gradient_edge(base);
  for (uint32_t i = 0, to = 1; i < writer->n_edges; ++i)
    if (static_cast<int>(i) != self_edge) edges[to++] = writer->edges[i];
  for (uint32_t i = 0; i < n_edges; ++i)
    if (edges[i].node) edges[i].node->retain();
  sequence = next_sequence();
}

namespace {
Tensor zero_of(TlTensor* t) {
  static const TlOperator* op = operator_named("new_zeros");
  return call_one(op, {value(t), ints(nullptr, 0), none(), none(), none(), none()});
}

// Uninitialized, in the levels of `like` and of its class.
Tensor new_strided(TlTensor* like, const Geometry& g, int64_t dtype, int64_t device) {
  constexpr uint64_t kPythonBit = uint64_t{1} << TL_LAYER_PYTHON;
  if (!in_transform() && !(api->bits_get(like) & kPythonBit))
    return empty_strided(g.sizes.size(), g.sizes.data(), g.strides.data(), dtype, device);
  static const TlOperator* op = operator_named("new_empty_strided");
  const TlValue type{TL_DTYPE, 0, {.i = dtype}}, where{TL_DEVICE, 0, {.i = device}};
  return call_one(op, {value(like), ints(g.sizes.data(), g.sizes.size()),
                       ints(g.strides.data(), g.strides.size()), type, none(), where, none()});
}
}  // namespace

// A gradient may hide a batch that the other has not: what is written has both.
void CopySlices::write_with_batches(const Tensor& whole, const Tensor& self, TlTensor** out) {
  const Tensor both = sum(zero_of(whole.get()), zero_of(self.get()));
  Tensor written = new_strided(both.get(), base_, dtype_, device_);
  copy_into(written.get(), whole.get());
  Tensor slice = view_by_geometry(written.get(), base_.offset, view_, view_dtype_);
  copy_into(slice.get(), self.get());
  out[0] = written.take();
}

// dL/dbase is the gradient with the view's part replaced by what the writer's node makes of that part, or by
// zero if the writer did not read the tensor. The writer's other inputs are the edges behind the first.
void CopySlices::apply(const GradientsIn& in, TlTensor** out) {
  if (!in.grads[0]) {
    if (in.last) writer_->release();
    return;
  }
  Tensor whole = new_strided(in.grads[0], base_, dtype_, device_);
  copy_into(whole.get(), in.grads[0]);
  Tensor slice = view_by_geometry(whole.get(), base_.offset, view_, view_dtype_);
  Tensor grad = clone(slice.get());

  std::vector<uint8_t> needs(writer_->n_edges);
  std::vector<TlTensor*> grads(writer_->n_edges);
  for (uint32_t i = 0, from = 1; i < writer_->n_edges; ++i)
    needs[i] = static_cast<int>(i) == self_edge_ ? in.needs[0] : in.needs[from++];
  TlTensor* given = grad.get();
  writer_->apply({&given, 1, needs.data(), in.create_graph, in.last}, grads.data());

  Tensor self;
  for (uint32_t i = 0, to = 1; i < writer_->n_edges; ++i) {
    if (static_cast<int>(i) == self_edge_)
      self = Tensor(grads[i]);
    else
      out[to++] = grads[i];
  }
  if (!in.needs[0]) return;
  if (self && in_transform()) return write_with_batches(whole, self, out);
  if (self)
    copy_into(slice.get(), self.get());
  else
    fill_zero(slice.get());
  out[0] = whole.take();
}

}  // namespace tl::autograd
