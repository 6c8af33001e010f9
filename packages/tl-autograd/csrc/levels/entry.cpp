#include "levels/entry.h"

#include <algorithm>
#include <memory>

#include "ops.h"
#include "view.h"

namespace tl::autograd {

namespace {
void destroy(void* data) { delete static_cast<Entry*>(data); }
const TlSlotType kSlotType{destroy, nullptr, nullptr};

Entry* mutable_entry(const TlTensor* t) {
  if (!(api->bits_get(t) & kTransformsBit)) return nullptr;
  return static_cast<Entry*>(api->slot_get(t, TL_LAYER_TRANSFORMS));
}

Tensor hang(Tensor t, std::unique_ptr<Entry> entry) {
  uint64_t bits = kTransformsBit;
  if (entry->level && entry->kind == LevelKind::Grad) bits |= kUnwrapBit;
  if (entry->level && (entry->kind == LevelKind::Batch || api->bits_get(entry->value.get()) & kBatchBit))
    bits |= kBatchBit;
  check(api->slot_set(t.get(), TL_LAYER_TRANSFORMS, entry.get(), &kSlotType));
  entry.release();
  api->bits_set(t.get(), bits, 1);
  return t;
}

Tensor alias(TlTensor* t) {
  Tensor again(api->tensor_alias(t));
  if (!again) throw Pending();
  return again;
}

struct Shape {
  std::vector<int64_t> sizes, strides;
};

Shape example_shape(const TlTensor* value, int64_t dim) {
  const int n = api->tensor_ndim(value);
  Shape s{{api->tensor_sizes(value), api->tensor_sizes(value) + n},
          {api->tensor_strides(value), api->tensor_strides(value) + n}};
  s.sizes.erase(s.sizes.begin() + dim);
  s.strides.erase(s.strides.begin() + dim);
  return s;
}

Tensor kernel_call(const char* name, std::initializer_list<TlValue> args) {
  TlValue ret = none();
  check(api->op_call_below(operator_named(name), TL_LAYER_SPARSE, args.begin(), static_cast<int>(args.size()),
                           &ret, 1));
  return Tensor(ret.u.t);
}

// The first example, whose memory nobody reads; of an empty batch, memory of its own.
Tensor first_example(TlTensor* value, int64_t dim) {
  const Shape s = example_shape(value, dim);
  const size_t n = s.sizes.size();
  if (api->tensor_sizes(value)[dim] == 0 || is_sparse(value)) {
    Tensor t(api->tensor_empty(static_cast<int>(n), s.sizes.data(), api->tensor_dtype(value),
                               api->tensor_device(value)));
    if (!t) throw Pending();
    return t;
  }
  Tensor whole = alias(value);
  Tensor t = kernel_call("as_strided",
                         {::tl::autograd::value(whole), ints(s.sizes.data(), n), ints(s.strides.data(), n),
                          ::tl::autograd::value(api->tensor_offset(value))});
  if (conj_neg_bits(value) & TL_MARK_CONJUGATED) t = kernel_call("_conj", {::tl::autograd::value(t)});
  if (conj_neg_bits(value) & TL_MARK_NEGATED) t = kernel_call("_neg_view", {::tl::autograd::value(t)});
  check(api->tensor_set_view_base(t.get(), nullptr));
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
    if (found.level == level.serial) return found.tensor.get();
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

void set_tangent(TlTensor* t, const Level& level, Tensor tangent) {
  Entry* e = mutable_entry(t);
  if (!e) {
    hang(Tensor::share(t), std::make_unique<Entry>());
    e = mutable_entry(t);
  }
  std::erase_if(e->tangents,
                [&](const Entry::Tangent& old) { return !level_of(old.level) || old.level == level.serial; });
  e->tangents.push_back({level.serial, std::move(tangent)});
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

Tensor alias_in_levels(TlTensor* t) {
  Tensor again = alias(t);
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
  Shape s{{}, {}};
  const int n = api->tensor_ndim(value);
  if (e->kind == LevelKind::Batch) {
    s = example_shape(value, e->dim);
  } else {
    s.sizes.assign(api->tensor_sizes(value), api->tensor_sizes(value) + n);
    s.strides.assign(api->tensor_strides(value), api->tensor_strides(value) + n);
  }
  // Other memory: the wrapper keeps what it has, of which nobody reads an element, and has the sizes alone.
  const bool moved = api->tensor_storage_id(value) != api->tensor_storage_id(wrapper);
  if (moved) std::fill(s.strides.begin(), s.strides.end(), 0);
  const int64_t offset = moved ? api->tensor_offset(wrapper) : api->tensor_offset(value);
  const bool same = same_shape(wrapper, s.sizes.size(), s.sizes.data()) &&
                    std::equal(s.strides.begin(), s.strides.end(), api->tensor_strides(wrapper)) &&
                    api->tensor_offset(wrapper) == offset;
  if (same) return;
  kernel_call("as_strided_",
              {::tl::autograd::value(wrapper), ints(s.sizes.data(), s.sizes.size()),
               ints(s.strides.data(), s.strides.size()), ::tl::autograd::value(api->tensor_offset(value))});
}

}  // namespace tl::autograd
