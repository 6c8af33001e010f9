// Gradient buckets: filled as gradients come, all-reduced in the order of their numbers during the backward.
#include "ddp/reducer.h"

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

// A dense tensor in the memory of another one, which it keeps.
Tensor part_of(const Tensor& flat, char* data, Span sizes) {
  std::vector<int64_t> strides(static_cast<size_t>(sizes.size()), 1);
  for (int i = sizes.size() - 2; i >= 0; --i)
    strides[static_cast<size_t>(i)] =
        strides[static_cast<size_t>(i) + 1] * std::max<int64_t>(sizes[i + 1], 1);
  auto* owner = new Tensor(flat);
  return Tensor::adopt(check(api().tensor_from_memory(
      data, sizes.size(), sizes.data(), strides.data(), flat.dtype(), kCpu,
      [](void* ctx) { delete static_cast<Tensor*>(ctx); }, owner)));
}
}  // namespace

Reducer::Reducer(std::shared_ptr<Group> group, std::vector<Tensor> parameters,
                 std::vector<std::vector<size_t>> buckets, int64_t divisor, bool grads_are_views)
    : group_(std::move(group)),
      parameters_(std::move(parameters)),
      bucket_of_(parameters_.size()),
      ready_(parameters_.size(), 0),
      divisor_(divisor),
      grads_are_views_(grads_are_views) {
  for (const auto& each : buckets) build(each);
}

void Reducer::build(const std::vector<size_t>& parameters) {
  Bucket bucket;
  bucket.parameters = parameters;
  int64_t count = 0;
  for (size_t p : parameters) count += parameters_[p].numel();
  const int64_t dtype = parameters_[parameters[0]].dtype();
  bucket.flat = group_->arena_empty(Span(&count, 1), dtype);
  char* data = static_cast<char*>(bucket.flat.data());
  for (size_t p : parameters) {
    bucket.parts.push_back(part_of(bucket.flat, data, parameters_[p].sizes()));
    data += parameters_[p].numel() * size_of_dtype(dtype);
    bucket_of_[p] = buckets_.size();
  }
  buckets_.push_back(std::move(bucket));
}

void Reducer::prepare() {
  expecting_ = true;
  next_ = n_ready_ = 0;
  std::fill(ready_.begin(), ready_.end(), 0);
  for (Bucket& bucket : buckets_) {
    bucket.missing = bucket.parameters.size();
    bucket.task.reset();
  }
}

std::vector<size_t> Reducer::missing() const {
  std::vector<size_t> found;
  if (!expecting_ || n_ready_ == 0) return found;
  for (size_t p = 0; p < ready_.size(); ++p)
    if (!ready_[p]) found.push_back(p);
  return found;
}

bool Reducer::mark(size_t parameter, Gradients& gradients) {
  if (ready_[parameter]) return false;
  ready_[parameter] = 1;
  ++n_ready_;
  --buckets_[bucket_of_[parameter]].missing;
  // All ranks reduce the buckets in the order of their numbers.
  while (next_ < buckets_.size() && buckets_[next_].missing == 0) start(buckets_[next_++], gradients);
  if (next_ == buckets_.size()) finish(gradients);
  return true;
}

void Reducer::start(Bucket& bucket, Gradients& gradients) {
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    const Tensor gradient = gradients.get(bucket.parameters[i]);
    if (gradient)
      divide_into(bucket.parts[i], gradient, divisor_);
    else
      fill_zero(bucket.parts[i]);
  }
  const bool last = next_ == buckets_.size();
  gradients.while_waiting([&] { bucket.task = group_->all_reduce(bucket.flat, Reduction::kSum, -1, last); });
}

void Reducer::finish(Gradients& gradients) {
  gradients.while_waiting([&] {
    for (Bucket& bucket : buckets_) group_->finish(*bucket.task);
  });
  expecting_ = false;
  for (Bucket& bucket : buckets_) {
    bucket.task->rethrow();
    give_back(bucket, gradients);
  }
}

void Reducer::give_back(Bucket& bucket, Gradients& gradients) const {
  for (size_t i = 0; i < bucket.parameters.size(); ++i) {
    const size_t p = bucket.parameters[i];
    const Tensor gradient = gradients.get(p);
    if (gradient && gradient.data() == bucket.parts[i].data()) continue;
    if (grads_are_views_) {
      gradients.set(p, bucket.parts[i]);
    } else if (gradient) {
      copy_into(gradient, bucket.parts[i]);
    } else {
      const Tensor made = Tensor::empty(parameters_[p].sizes(), parameters_[p].dtype());
      copy_into(made, bucket.parts[i]);
      gradients.set(p, made);
    }
  }
}

}  // namespace tl::distributed
