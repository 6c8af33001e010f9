// Tensors of the layout sparse_coo: what they are made of, and the rows that take them.
#include "tensor/sparse.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "dispatch/sparse.h"
#include "iter/dtypes.h"
#include "ops.h"
#include "ops/shared/copy.h"

namespace tl {

namespace {
constexpr TensorOptions kInts{DType::Int64, {}};

bool is_coo(const Tensor& t) { return t.layout() == Layout::SparseCoo; }

const SparseParts& expected_parts(const char* what, const Tensor& t) {
  TL_CHECK(is_coo(t), Runtime, what, " expected sparse coordinate tensor layout but got ",
           layout_name(t.layout()));
  return parts_of(*t.impl());
}
// Of a tensor that is COO already.
const SparseParts& parts(const Tensor& t) { return parts_of(*t.impl()); }

DimVector sized(int64_t first, IntSpan rest) {
  DimVector sizes{first};
  for (int64_t s : rest) sizes.push_back(s);
  return sizes;
}

// ---- linear indices ---------------------------------------------------------------------------------------

Tensor row(const SparseParts& p, int64_t dim) { return ops::select_int(p.indices, 0, dim); }

std::vector<Tensor> rows(const SparseParts& p) {
  std::vector<Tensor> all;
  for (int64_t d = 0; d < p.sparse_dim(); ++d) all.push_back(row(p, d));
  return all;
}

// The linear index of each element through the sparse dimensions, in C order.
Tensor linear_indices(const SparseParts& p, IntSpan sizes) {
  if (p.sparse_dim() == 1) return row(p, 0);
  const Tensor out = ops::zeros(DimVector{p.count()}, {.dtype = DType::Int64});
  int64_t step = 1;
  for (int64_t d = p.sparse_dim() - 1; d >= 0; --d) {
    const int64_t* index = p.indices.ptr<int64_t>() + d * p.count();
    int64_t* linear = out.ptr<int64_t>();
    for (int64_t i = 0; i < p.count(); ++i) linear[i] = wrapped_add(linear[i], wrapped_mul(index[i], step));
    step = checked_mul(step, std::max<int64_t>(sizes[d], 1));
  }
  return out;
}

// Values added up at `to`, in order; of bool, whether any is true.
Tensor scatter_added(const Tensor& values, const Tensor& to, int64_t n) {
  if (values.dtype() == DType::Bool)
    return ops::ne(scatter_added(to_dtype(values, DType::Int64), to, n), Scalar(int64_t{0}));
  return ops::index_add_(ops::zeros(sized(n, values.sizes().subspan(1)), {.dtype = values.dtype()}), 0, to,
                         values);
}

Tensor in_order(const Tensor& self) {
  const SparseParts& p = expected_parts("_coalesce", self);
  if (p.count() < 2) return with_gradient_of(sparse_tensor(self.sizes(), {p.indices, p.values, true}), self);
  const auto [found, to, counts] = ops::_unique2(linear_indices(p, self.sizes()), true, true, false);
  const Tensor first = empty(found.sizes(), kInts);
  for (int64_t i = p.count() - 1; i >= 0; --i) first.ptr<int64_t>()[to.ptr<int64_t>()[i]] = i;
  return with_gradient_of(sparse_tensor(self.sizes(), {ops::index_select(p.indices, 1, first),
                                                       scatter_added(p.values, to, found.numel()), true}),
                          self);
}

// The tensor itself if it is coalesced: then nothing is recorded.
Tensor coalesce(const Tensor& self) {
  return expected_parts("coalesce", self).coalesced ? self : ops::_coalesce(self);
}

// ---- making and taking apart ------------------------------------------------------------------------------

void check_shapes(const Tensor& indices, const Tensor& values, IntSpan size) {
  TL_CHECK(indices.dim() == 2, Runtime, "indices must be sparse_dim x nnz, but got: ", indices.sizes());
  TL_CHECK(values.dim() > 0 && values.size(0) == indices.size(1), Runtime,
           "indices and values must have same nnz, but got nnz from indices: ", indices.size(1),
           ", nnz from values: ", values.dim() > 0 ? values.size(0) : 0);
  const int64_t sparse = indices.size(0), dense = values.dim() - 1;
  const auto dims = static_cast<int64_t>(size.size());
  TL_CHECK(dims == sparse + dense, Runtime,
           "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = ", dims,
           ", sparse_dim = ", sparse, ", dense_dim = ", dense);
  const DimVector fit = sized(indices.size(1), size.subspan(static_cast<size_t>(sparse)));
  TL_CHECK(std::ranges::equal(values.sizes(), fit), Runtime, "values has incorrect size, expected ", fit,
           ", got ", values.sizes());
}

Tensor sparse_coo(const Tensor& indices, const Tensor& values, IntSpan size, bool coalesced) {
  TL_CHECK(values.device() == indices.device(), Runtime, "device of indices (", device_name(indices.device()),
           ") must match device of values (", device_name(values.device()), ")");
  TL_CHECK(values.device().is_cpu() || values.is_meta(), NotImplemented,
           "tensors of the layout torch.sparse_coo exist on the CPU and on meta only");
  check_shapes(indices, values, size);
  const Tensor coordinates = indices.is_meta() ? indices : to_contiguous(to_dtype(indices, DType::Int64));
  return of_values(sparse_tensor(size, {alias(coordinates), alias(values), coalesced || values.size(0) < 2}));
}

const SparseParts& any_parts(const char* what, const Tensor& t) {
  TL_CHECK(t.is_sparse(), Runtime, what, " expected sparse tensor layout but got Strided");
  return parts_of(*t.impl());
}
Tensor indices_as_they_are(const Tensor& self) { return alias(expected_parts("_indices", self).indices); }
Tensor values_as_they_are(const Tensor& self) { return alias(any_parts("_values", self).values); }
const SparseParts& coalesced_parts(const char* what, const Tensor& self) {
  const SparseParts& p = expected_parts(what, self);
  TL_CHECK(p.coalesced, Runtime, "Cannot get ", what,
           " on an uncoalesced tensor, please call .coalesce() first");
  return p;
}
Tensor indices(const Tensor& self) { return alias(coalesced_parts("indices", self).indices); }
Tensor values(const Tensor& self) {
  TL_CHECK(self.is_sparse(), Runtime, "values expected sparse tensor layout but got Strided");
  if (is_coo(self)) coalesced_parts("values", self);
  return alias(parts(self).values);
}
int64_t nnz(const Tensor& self) { return any_parts("_nnz", self).count(); }
bool is_coalesced(const Tensor& self) { return expected_parts("is_coalesced", self).coalesced; }
Tensor mark_coalesced(const Tensor& self, bool coalesced) {
  const SparseParts& p = expected_parts("_coalesced_", self);
  set_parts(*self.impl(), {p.indices, p.values, coalesced});
  return self;
}
int64_t sparse_dim(const Tensor& self) { return self.is_sparse() ? parts(self).sparse_dim() : 0; }
int64_t dense_dim(const Tensor& self) {
  return self.is_sparse() ? self.dim() - parts(self).batch_dim() - sparse_dim(self) : self.dim();
}

// The same places with other elements.
Tensor with_values(const Tensor& self, const Tensor& values) {
  SparseParts p = any_parts("_with_values", self);
  TL_CHECK(std::ranges::equal(values.sizes(), p.values.sizes()), Runtime,
           "values has incorrect size, expected ", p.values.sizes(), ", got ", values.sizes());
  p.values = alias(values);
  return of_values(sparse_tensor(self.sizes(), std::move(p), self.layout()));
}

// ---- between the layouts ----------------------------------------------------------------------------------

// dense += values at their places.
void add_at(const Tensor& dense, const SparseParts& p, const Scalar& alpha) {
  TL_CHECK(can_cast(p.values.dtype(), dense.dtype()), Runtime, "result type ",
           scalar_type_name(p.values.dtype()), " can't be cast to the desired output type ",
           scalar_type_name(dense.dtype()));
  const Tensor values = to_dtype(p.values, dense.dtype());
  if (p.sparse_dim() == 1)
    ops::index_add_(dense, 0, row(p, 0), values, alpha);
  else if (p.sparse_dim() == 0)
    ops::add_(dense, ops::sum_dim_IntList(values, DimVector{0}, false, dense.dtype()), alpha);
  else
    ops::index_put_(dense, rows(p), ops::mul(values, alpha), true);
}

Tensor all_elements(const Tensor& self, bool masked_grad) {
  if (!self.is_sparse()) return alias(self);
  if (!is_coo(self)) return call_sparse_rule<Tensor>("_to_dense", self, masked_grad);
  if (self.is_meta()) return empty(self.sizes(), {self.dtype(), self.device()});
  const SparseParts& p = parts(self);
  const bool boolean = self.dtype() == DType::Bool;  // true and true is true
  const Tensor out = ops::zeros(self.sizes(), {.dtype = boolean ? DType::Int64 : self.dtype()});
  add_at(out, p, Scalar(int64_t{1}));
  return boolean ? ops::ne(out, Scalar(int64_t{0})) : out;
}

Tensor unmasked_elements(const Tensor& self) { return all_elements(self, false); }

Tensor to_dense(const Tensor& self, std::optional<DType> dtype, std::optional<bool> masked_grad) {
  const Tensor dense = self.is_sparse() ? ops::_to_dense(self, masked_grad.value_or(true)) : self;
  return ops::to_dtype(dense, dtype.value_or(dense.dtype()));
}

// The elements of a dense tensor at the places.
Tensor elements_at(const Tensor& dense, const SparseParts& p) {
  if (p.sparse_dim() == 1) return ops::index_select(dense, 0, row(p, 0));
  if (p.sparse_dim() > 1) return ops::index(dense, rows(p));
  return ops::clone(ops::expand(ops::unsqueeze(dense, 0), sized(p.count(), dense.sizes())));
}

Tensor sparse_mask(const Tensor& self, const Tensor& mask) {
  TL_CHECK(mask.is_sparse(), Runtime,
           "sparse_mask expected sparse tensor layout of the mask but got Strided");
  TL_CHECK(std::ranges::equal(self.sizes(), mask.sizes()), Runtime,
           "sparse_mask(): operands have incompatible sizes; self has size ", self.sizes(),
           " but mask has size ", mask.sizes());
  if (!is_coo(mask) || self.is_sparse()) return call_sparse_rule<Tensor>("sparse_mask", self, mask);
  const SparseParts& p = parts(mask);
  return sparse_tensor(mask.sizes(), {p.indices, elements_at(self, p), p.coalesced});
}

// The elements of `self` where `mask` stores some, in the order and shape of its values.
Tensor values_at(const Tensor& self, const Tensor& mask) {
  const SparseParts& p = any_parts("_values_at", mask);
  if (is_coo(mask) && !self.is_sparse()) return elements_at(self, p);
  return call_sparse_rule<Tensor>("_values_at", self, mask);
}

// A tensor in the layout of `mask`: at its places, or wherever it is not zero.
Tensor sparse_like(const Tensor& self, const Tensor& mask, bool masked) {
  const Tensor made = !is_coo(mask) || self.is_sparse() || !masked
                          ? call_sparse_rule<Tensor>("_sparse_like", self, mask, masked)
                          : sparse_mask(self, coalesce(mask));
  // Of a result that is `self`, the bit is its own.
  if (!made.same(self)) made->bits.fetch_and(~TL_BIT_STORED_GRADIENT, std::memory_order_relaxed);
  return made;
}

// ---- rows that take them ----------------------------------------------------------------------------------

// `out` in place of what was made; `made` itself without one.
Tensor written(Out out, const Tensor& made) {
  if (!out) return made;
  TL_CHECK(out.tensor->is_sparse(), NotImplemented, "a sparse result cannot be written to a dense tensor");
  TL_CHECK(std::ranges::equal(out.tensor->sizes(), made.sizes()), Runtime, "output with shape ",
           out.tensor->sizes(), " doesn't match the broadcast shape ", made.sizes());
  const SparseParts& p = parts(made);
  TL_CHECK(can_cast(made.dtype(), out.tensor->dtype()), Runtime, "result type ",
           scalar_type_name(made.dtype()), " can't be cast to the desired output type ",
           scalar_type_name(out.tensor->dtype()));
  set_parts(*out.tensor->impl(), {p.indices, to_dtype(p.values, out.tensor->dtype()), p.coalesced});
  return *out;
}

// Both in the order of their places, what is at one place in one element: coalesced if both are.
Tensor merged(const Tensor& a, const Tensor& b, const Scalar& alpha) {
  TL_CHECK(std::ranges::equal(a.sizes(), b.sizes()), Runtime,
           "add: expected sizes of 'self' and 'other' to match, but ", a.sizes(), " != ", b.sizes());
  const SparseParts &p = parts(a), &q = parts(b);
  TL_CHECK(p.sparse_dim() == q.sparse_dim(), Runtime,
           "add: expected 'self' and 'other' to have same number of sparse dimensions, but ", p.sparse_dim(),
           " != ", q.sparse_dim());
  const Tensor at_p = to_contiguous(linear_indices(p, a.sizes())),
               at_q = to_contiguous(linear_indices(q, b.sizes()));
  const Tensor to_p = empty(at_p.sizes(), kInts), to_q = empty(at_q.sizes(), kInts);
  const int64_t *x = at_p.ptr<int64_t>(), *y = at_q.ptr<int64_t>();
  int64_t i = 0, j = 0, n = 0;
  for (; i < p.count() || j < q.count(); ++n) {
    const bool left = j == q.count() || (i < p.count() && x[i] <= y[j]);
    const bool right = i == p.count() || (j < q.count() && y[j] <= x[i]);
    // Both are decided before either moves on.
    if (left) to_p.ptr<int64_t>()[i++] = n;
    if (right) to_q.ptr<int64_t>()[j++] = n;
  }
  const DType type = promote(a.dtype(), b.dtype());
  const Tensor indices = empty(DimVector{p.sparse_dim(), n}, kInts);
  ops::index_copy_(indices, 1, to_p, p.indices);
  ops::index_copy_(indices, 1, to_q, q.indices);
  const Tensor sums = ops::zeros(sized(n, p.values.sizes().subspan(1)), {.dtype = type});
  ops::index_copy_(sums, 0, to_p, to_dtype(p.values, type));
  ops::index_add_(sums, 0, to_q, to_dtype(q.values, type), alpha);
  const Tensor sum = sparse_tensor(a.sizes(), {indices, sums, p.coalesced && q.coalesced});
  return has_dense_gradient(a) || has_dense_gradient(b) ? sum : of_values(sum);
}

// What has a loop of its own: COO + COO of one shape, dense + COO of its shape.
bool is_plain_sum(const Operand& self, const Operand& other, Out out) {
  if (!self.is_tensor() || !other.is_tensor()) return false;
  const Tensor &a = self.tensor(), &b = other.tensor();
  if (!is_coo(b) || !std::ranges::equal(a.sizes(), b.sizes()) || b.is_meta()) return false;
  if (is_coo(a)) return (!out || is_coo(*out)) && parts(a).sparse_dim() == parts(b).sparse_dim();
  return !a.is_sparse() && (!out || out.tensor->same(a));
}

Tensor add(const Operand& self, const Operand& other, const Scalar& alpha, Out out) {
  const Tensor &a = self.tensor(), &b = other.tensor();
  if (is_coo(a)) return written(out, merged(a, b, alpha));
  if (out) {
    add_at(a, parts(b), alpha);
    return a;
  }
  const Tensor sum = ops::_to_copy(a, {.dtype = promote(a.dtype(), b.dtype())});
  add_at(sum, parts(b), alpha);
  return sum;
}

// The negative of an unsigned number is none of its type.
Tensor sub(const Operand& self, const Operand& other, const Scalar& alpha, Out out) {
  const Tensor &a = self.tensor(), &b = other.tensor();
  TL_CHECK(a.dtype() != DType::Bool && b.dtype() != DType::Bool, Runtime,
           "Subtraction, the `-` operator, with a bool tensor is not supported.");
  const Tensor negative = ops::neg(ops::_to_copy(b, {.dtype = promote(a.dtype(), b.dtype())}));
  return add(self, negative, alpha, out);
}

template <auto F>
int sum_or_rule(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Out out{rets[0].tag == TL_TENSOR ? &reinterpret_cast<const Tensor&>(rets[0].u.t) : nullptr};
  return is_plain_sum(Operand(args[0]), Operand(args[1]), out)
             ? boxed<F>(ctx, args, n_args, rets, n_rets)
             : kernel_sparse_rule(ctx, args, n_args, rets, n_rets);
}

std::string type_name(const Tensor& t) {
  return std::string(t.is_sparse() ? "torch.sparse." : "torch.") + scalar_type_name(t.dtype()) + "Tensor";
}

Tensor taking_over(const Tensor& self, const Tensor& made) {
  set_sparse(*self.impl(), made.sizes(), parts_of(*made.impl()));
  return self;
}

// Broadcasting takes a rule.
Tensor copy_(const Tensor& self, const Tensor& src, bool non_blocking) {
  TL_CHECK(!is_compressed(self) || self.layout() == src.layout(), Runtime,
           "torch.copy_: copy of sparse compressed tensors having different layouts is not supported. self "
           "layout is ",
           layout_name(self.layout()), " and src layout is ", layout_name(src.layout()));
  TL_CHECK(self.is_sparse() && src.is_sparse(), Runtime,
           "copy_() between dense and sparse Tensors is not implemented! Found self type = ", type_name(self),
           " and src type = ", type_name(src));
  if (self.same(src)) return self;
  if (!is_coo(self) || !is_coo(src) || !std::ranges::equal(self.sizes(), src.sizes()))
    return taking_over(self, call_sparse_rule<Tensor>("copy_", self, src, non_blocking));
  return written({&self}, ops::_to_copy(src, {.dtype = self.dtype()}));
}

template <class F>
Tensor each_part(const Tensor& self, F f) {
  SparseParts p = parts(self);
  p.indices = f(p.indices);
  p.values = f(p.values);
  if (p.is_compressed()) p.compressed = f(p.compressed);
  return with_gradient_of(sparse_tensor(self.sizes(), std::move(p), self.layout()), self);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat>) {
  return each_part(self, [](const Tensor& t) { return ops::clone(t); });
}
Tensor detach(const Tensor& self) { return alias(self); }

SparseParts without_elements(const SparseParts& p, DType dtype, Device device);

// On meta nothing is stored: how much there is depends on values.
Tensor without_memory(const Tensor& self, DType dtype) {
  const Device meta{DeviceType::Meta};
  const SparseParts& p = parts(self);
  if (is_coo(self)) return sparse_tensor(self.sizes(), without_elements(p, dtype, meta));
  const auto shrunk = [&](const Tensor& t, DType type) {
    DimVector sizes(t.sizes());
    sizes[p.batch_dim()] = 0;
    return empty(sizes, {type, meta});
  };
  const Tensor offsets = empty(p.compressed.sizes(), {p.compressed.dtype(), meta});
  return sparse_tensor(self.sizes(),
                       {shrunk(p.indices, p.indices.dtype()), shrunk(p.values, dtype), false, offsets},
                       self.layout());
}

Tensor to_copy(const Tensor& self, const FactoryOptions& options, bool, std::optional<MemoryFormat>) {
  const auto& [dtype, layout, device, pin_memory] = options;
  TL_CHECK(!layout || *layout == self.layout(), Runtime,
           "to(options) doesn't support converting to a different layout, but got self.layout being ",
           layout_name(self.layout()), " and options.layout set as ", layout_name(*layout));
  TL_CHECK(!device || device->is_cpu() || device->is_meta(), NotImplemented,
           "sparse tensors exist on the CPU and on meta only");
  if (device && device->is_meta() && !self.is_meta())
    return without_memory(self, dtype.value_or(self.dtype()));
  Tensor made =
      each_part(self, [&](const Tensor& t) { return ops::_to_copy(t, {.device = options.device}); });
  if (!dtype || *dtype == self.dtype()) return made;
  SparseParts p = parts(made);
  p.values = ops::_to_copy(p.values, {.dtype = dtype});
  return with_gradient_of(sparse_tensor(self.sizes(), std::move(p), self.layout()), self);
}

SparseParts without_elements(const SparseParts& p, DType dtype, Device device) {
  return {empty(DimVector{p.sparse_dim(), 0}, {DType::Int64, device}),
          empty(sized(0, p.values.sizes().subspan(1)), {dtype, device}), true};
}
void check_no_format(std::optional<Layout> layout, std::optional<MemoryFormat> format) {
  TL_CHECK(!format || layout == Layout::Strided, Runtime,
           "memory format option is only supported by strided tensors");
}
Tensor zeros_like(const Tensor& self, const FactoryOptions& options, std::optional<MemoryFormat> format) {
  const auto& [dtype, layout, device, pin_memory] = options;
  check_no_format(layout, format);
  if (!is_coo(self) || (layout && *layout != self.layout()))
    return call_sparse_rule<Tensor>("zeros_like", self, dtype, layout, device, pin_memory, format);
  return sparse_tensor(self.sizes(), without_elements(parts(self), dtype.value_or(self.dtype()),
                                                      device.value_or(self.device())));
}
Tensor empty_like(const Tensor& self, const FactoryOptions& options, std::optional<MemoryFormat> format) {
  const auto& [dtype, layout, device, pin_memory] = options;
  check_no_format(layout, format);
  if (!is_coo(self) || (layout && *layout != self.layout()))
    return call_sparse_rule<Tensor>("empty_like", self, dtype, layout, device, pin_memory, format);
  return zeros_like(self, options, format);
}
Tensor zero_(const Tensor& self) {
  if (!is_coo(self)) return taking_over(self, call_sparse_rule<Tensor>("zero_", self));
  set_parts(*self.impl(), without_elements(parts(self), self.dtype(), self.device()));
  return self;
}

Tensor sum(const Tensor& self, std::optional<DType> dtype) {
  const Tensor& values = parts(self).values;
  return values.is_meta() ? empty(DimVector{}, {dtype.value_or(values.dtype()), values.device()})
                          : ops::sum(values, dtype);
}

// The one tensor that is sparse, where all others are numbers; NULL for any other call. Beside a sparse
// number another tensor widens the type, which it does not beside the vector of values.
const Tensor* only_sparse(const TlValue* args, int n_args) {
  const Tensor* self = nullptr;
  int others = 0;
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag != TL_TENSOR) continue;
    const Tensor& t = reinterpret_cast<const Tensor&>(args[i].u.t);
    if (t.is_sparse() ? self != nullptr : t.dim() != 0) return nullptr;
    others += !t.is_sparse();
    if (t.is_sparse()) self = &t;
  }
  return self && self->dim() == 0 && others ? nullptr : self;
}

// The same operator on the values alone: for what is linear in them.
void on_values(const Operator& op, const Tensor& self, const TlValue* args, int n_args, TlValue* rets) {
  const SparseParts& p = parts(self);
  std::vector<TlValue> given(args, args + n_args);
  for (TlValue& v : given)
    if (v.tag == TL_TENSOR && reinterpret_cast<const Tensor&>(v.u.t).is_sparse()) v = value(p.values);
  TlValue made[1] = {};
  if (call(*op.info.functional, given.data(), n_args, made, 1) != 0) throw_pending();
  const Tensor result = with_gradient_of(
      sparse_tensor(self.sizes(), {p.indices, TakeResult<Tensor>::take(made[0]), p.coalesced}), self);
  rets[0] = owned(written({op.info.variant == TL_INPLACE ? &self : nullptr}, result));
}

}  // namespace

// What dense tensors do not have.
int kernel_sparse_only(void*, const TlValue*, int, TlValue*, int) noexcept {
  return guarded([] { fail(ErrorKind::Runtime, "expected a tensor of a sparse layout but got Strided"); });
}

int kernel_sparse_values(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  const Tensor* self = op.info.variant == TL_OUT ? nullptr : only_sparse(args, n_args);
  if (!self || !is_coo(*self)) return kernel_sparse_rule(ctx, args, n_args, rets, n_rets);
  return guarded([&] { on_values(op, *self, args, n_args, rets); });
}
// A number divided by zeros that aren't stored would be lost.
int kernel_sparse_quotient(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const bool sparse_dividend =
      args[0].tag == TL_TENSOR && reinterpret_cast<const Tensor&>(args[0].u.t).is_sparse();
  return sparse_dividend ? kernel_sparse_values(ctx, args, n_args, rets, n_rets)
                         : kernel_sparse_rule(ctx, args, n_args, rets, n_rets);
}
int kernel_sparse_add(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return sum_or_rule<&add>(ctx, args, n_args, rets, n_rets);
}
int kernel_sparse_sub(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return sum_or_rule<&sub>(ctx, args, n_args, rets, n_rets);
}

TL_KERNEL(_sparse_coo_tensor, sparse_coo)
TL_KERNEL(_indices, indices_as_they_are)
TL_KERNEL(_values, values_as_they_are)
TL_KERNEL(indices, indices)
TL_KERNEL(values, values)
TL_KERNEL(_nnz, nnz)
TL_KERNEL(is_coalesced, is_coalesced)
TL_KERNEL(_coalesced_, mark_coalesced)
TL_KERNEL(coalesce, coalesce)
TL_KERNEL(_coalesce, in_order)
TL_KERNEL(sparse_dim, sparse_dim)
TL_KERNEL(dense_dim, dense_dim)
TL_KERNEL(_to_dense, all_elements)
TL_KERNEL(_all_elements, unmasked_elements)
TL_KERNEL(to_dense, to_dense)
TL_KERNEL(sparse_mask, sparse_mask)
TL_KERNEL(_values_at, values_at)
TL_KERNEL(_sparse_like, sparse_like)
TL_KERNEL(_with_values, with_values)
TL_KERNEL(sparse_copy_, copy_)
TL_KERNEL(sparse_clone, clone)
TL_KERNEL(sparse_detach, detach)
TL_KERNEL(sparse_to_copy, to_copy)
TL_KERNEL(sparse_zeros_like, zeros_like)
TL_KERNEL(sparse_empty_like, empty_like)
TL_KERNEL(sparse_zero_, zero_)
TL_KERNEL(sparse_sum, sum)

}  // namespace tl
