// Tensors as indices under a batch: the indexed dimensions come first, and the batch is an index more.
#include <algorithm>

#include "levels/batch.h"
#include "ops.h"

namespace tl::autograd {

namespace {
Tensor permuted(const Tensor& t, const std::vector<int64_t>& order) {
  static const TlOperator* op = operator_named("permute");
  return call_one(op, {value(t), ints(order.data(), order.size())});
}

Tensor expanded_to(const Tensor& t, const std::vector<int64_t>& sizes) {
  static const TlOperator* op = operator_named("expand");
  return call_one(op, {value(t), ints(sizes.data(), sizes.size()), value(false)});
}

bool is_mask(const TlTensor* t) {
  const int64_t dtype = api->tensor_dtype(t);
  return TL_DTYPE_CODE(dtype) == TL_CODE_BOOL || dtype == TL_DTYPE_OF(TL_CODE_UINT, 8);
}

// A mask without a batch as the positions of its elements, one tensor a dimension.
std::vector<Tensor> positions(TlTensor* mask) {
  static const TlOperator* nonzero = operator_named("nonzero");
  static const TlOperator* unbind = operator_named("unbind.int");
  Tensor rows = call_one(nonzero, {value(mask)});
  Results columns(1);
  const TlValue args[] = {value(rows), value(int64_t{1})};
  call(unbind, args, 2, columns.data(), 1);
  std::vector<Tensor> out;
  each_tensor(columns.data(), 1, [&](TlTensor* t, int) { out.push_back(Tensor::share(t)); });
  return out;
}

// Indices of an example, by dimension; empty where a dimension is taken whole.
class Indices {
 public:
  Indices(const BatchCall& c, const TlValue& list, int64_t batch) : batch_(batch) {
    auto* given = static_cast<TlTensor* const*>(list.u.p);
    for (uint32_t i = 0; i < list.len; ++i) add(c, given[i]);
    while (!of_.empty() && !of_.back()) of_.pop_back();
    for (size_t d = 0; d < of_.size(); ++d)
      if (of_[d]) dims_.push_back(static_cast<int64_t>(d));
  }

  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t rank() const { return rank_; }
  bool adjacent() const {
    return dims_.empty() || dims_.back() - dims_.front() + 1 == static_cast<int64_t>(dims_.size());
  }
  // The batch's index, then those of the indexed dimensions, all broadcasting to (batch, …).
  std::vector<Tensor> aligned(int64_t device) const {
    static const TlOperator* arange = operator_named("arange");
    const TlValue where{TL_DEVICE, 0, {.i = device}};
    std::vector<int64_t> shape(static_cast<size_t>(rank_) + 1, 1);
    shape[0] = batch_;
    std::vector<Tensor> out{
        reshaped(call_one(arange, {value(batch_), none(), none(), where, none()}), shape)};
    for (int64_t d : dims_) {
      const auto i = static_cast<size_t>(d);
      const int64_t own = api->tensor_ndim(of_[i].get()) - has_batch_[i];
      out.push_back(has_batch_[i] ? with_ones(of_[i], 1, rank_ - own) : of_[i]);
    }
    return out;
  }

 private:
  void add(const BatchCall& c, TlTensor* t) {
    if (!t) return put({}, false);
    Tensor v = c.moved(t);
    if (is_mask(t)) {
      if (v)
        fail(TL_ERROR_RUNTIME,
             "vmap: indexing with a mask that differs between examples has a dynamic shape: use torch.where "
             "or "
             "masked_fill");
      for (Tensor& p : positions(t)) put(std::move(p), false);
      rank_ = std::max<int64_t>(rank_, 1);
      return;
    }
    rank_ = std::max<int64_t>(rank_, api->tensor_ndim(t));
    const bool batched = static_cast<bool>(v);
    put(batched ? std::move(v) : Tensor::share(t), batched);
  }
  void put(Tensor t, bool batched) {
    of_.push_back(std::move(t));
    has_batch_.push_back(batched);
  }

  int64_t batch_, rank_ = 0;
  std::vector<Tensor> of_;
  std::vector<char> has_batch_;
  std::vector<int64_t> dims_;
};

// (batch, indexed dimensions, others) from (batch, dimensions).
std::vector<int64_t> indexed_first(const Indices& indices, int64_t ndim) {
  std::vector<int64_t> order{0};
  for (int64_t d : indices.dims()) order.push_back(d + 1);
  for (int64_t d = 0; d + 1 < ndim; ++d)
    if (std::find(indices.dims().begin(), indices.dims().end(), d) == indices.dims().end())
      order.push_back(d + 1);
  return order;
}

// (batch, index, others) as an example's result has them: the index where the indexed dimensions were.
std::vector<int64_t> as_results(const Indices& indices, int64_t ndim) {
  const int64_t first = indices.adjacent() && !indices.dims().empty() ? indices.dims().front() : 0;
  std::vector<int64_t> order{0};
  for (int64_t d = 0; d < first; ++d) order.push_back(1 + indices.rank() + d);
  for (int64_t d = 0; d < indices.rank(); ++d) order.push_back(1 + d);
  for (int64_t d = 1 + indices.rank() + first; d < ndim; ++d) order.push_back(d);
  return order;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return back;
}

std::vector<TlTensor*> handles(const std::vector<Tensor>& tensors) {
  std::vector<TlTensor*> out;
  for (const Tensor& t : tensors) out.push_back(t.get());
  return out;
}

TlValue list_of_tensors(const std::vector<TlTensor*>& tensors) {
  return {TL_TENSOR_LIST, static_cast<uint32_t>(tensors.size()), {.p = tensors.data()}};
}

Tensor indexed(const BatchCall& c) {
  static const TlOperator* index = operator_named("index.Tensor");
  Tensor self = c.expanded(c.args[0].u.t);
  const Indices indices(c, c.args[1], c.size);
  Tensor first = permuted(self, indexed_first(indices, api->tensor_ndim(self.get())));
  const std::vector<Tensor> at = indices.aligned(api->tensor_device(self.get()));
  const std::vector<TlTensor*> list = handles(at);
  Tensor found = call_one(index, {value(first), list_of_tensors(list)});
  return permuted(found, as_results(indices, api->tensor_ndim(found.get())));
}

// Puts values, laid out as an example's results, into a tensor with the batch in front.
void put(const BatchCall& c, const Tensor& self, const TlValue& index_list, Tensor values,
         int64_t values_rank, bool accumulate) {
  static const TlOperator* put_ = operator_named("index_put_");
  const Indices indices(c, index_list, c.size);
  Tensor first = permuted(self, indexed_first(indices, api->tensor_ndim(self.get())));
  const std::vector<Tensor> at = indices.aligned(api->tensor_device(self.get()));
  const std::vector<TlTensor*> list = handles(at);
  const auto n_indexed = static_cast<int64_t>(indices.dims().size());
  const int64_t ndim = 1 + indices.rank() + api->tensor_ndim(first.get()) - 1 - n_indexed;
  // The index's own shape, by broadcasting.
  std::vector<int64_t> shape(static_cast<size_t>(ndim), 1);
  shape[0] = c.size;
  for (const Tensor& t : at) {
    const int n = api->tensor_ndim(t.get());
    for (int d = 0; d < n; ++d) {
      const auto to = static_cast<size_t>(indices.rank() + 1 - n + d);
      if (api->tensor_sizes(t.get())[d] != 1) shape[to] = api->tensor_sizes(t.get())[d];
    }
  }
  for (int64_t d = 1 + n_indexed; d < api->tensor_ndim(first.get()); ++d)
    shape[static_cast<size_t>(indices.rank() + d - n_indexed)] = api->tensor_sizes(first.get())[d];
  const std::vector<int64_t> order = as_results(indices, ndim);
  std::vector<int64_t> laid_out;
  for (int64_t d : order) laid_out.push_back(shape[static_cast<size_t>(d)]);
  Tensor all = expanded_to(with_ones(std::move(values), 1, ndim - 1 - values_rank), laid_out);
  Tensor right = permuted(all, inverse(order));
  call_one(put_, {value(first), list_of_tensors(list), value(right), value(accumulate)});
}
}  // namespace

void BatchCall::index(Results& out) {
  const std::string name = rule.info->name;
  if (name == "index_put_") {
    Tensor self = moved(args[0].u.t);
    TlTensor* values = args[2].u.t;
    return put(*this, self, args[1], expanded(values), api->tensor_ndim(values), args[3].u.i != 0);
  }
  if (name != "index_backward") {
    out[0] = {TL_TENSOR, 0, {.t = indexed(*this).take()}};
    return;
  }
  TlTensor* grad = args[0].u.t;
  std::vector<int64_t> sizes{size};
  auto* given = static_cast<const int64_t*>(args[1].u.p);
  sizes.insert(sizes.end(), given, given + args[1].len);
  // Of the gradient, as it is in whatever levels lie below.
  static const TlOperator* new_zeros = operator_named("new_zeros");
  Tensor all = expanded(grad);
  Tensor whole =
      call_one(new_zeros, {value(all), ints(sizes.data(), sizes.size()), none(), none(), none(), none()});
  put(*this, whole, args[2], all, api->tensor_ndim(grad), true);
  out[0] = {TL_TENSOR, 0, {.t = whole.take()}};
}

}  // namespace tl::autograd
