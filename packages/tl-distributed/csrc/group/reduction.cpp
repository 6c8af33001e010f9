// Reductions: binary out= operators of tl-core on views of the ranks' memory, from rank 0 on.
#include "group/reduction.h"

namespace tl::distributed {

namespace {
// Calls an out= form, whose last argument is what it writes.
void call_out(const TlOperator* op, std::initializer_list<TlValue> args) {
  TlValue ret = none();
  check(api().op_call(op, args.begin(), static_cast<int>(args.size()), &ret, 1));
  api().value_release(&ret);
}

const TlOperator* binary_operator(Reduction reduction, bool is_bool) {
  static const TlOperator* const ops[] = {check(api().op_find("add.out")),
                                          check(api().op_find("add.out")),
                                          check(api().op_find("mul.out")),
                                          check(api().op_find("minimum.out")),
                                          check(api().op_find("maximum.out")),
                                          check(api().op_find("bitwise_and.Tensor_out")),
                                          check(api().op_find("bitwise_or.Tensor_out")),
                                          check(api().op_find("bitwise_xor.Tensor_out"))};
  if (is_bool) {  // true is one: sums and maxima are true if any is, products and minima if all are
    if (reduction == Reduction::kSum || reduction == Reduction::kMax) reduction = Reduction::kOr;
    if (reduction == Reduction::kProduct || reduction == Reduction::kMin) reduction = Reduction::kAnd;
  }
  return ops[static_cast<int>(reduction)];
}

bool takes_alpha(Reduction reduction, bool is_bool) {
  return !is_bool && (reduction == Reduction::kSum || reduction == Reduction::kAverage);
}
}  // namespace

Combiner::Combiner(Reduction reduction, int64_t dtype)
    : reduction_(reduction),
      dtype_(dtype),
      is_bool_(TL_DTYPE_CODE(dtype) == TL_CODE_BOOL),
      whole_(!is_bool_ && (reduction == Reduction::kSum || reduction == Reduction::kAverage)) {}

Tensor Combiner::view(const void* data, int64_t count) const {
  const int64_t one = 1;
  return Tensor::adopt(check(api().tensor_from_memory(
      const_cast<void*>(data), 1, &count, &one, dtype_, kCpu, [](void*) {}, nullptr)));
}

Tensor Combiner::table(const char* first, int64_t pitch, int n, int64_t count) const {
  const int64_t sizes[] = {n, count}, strides[] = {pitch / size_of_dtype(dtype_), 1};
  return Tensor::adopt(check(api().tensor_from_memory(
      const_cast<char*>(first), 2, sizes, strides, dtype_, kCpu, [](void*) {}, nullptr)));
}

void Combiner::binary(const Tensor& out, const Tensor& a, const Tensor& b) const {
  const TlOperator* op = binary_operator(reduction_, is_bool_);
  if (takes_alpha(reduction_, is_bool_))
    call_out(op, {value(a), value(b), value(int64_t{1}), value(out)});
  else
    call_out(op, {value(a), value(b), value(out)});
}

void Combiner::divide(void* data, int64_t count, int n) const {
  if (count == 0) return;
  static const TlOperator* const op = check(api().op_find("div.out"));
  const Tensor out = view(data, count);
  call_out(op, {value(out), value(static_cast<int64_t>(n)), value(out)});
}

void Combiner::pair(void* out, const void* a, const void* b, int64_t count) const {
  if (count == 0) return;
  const Tensor result = view(out, count);
  binary(result, a == out ? result : view(a, count), b == out ? result : view(b, count));
  if (reduction_ == Reduction::kAverage) divide(out, count, 2);
}

void Combiner::runs(void* out, const char* first, int64_t pitch, int n, int64_t count) const {
  if (count == 0) return;
  const Tensor result = view(out, count);
  if (whole_) {
    static const TlOperator* const sum = check(api().op_find("sum.IntList_out"));
    static const TlOperator* const mean = check(api().op_find("mean.out"));
    const Tensor all = table(first, pitch, n, count);
    const int64_t dim = 0;
    call_out(reduction_ == Reduction::kSum ? sum : mean,
             {value(all), value(Span(&dim, 1)), value(false), dtype_value(dtype_), value(result)});
    return;
  }
  binary(result, view(first, count), view(first + pitch, count));
  for (int i = 2; i < n; ++i) binary(result, result, view(first + i * pitch, count));
}

}  // namespace tl::distributed
