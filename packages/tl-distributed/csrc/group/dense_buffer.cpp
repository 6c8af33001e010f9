// Dense buffers: a tensor without dense bytes is copied, and copied back at the end.
#include "group/dense_buffer.h"

#include "ranks/call.h"

namespace tl::distributed {

namespace {
void copy_tensor(const Tensor& to, const Tensor& from) {
  static const TlOperator* const op = check(api().op_find("copy_"));
  const TlValue args[] = {value(to), value(from), value(false)};
  TlValue ret = none();
  check(api().op_call(op, args, 3, &ret, 1));
  api().value_release(&ret);
}

// A conjugated or negated tensor holds other numbers than its memory.
bool is_dense(const Tensor& t) {
  return t.is_contiguous() && !(api().bits_get(t.handle()) >> TL_LAYER_LAZYBITS & 1);
}

void check_kind(const Tensor& t) {
  if (api().tensor_layout(t.handle()) != TL_STRIDED)
    throw Error(TL_ERROR_NOT_IMPLEMENTED, "gloo: a sparse tensor cannot be sent; make it dense");
  if (TL_DEVICE_TYPE(t.device()) != TL_DEVICE_CPU)
    throw Error(TL_ERROR_RUNTIME, "gloo: the tensor must be on the CPU");
}
}  // namespace

DenseBuffer::DenseBuffer(const Tensor& tensor, Use use)
    : tensor_(tensor), use_(use), bytes_(tensor.numel() * size_of_dtype(tensor.dtype())) {
  check_kind(tensor);
  if (is_dense(tensor)) {
    dense_ = tensor;
    return;
  }
  dense_ = Tensor::empty(tensor.sizes(), tensor.dtype());
  if (use != Use::kWrite) copy_tensor(dense_, tensor);
}

void DenseBuffer::give_back() const {
  if (use_ == Use::kRead) return;
  if (dense_.handle() != tensor_.handle())
    copy_tensor(tensor_, dense_);
  else
    api().tensor_bump_version(tensor_.handle());
}

Pieces DenseBuffer::equal_parts(int n) const {
  Pieces parts;
  const int64_t each = bytes_ / n;
  for (int i = 0; i < n; ++i) parts.push_back({piece().data + i * each, each});
  return parts;
}

DenseBuffers::DenseBuffers(const std::vector<Tensor>& tensors, DenseBuffer::Use use) {
  list_.reserve(tensors.size());
  for (const Tensor& tensor : tensors) list_.emplace_back(tensor, use);
}

Pieces DenseBuffers::pieces() const {
  Pieces every;
  for (const DenseBuffer& buffer : list_) every.push_back(buffer.piece());
  return every;
}

void DenseBuffers::give_back() const {
  for (const DenseBuffer& buffer : list_) buffer.give_back();
}

}  // namespace tl::distributed
