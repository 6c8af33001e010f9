// Gradient buckets: filled as gradients arrive, reduced in the order of their numbers during the backward.
#include "ddp/reducer.h"

#include <algorithm>
#include <utility>

namespace tl::distributed {

namespace {
void call(const TlOperator* op, std::initializer_list<TlValue> args) {
  TlValue ret = none();
  check(api().op_call(op, args.begin(), static_cast<int>(args.size()), &ret, 1));
  api().value_release(&ret);
}

void divide_into(const Tensor& out, const Tensor& from, int64_t divisor) {
  static const TlOperator* const op = check(api().op_find("div.out"));
  call(op, {value(from), value(divisor), value(out)});
}

void copy_into(const Tensor& out, const Tensor& from) {
  static const TlOperator* const op = check(api().op_find("copy_"));
  call(op, {value(out), value(from), value(false)});
}

void fill_zero(const Tensor& out) {
  static const TlOperator* const op = check(api().op_find("zero_"));
  call(op, {value(out)});
}

Tensor clone(const Tensor& tensor) {
  static const Operator op = Operator::find("clone");
  return op(tensor, none()).tensor();
}

Tensor new_empty(const Tensor& like, int64_t count) {
  static const Operator op = Operator::find("new_empty");
  return op(like, Span(&count, 1), none(), none(), none(), none()).tensor();
}

// A dense view of a run of elements. On the CPU its version counter is its own, so that a write to one
// gradient does not invalidate the saved values of another one.
Tensor part_of(const Tensor& flat, int64_t offset, Span sizes) {
  std::vector<int64_t> strides(static_cast<size_t>(sizes.size()), 1);
  for (int i = sizes.size() - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] =
        strides[static_cast<size_t>(i) + 1] * std::max<int64_t>(sizes[i + 1], 1);
  char* data = static_cast<char*>(flat.data());
  if (TL_DEVICE_TYPE(flat.device()) != TL_DEVICE_CPU || !data) {
    static const Operator as_strided = Operator::find("as_strided");
    return as_strided(flat, sizes, Span(strides), offset).tensor();
  }
  auto* owner = new Tensor(flat);
  return Tensor::adopt(check(api().tensor_from_memory(
      data + offset * size_of_dtype(flat.dtype()), sizes.size(), sizes.data(), strides.data(), flat.dtype(),
      kCpu, [](void* ctx) { delete static_cast<Tensor*>(ctx); }, owner)));
}
}  // namespace

Reducer::Reducer(std::shared_ptr<Group> group, std::vector<Tensor> parameters, std::vector<BucketPlan> plans,
                 ReducerOptions options)
    : group_(std::move(group)),
      parameters_(std::move(parameters)),
      options_(options),
      divisor_(options.size),
      bucket_of_(parameters_.size()),
      ready_(parameters_.size(), 0),
      accumulated_(parameters_.size(), 0) {
  for (BucketPlan& plan : plans) {
    for (size_t p : plan.parameters) bucket_of_[p] = buckets_.size();
    buckets_.push_back({std::move(plan), {}, {}, 0, {}});
  }
}

void Reducer::prepare(std::vector<size_t> unused) {
  expecting_ = true;
  unused_ = std::move(unused);
  next_ = n_ready_ = 0;
  std::fill(ready_.begin(), ready_.end(), 0);
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.plan.parameters.size();
    bucket.task.reset();
  }
}

std::vector<size_t> Reducer::missing() const {
  std::vector<size_t> parameters;
  if (!expecting_ || n_ready_ == 0) return parameters;
  for (size_t p = 0; p < ready_.size(); ++p)
    if (!ready_[p]) parameters.push_back(p);
  return parameters;
}

bool Reducer::mark(size_t parameter, ReducerCallbacks& callbacks) {
  if (!expecting_) {
    accumulated_[parameter] = 1;
    return true;
  }
  if (n_ready_ == 0)
    for (size_t p : unused_) set_ready(p, callbacks);
  if (ready_[parameter]) return false;
  set_ready(parameter, callbacks);
  return true;
}

void Reducer::set_ready(size_t parameter, ReducerCallbacks& callbacks) {
  ready_[parameter] = 1;
  ++n_ready_;
  --buckets_[bucket_of_[parameter]].missing;
  // All ranks reduce the buckets in the order of their numbers.
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) start(next_++, callbacks);
  if (next_ == buckets_.size()) finish(callbacks);
}

void Reducer::allocate(Bucket& bucket) const {
  int64_t count = 0;
  for (size_t p : bucket.plan.parameters) count += parameters_[p].numel();
  const Tensor& first = parameters_[bucket.plan.parameters[0]];
  bucket.flat = group_ ? group_->arena_empty(Span(&count, 1), first.dtype()) : new_empty(first, count);
  int64_t offset = 0;
  for (size_t p : bucket.plan.parameters) {
    bucket.parts.push_back(part_of(bucket.flat, offset, parameters_[p].sizes()));
    offset += parameters_[p].numel();
  }
}

void Reducer::fill(Bucket& bucket, ReducerCallbacks& callbacks) const {
  if (!bucket.flat) allocate(bucket);
  for (size_t i = 0; i < bucket.parts.size(); ++i) {
    const Tensor gradient = callbacks.gradient(bucket.plan.parameters[i]);
    if (!gradient)
      fill_zero(bucket.parts[i]);
    else if (has_hook_)
      copy_into(bucket.parts[i], gradient);
    else
      divide_into(bucket.parts[i], gradient, divisor_);
  }
}

void Reducer::start(size_t index, ReducerCallbacks& callbacks) {
  if (leaves_gradients()) return;
  Bucket& bucket = buckets_[index];
  if (!bucket.plan.is_sparse) fill(bucket, callbacks);
  if (!group_ || has_hook_ || bucket.plan.is_sparse) return callbacks.start(index, bucket.flat);
  const bool is_last = index + 1 == buckets_.size();
  callbacks.while_waiting(
      [&] { bucket.task = group_->all_reduce(bucket.flat, Reduction::kSum, -1, is_last); });
}

void Reducer::finish(ReducerCallbacks& callbacks) {
  expecting_ = false;
  if (!leaves_gradients()) {
    const std::vector<char> used = used_parameters(callbacks);
    callbacks.while_waiting([&] {
      for (Bucket& bucket : buckets_)
        if (bucket.task) group_->finish(*bucket.task);
    });
    for (Bucket& bucket : buckets_) give_back(bucket, used, callbacks);
  }
  std::fill(accumulated_.begin(), accumulated_.end(), 0);
}

std::vector<char> Reducer::used_parameters(ReducerCallbacks& callbacks) const {
  std::vector<char> used(parameters_.size(), 1);
  for (size_t p : unused_) used[p] = accumulated_[p];
  return options_.finds_unused && options_.size > 1 ? callbacks.used_anywhere(used) : used;
}

void Reducer::give_back(const Bucket& bucket, const std::vector<char>& used,
                        ReducerCallbacks& callbacks) const {
  Tensor sparse;
  if (bucket.task)
    bucket.task->rethrow();
  else
    sparse = callbacks.finish(static_cast<size_t>(&bucket - buckets_.data()));
  for (size_t i = 0; i < bucket.plan.parameters.size(); ++i) {
    const size_t p = bucket.plan.parameters[i];
    if (!used[p]) continue;
    if (bucket.plan.is_sparse) {
      callbacks.set_gradient(p, sparse);
      continue;
    }
    const Tensor gradient = callbacks.gradient(p);
    if (gradient && gradient.data() == bucket.parts[i].data()) continue;
    if (gradient && !options_.grads_are_views)
      copy_into(gradient, bucket.parts[i]);
    else
      callbacks.set_gradient(p, options_.grads_are_views ? bucket.parts[i] : clone(bucket.parts[i]));
  }
}

}  // namespace tl::distributed
