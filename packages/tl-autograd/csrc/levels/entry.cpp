// Wrappers of levels: a tensor's slot holds its value, batch dimension and tangents, level by level.
#include "levels/entry.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ops.h"
#include "view.h"

namespace tl::autograd {

namespace {
void destroy(void* data) { delete static_cast<Entry*>(data); }
const TlSlotType kSlotType{sizeof(TlSlotType), destroy, nullptr, nullptr};

Entry* mutable_entry(const TlTensor* t) {
  if (!(api->bits_get(t) & kTransformsBit)) return nullptr;
  return static_cast<Entry*>(api->slot_get(t, TL_LAYER_TRANSFORMS));
}

Tensor hang(Tensor t, std::unique_ptr<Entry> entry) {
  uint64_t bits = kTransformsBit;
  if (entry->level && entry->kind == LevelKind::Grad) bits |= kUnwrapBit;
  // Of a wrapper of writes, the memory may be that of before.
  const bool hides = entry->kind == LevelKind::Batch || entry->kind == LevelKind::Functionalize;
  if (entry->level && (hides || api->bits_get(entry->value.get()) & kBatchBit)) bits |= kBatchBit;
  check(api->slot_set(t.get(), TL_LAYER_TRANSFORMS, entry.get(), &kSlotType));
  entry.release();
  api->bits_set(t.get(), bits, 1);
  return t;
}

constexpr uint64_t kPythonBit = uint64_t{1} << TL_LAYER_PYTHON;

Tensor alias(TlTensor* t) {
  Tensor again(api->tensor_alias(t));
  if (!again) throw Pending();
  return again;
}

// Sizes and strides, of as many dimensions as a tensor may have.
struct Shape {
  std::array<int64_t, 64> sizes, strides;
  size_t n;
};

Shape example_shape(const TlTensor* value, int64_t dim) {
  const auto n = static_cast<size_t>(api->tensor_ndim(value)), at = static_cast<size_t>(dim);
  const int64_t *sizes = api->tensor_sizes(value), *strides = api->tensor_strides(value);
  Shape s;
  s.n = n - 1;
  for (size_t d = 0, to = 0; d < n; ++d) {
    if (d == at) continue;
    s.sizes[to] = sizes[d];
    s.strides[to++] = strides[d];
  }
  return s;
}

// The first example, whose memory nobody reads; of an empty batch, memory of its own.
Tensor first_example(TlTensor* value, int64_t dim) {
  const Shape s = example_shape(value, dim);
  const int n = static_cast<int>(s.n);
  const bool own = api->tensor_sizes(value)[dim] == 0 || is_sparse(value);
  Tensor t(own ? api->tensor_empty(n, s.sizes.data(), api->tensor_dtype(value), api->tensor_device(value))
               : api->tensor_alias_as(value, n, s.sizes.data(), s.strides.data(), api->tensor_offset(value)));
  if (!t) throw Pending();
  return t;
}
}  // namespace

const Entry* entry_of(const TlTensor* t) { return mutable_entry(t); }

TlTensor* wrapped_value(const TlTensor* t, const Level& level) {
  const Entry* e = mutable_entry(t);
  return e && e->level == level.serial ? e->value.get() : nullptr;
}

namespace {
TlTensor* own_tangent(const TlTensor* t, const Level& level) {
  const Entry* e = mutable_entry(t);
  if (!e) return nullptr;
  for (const Entry::Tangent& found : e->tangents)
    if (found.level == level.serial) return found.tensor->get();
  return nullptr;
}
}  // namespace

TlTensor* tangent_of(TlTensor* t, const Level& level) {
  if (TlTensor* own = own_tangent(t, level)) return own;
  // A view that was taken before its base got a tangent.
  TlTensor* base = api->tensor_view_base(t);
  TlTensor* whole = base ? own_tangent(base, level) : nullptr;
  if (!whole || !is_differentiable(api->tensor_dtype(t))) return nullptr;
  Tensor part = view_by_geometry(whole, api->tensor_offset(base), Geometry(t), api->tensor_dtype(t));
  set_tangent(t, level, std::move(part));
  return own_tangent(t, level);
}

std::shared_ptr<Tensor> tangent_cell(const Level& level, Tensor tangent) {
  auto cell = std::make_shared<Tensor>(std::move(tangent));
  auto& all = level.tangents;
  if (all.size() == all.capacity()) {
    std::erase_if(all, [](const auto& old) { return old.expired(); });
    all.reserve(2 * all.size() + 8);
  }
  all.push_back(cell);
  return cell;
}

void set_tangent(TlTensor* t, const Level& level, Tensor tangent) {
  Entry* e = mutable_entry(t);
  if (!e) {
    hang(Tensor::share(t), std::make_unique<Entry>());
    e = mutable_entry(t);
  }
  std::erase_if(e->tangents,
                [&](const Entry::Tangent& old) { return !level_of(old.level) || old.level == level.serial; });
  e->tangents.push_back({level.serial, tangent_cell(level, std::move(tangent))});
}

bool hides_batch(const TlTensor* t) { return api->bits_get(t) & kBatchBit; }

void drop_tangent(TlTensor* t, const Level& level) {
  if (Entry* e = mutable_entry(t))
    std::erase_if(e->tangents, [&](const Entry::Tangent& old) { return old.level == level.serial; });
}

void drop_ended_tangents(TlTensor* t) {
  Entry* e = mutable_entry(t);
  if (!e) return;
  std::erase_if(e->tangents, [](const Entry::Tangent& old) { return !level_of(old.level); });
  if (e->level || !e->tangents.empty()) return;
  check(api->slot_set(t, TL_LAYER_TRANSFORMS, nullptr, nullptr));
  api->bits_set(t, kTransformsBit, 0);
}

Tensor wrap_for_gradients(TlTensor* value, const Level& level) {
  auto entry = std::make_unique<Entry>();
  entry->level = level.serial;
  entry->kind = LevelKind::Grad;
  entry->number = level.number;
  entry->value = Tensor::share(value);
  return hang(alias(value), std::move(entry));
}

Tensor wrap_batch(TlTensor* value, int64_t dim, const Level& level) {
  auto entry = std::make_unique<Entry>();
  entry->level = level.serial;
  entry->kind = LevelKind::Batch;
  entry->number = level.number;
  entry->value = Tensor::share(value);
  entry->dim = dim;
  return hang(first_example(value, dim), std::move(entry));
}

namespace {
void release(void* value) { api->tensor_release(static_cast<TlTensor*>(value)); }

TlTensor* geometry_of(TlTensor* t, TlTensor* like) {
  check(api->tensor_assume(t, t, api->tensor_ndim(like), api->tensor_sizes(like), api->tensor_strides(like),
                           api->tensor_offset(like)));
  return t;
}

Tensor with_bits(Tensor t, int bits) {
  static const TlOperator* const kBits[] = {operator_named("_conj"), operator_named("_neg_view")};
  for (int i = 0; i < 2; ++i) {
    if (!(bits & (i ? TL_MARK_NEGATED : TL_MARK_CONJUGATED))) continue;
    const TlValue arg = ::tl::autograd::value(t);
    TlValue ret = none();
    check(api->op_call_below(kBits[i], TL_LAYER_SPARSE, &arg, 1, &ret, 1));
    t = Tensor(ret.u.t);
    check(api->tensor_set_view_base(t.get(), nullptr));
  }
  return t;
}
}  // namespace

Tensor memory_like(TlTensor* value) {
  if (is_sparse(value)) return alias(value);
  const int64_t dtype = api->tensor_dtype(value), bytes = TL_DTYPE_BITS(dtype) / 8;
  const int64_t n = bytes ? api->tensor_storage_bytes(value) / bytes : 0, one = 1;
  auto* first = static_cast<char*>(api->tensor_data(value));
  api->tensor_retain(value);
  Tensor t(api->tensor_from_memory(first ? first - api->tensor_offset(value) * bytes : nullptr, 1, &n, &one,
                                   dtype, api->tensor_device(value), release, value));
  if (!t) throw Pending();
  geometry_of(t.get(), value);
  return with_bits(std::move(t), conj_neg_bits(value));
}

Tensor wrap_functional(Tensor memory, TlTensor* value, const Level& level,
                       std::shared_ptr<const FunctionalPosition> position) {
  auto entry = std::make_unique<Entry>();
  entry->level = level.serial;
  entry->kind = LevelKind::Functionalize;
  entry->number = level.number;
  entry->value = Tensor::share(value);
  entry->position = std::move(position);
  return hang(std::move(memory), std::move(entry));
}

namespace {
// What its class handles stays an object of the class, which makes the copy.
Tensor detached(TlTensor* t) {
  const TlValue arg = ::tl::autograd::value(t);
  TlValue ret = none();
  check(api->op_call_below(operator_named("detach"), TL_LAYER_AUTOGRAD, &arg, 1, &ret, 1));
  return Tensor(ret.u.t);
}
}  // namespace

Tensor memory_of(TlTensor* wrapper) { return alias(wrapper); }

Tensor alias_in_levels(TlTensor* t) {
  Tensor again = api->bits_get(t) & kPythonBit ? detached(t) : alias(t);
  const Entry* e = mutable_entry(t);
  return e ? hang(std::move(again), std::make_unique<Entry>(*e)) : again;
}

void replace_value(TlTensor* wrapper, const Entry& other) {
  Entry* e = mutable_entry(wrapper);
  e->value = other.value;
  e->dim = other.dim;
  follow_value(wrapper);
}

void follow_value(TlTensor* wrapper) {
  const Entry* e = mutable_entry(wrapper);
  const TlTensor* value = e->value.get();
  Shape s;
  if (e->kind == LevelKind::Batch) {
    s = example_shape(value, e->dim);
  } else {
    s.n = static_cast<size_t>(api->tensor_ndim(value));
    std::copy_n(api->tensor_sizes(value), s.n, s.sizes.begin());
    std::copy_n(api->tensor_strides(value), s.n, s.strides.begin());
  }
  check(api->tensor_assume(wrapper, e->value.get(), static_cast<int>(s.n), s.sizes.data(), s.strides.data(),
                           api->tensor_offset(value)));
}

void set_functional(TlTensor* wrapper, Tensor value, std::shared_ptr<const FunctionalPosition> position) {
  Entry* e = mutable_entry(wrapper);
  e->value = std::move(value);
  e->position = std::move(position);
}

}  // namespace tl::autograd
