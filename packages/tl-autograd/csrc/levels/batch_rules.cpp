// The generic ways of batching: elementwise, by roles of arguments, leading dimensions, one example after the
// other.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "levels/batch.h"
#include "ops.h"

namespace tl::autograd {

void (*warn_of_loop)(const char* op) = nullptr;

std::vector<int64_t> sizes_of(const TlTensor* t) {
  return {api->tensor_sizes(t), api->tensor_sizes(t) + api->tensor_ndim(t)};
}

Tensor reshaped(const Tensor& t, const std::vector<int64_t>& sizes) {
  static const TlOperator* op = operator_named("reshape");
  if (same_shape(t.get(), sizes.size(), sizes.data())) return t;
  return call_one(op, {value(t), ints(sizes.data(), sizes.size())});
}

Tensor with_ones(Tensor t, int64_t at, int64_t count) {
  static const TlOperator* op = operator_named("unsqueeze");
  for (; count > 0; --count) t = call_one(op, {value(t), value(at)});
  return t;
}

namespace {
int ndim(const TlTensor* t) { return api->tensor_ndim(t); }

Tensor expand_to(const Tensor& t, const std::vector<int64_t>& sizes) {
  static const TlOperator* op = operator_named("expand");
  return call_one(op, {value(t), ints(sizes.data(), sizes.size()), value(false)});
}

// The type to which the call without batches promotes its tensors.
int64_t promoted_dtype(const Rule& rule, const TlValue* args, int n_args) {
  std::vector<TlValue> tensors;
  each_tensor(args, n_args, [&](TlTensor* t, int i) {
    if (!(rule.silent >> i & 1)) tensors.push_back(value(t));
  });
  const int64_t dtype = api->common_dtype(tensors.data(), static_cast<int>(tensors.size()));
  if (dtype < 0) throw Pending();
  return dtype;
}

// A batch has no channels behind its first dimension. Where memory is copied that may be seen, elsewhere not.
void plain_memory_format(const Rule& r, Arguments& a) {
  for (int i = 0; i < a.size(); ++i) {
    if (a[i].tag != TL_MEMORY_FORMAT || a[i].u.i < TL_CHANNELS_LAST) continue;
    if (!std::strcmp(r.info->name, "clone"))
      fail(TL_ERROR_RUNTIME,
           "vmap: clone is only supported with memory_format torch.preserve_format or "
           "torch.contiguous_format");
    a[i].u.i = TL_PRESERVE;
  }
}
}  // namespace

Tensor BatchCall::moved(TlTensor* t) const {
  const Entry* e = entry_of(t);
  if (!e || e->level != level.serial) return {};
  if (e->dim == 0) return e->value;
  static const TlOperator* permute = operator_named("permute");
  std::vector<int64_t> order{e->dim};
  for (int64_t d = 0; d < ndim(e->value.get()); ++d)
    if (d != e->dim) order.push_back(d);
  return call_one(permute, {value(e->value), ints(order.data(), order.size())});
}

Tensor BatchCall::expanded(TlTensor* t) const {
  if (Tensor own = moved(t)) return own;
  std::vector<int64_t> sizes = sizes_of(t);
  sizes.insert(sizes.begin(), size);
  return expand_to(Tensor::share(t), sizes);
}

void BatchCall::elementwise(const TlOperator* op, Results& out) {
  int rank = 0;
  each_tensor(args, n_args, [&](TlTensor* t, int) { rank = std::max(rank, ndim(t)); });
  std::optional<int64_t> dtype;  // the promoted type, computed for the first number
  Arguments a(args, n_args);
  a.replace([&](TlTensor* t, int i) {
    Tensor v = moved(t);
    if (!v) return v;
    // A number lifts only the category of the type. Its batch has dimensions and would lift the type itself.
    if (ndim(t) == 0 && !rule.writes() && !(rule.silent >> i & 1)) {
      if (!dtype) dtype = promoted_dtype(rule, args, n_args);
      if (*dtype != api->tensor_dtype(t)) v = converted(v.get(), *dtype, api->tensor_device(t));
    }
    return with_ones(std::move(v), 1, rank - ndim(t));
  });
  plain_memory_format(rule, a);
  call(op, a.data(), n_args, out.data(), out.n);
}

// ---- by the roles of arguments ----------------------------------------------------------------------------

namespace {
[[noreturn]] void fail_range(int64_t dim, int64_t n) {
  const int64_t m = std::max<int64_t>(n, 1);
  fail(TL_ERROR_INDEX, "Dimension out of range (expected to be in range of [" + std::to_string(-m) + ", " +
                           std::to_string(m - 1) + "], but got " + std::to_string(dim) + ")");
}

int64_t shifted(int64_t dim, int64_t n) {
  const int64_t m = std::max<int64_t>(n, 1);
  if (dim < -m || dim >= m) fail_range(dim, n);
  return (dim < 0 ? dim + m : dim) + 1;
}

bool adds_dimension(const TlOperatorInfo& info) {
  static const char* const kNames[] = {"unsqueeze", "unsqueeze_copy", "stack", "diag_embed"};
  return std::any_of(std::begin(kNames), std::end(kNames),
                     [&](const char* n) { return !std::strcmp(info.name, n); });
}

// A vector without elements joins tensors of any rank.
bool skipped_by_cat(TlTensor* t) { return ndim(t) == 1 && api->tensor_sizes(t)[0] == 0; }

class DimsCall {
 public:
  DimsCall(BatchCall& c, const TlOperator* op) : c_(c), info_(*api->op_info(op)), a_(c.args, c.n_args) {
    extended_ = adds_dimension(info_);
    for (int i = 0; i < c.n_args; ++i)
      asks_dim_ |=
          c.rule.role(i) == TL_ROLE_DIM || c.rule.role(i) == TL_ROLE_DIMS || c.rule.role(i) == TL_ROLE_SOME;
    joins_ = !std::strcmp(info_.name, "cat");
    each_tensor(c.args, c.n_args, [&](TlTensor* t, int) {
      if (shaped_) return;
      n_ = ndim(t) + extended_;
      if (!joins_ || !skipped_by_cat(t)) shaped_ = t;
    });
    for (int i = 0; i < c.n_args; ++i) {
      if (!std::strcmp(argument_info(info_, i).name, "input_sizes")) n_ = c.args[i].len;
      has_index_ |= !std::strcmp(argument_info(info_, i).name, "index") && c.args[i].tag == TL_TENSOR;
    }
  }

  void run(const TlOperator* op, Results& out) {
    const bool lift = asks_dim_ && !extended_ && (n_ == 0 || has_index_);
    const bool reduced = !std::strcmp(info_.name, "unsum") && a_[3].u.i == 0;
    a_.replace([&](TlTensor* t, int) {
      Tensor v = c_.expanded(t);
      if (joins_ && n_ != 1 && skipped_by_cat(t)) return of_no_part(v);
      if (!lift || ndim(t) != 0) return v;
      if (reduced) {
        lifted_ = true;
        return v;
      }
      lifted_ |= true;
      return with_ones(std::move(v), 1, 1);
    });
    for (int i = 0; i < c_.n_args; ++i) shift(i);
    if (all_) flatten();
    call(op, a_.data(), c_.n_args, out.data(), out.n);
    if (lifted_ && n_ == 0)
      for (int i = 0; i < out.n; ++i) lower(out[i]);
    else if (all_ && keeps())
      for (int i = 0; i < out.n; ++i) spread(out[i]);
  }

 private:
  // Nothing, in the sizes of what it joins.
  Tensor of_no_part(const Tensor& empty) const {
    std::vector<int64_t> sizes = sizes_of(shaped_);
    sizes.insert(sizes.begin(), c_.size);
    sizes[static_cast<size_t>(shifted(c_.args[1].u.i, n_))] = 0;
    return reshaped(empty, sizes);
  }

  void shift(int i) {
    TlValue& v = a_[i];
    switch (c_.rule.role(i)) {
      case TL_ROLE_DIM:
        if (v.tag == TL_INT) v.u.i = shifted(v.u.i, n_);
        if (v.tag == TL_NONE) {
          all_ = true;
          v = value(int64_t{1});
        }
        break;
      case TL_ROLE_DIMS:
      case TL_ROLE_SOME:
        shift_list(v, c_.rule.role(i) == TL_ROLE_DIMS);
        break;
      case TL_ROLE_SIZES:
        if (v.tag == TL_INT_LIST) put_batch(v);
        break;
      default:
        break;
    }
  }

  void shift_list(TlValue& v, bool none_are_all) {
    const bool all = none_are_all && (v.tag == TL_NONE || v.len == 0);
    const auto n = static_cast<size_t>(all ? std::max<int64_t>(n_, 1) : v.len);
    auto* given = static_cast<const int64_t*>(v.u.p);
    int64_t* dims = a_.new_ints(n);
    for (size_t k = 0; k < n; ++k) dims[k] = all ? static_cast<int64_t>(k) + 1 : shifted(given[k], n_);
    v = ints(dims, n);
  }

  void put_batch(TlValue& v) {
    auto* given = static_cast<const int64_t*>(v.u.p);
    const size_t more = lifted_ && v.len == 0 ? 2 : 1;
    int64_t* sizes = a_.new_ints(v.len + more);
    sizes[0] = c_.size;
    sizes[1] = 1;
    std::copy_n(given, v.len, sizes + 1);
    v = ints(sizes, v.len + more);
  }

  // Without a dimension, all elements of an example are one.
  void flatten() {
    for (int i = 0; i < c_.n_args; ++i) {
      if (a_[i].tag != TL_TENSOR) continue;
      const int64_t n = c_.size ? api->tensor_numel(a_[i].u.t) / c_.size : 0;
      a_[i].u.t = a_.hold(reshaped(Tensor::share(a_[i].u.t), {c_.size, n}));
      return;
    }
  }
  bool keeps() {
    for (int i = 0; i < c_.n_args; ++i)
      if (!std::strcmp(argument_info(info_, i).name, "keepdim")) return a_[i].u.i != 0;
    return false;
  }
  void spread(TlValue& v) {
    std::vector<int64_t> sizes(static_cast<size_t>(n_) + 1, 1);
    sizes[0] = c_.size;
    if (v.tag == TL_TENSOR) v.u.t = reshaped(Tensor(v.u.t), sizes).take();
  }

  static void lower(TlValue& v) {
    if (v.tag != TL_TENSOR || ndim(v.u.t) < 2) return;
    std::vector<int64_t> sizes = sizes_of(v.u.t);
    if (sizes[1] != 1) return;
    sizes.erase(sizes.begin() + 1);
    Tensor low = reshaped(Tensor(v.u.t), sizes);
    v.u.t = low.take();
  }

  BatchCall& c_;
  const TlOperatorInfo& info_;
  Arguments a_;
  TlTensor* shaped_ = nullptr;  // the first tensor, in `cat` the first that isn't skipped
  int64_t n_ = 0;               // its logical dimensions
  bool joins_ = false, extended_ = false, asks_dim_ = false, lifted_ = false, has_index_ = false,
       all_ = false;
};
// The dimensions of one example of an argument: matrices, except for those that rows of decompositions name
// as vectors and numbers.
int example_dims(std::string_view name) {
  if (name == "grad" || name == "value") return 0;
  return name == "weights" || name == "S" || name.find("pivots") != name.npos ? 1 : 2;
}
}  // namespace

void BatchCall::dims(const TlOperator* op, Results& out) { DimsCall(*this, op).run(op, out); }

void BatchCall::front(const TlOperator* op, Results& out) {
  const auto own = [&](int i) { return example_dims(argument_info(*rule.info, i).name); };
  int lead = 0;
  each_tensor(args, n_args, [&](TlTensor* t, int i) { lead = std::max(lead, ndim(t) - own(i)); });
  Arguments a(args, n_args);
  a.replace([&](TlTensor* t, int i) {
    Tensor v = expanded(t);
    return ndim(t) >= own(i) ? with_ones(std::move(v), 1, lead - (ndim(t) - own(i))) : v;
  });
  call(op, a.data(), n_args, out.data(), out.n);
}

// Batch and samples become one dimension, [B, N, ...] to [B * N, ...]: for operators that treat each sample
// on its own. Results are taken apart again.
void BatchCall::fold(const TlOperator* op, Results& out) {
  int64_t samples = 1;
  size_t shared_mask = 0;  // dimensions of a mask that all samples share
  each_tensor(args, n_args, [&](TlTensor* t, int) {
    if (ndim(t) > 0) samples = std::max(samples, api->tensor_sizes(t)[0]);
  });
  Arguments a(args, n_args);
  a.replace([&](TlTensor* t, int i) {
    Tensor v = expanded(t);
    if (ndim(t) == 0) return v;
    std::vector<int64_t> sizes = sizes_of(v.get());
    if (sizes[1] == 1 && samples > 1 && !std::strcmp(argument_info(*rule.info, i).name, "mask")) {
      shared_mask = sizes.size();
      sizes[1] = samples;
      v = expand_to(v, sizes);
    }
    sizes[1] *= sizes[0];
    sizes.erase(sizes.begin());
    return reshaped(v, sizes);
  });
  for (int i = 0; i < n_args; ++i) {
    if (rule.role(i) != TL_ROLE_SIZES || a[i].tag != TL_INT_LIST || a[i].len == 0) continue;
    int64_t* sizes = a.new_ints(a[i].len);
    std::copy_n(static_cast<const int64_t*>(a[i].u.p), a[i].len, sizes);
    sizes[0] *= size;
    a[i].u.p = sizes;
  }
  call(op, a.data(), n_args, out.data(), out.n);
  for (int i = 0; i < out.n; ++i) {
    if (out[i].tag != TL_TENSOR) continue;
    std::vector<int64_t> sizes = sizes_of(out[i].u.t);
    if (sizes.empty()) continue;
    sizes[0] = size ? sizes[0] / size : 0;
    sizes.insert(sizes.begin(), size);
    Tensor apart = reshaped(Tensor(out[i].u.t), sizes);
    if (i == out.n - 1 && sizes.size() == shared_mask) {  // its gradient, which a backward gives last
      sizes[1] = 1;
      apart = sum_to_size(apart.get(), sizes.size(), sizes.data());
    }
    out[i].u.t = apart.take();
  }
}

namespace {
struct Ranks {
  const char* op;
  int first;     // the argument with the first rank
  int ranks[2];  // of it and of the next
};
// Products, whose rules are written with matmul: that takes what these refuse.
const Ranks kRanks[] = {{"mm", 0, {2, 2}},    {"bmm", 0, {3, 3}},     {"mv", 0, {2, 1}},   {"dot", 0, {1, 1}},
                        {"addmm", 1, {2, 2}}, {"baddbmm", 1, {3, 3}}, {"addmv", 1, {2, 1}}};

void check_ranks(const Rule& r, const TlValue* args) {
  for (const Ranks& known : kRanks) {
    if (std::strcmp(r.info->name, known.op) != 0) continue;
    const int a = ndim(args[known.first].u.t), b = ndim(args[known.first + 1].u.t);
    if (a == known.ranks[0] && b == known.ranks[1]) continue;
    fail(TL_ERROR_RUNTIME, std::string("Shape mismatch: vmap over ") + known.op + " takes examples of " +
                               std::to_string(known.ranks[0]) + " and " + std::to_string(known.ranks[1]) +
                               " dimensions, but got " + std::to_string(a) + " and " + std::to_string(b));
  }
}

// The last element that a geometry reaches, counted from the storage's first; -1: it has none.
int64_t last_element(const int64_t* sizes, const int64_t* strides, size_t n, int64_t offset) {
  for (size_t d = 0; d < n; ++d) {
    if (sizes[d] == 0) return -1;
    offset += (sizes[d] - 1) * strides[d];
  }
  return offset;
}

// Each example's view must stay inside of that example: then one view of the batch is all of theirs.
void check_as_strided(const BatchCall& c) {
  if (std::strcmp(c.rule.info->name, "as_strided") != 0) return;
  const TlValue &size = c.args[1], &stride = c.args[2];
  if (size.len != stride.len)
    fail(TL_ERROR_RUNTIME, "as_strided: size and stride must have the same length, but got " +
                               std::to_string(size.len) + " and " + std::to_string(stride.len));
  const Tensor whole = c.moved(c.args[0].u.t);
  const int64_t *sizes = api->tensor_sizes(whole.get()), *strides = api->tensor_strides(whole.get());
  const auto n = static_cast<size_t>(ndim(whole.get()));
  const bool innermost =
      levels().begun.back() == &c.level;  // further out, other batches are among the dimensions
  if (c.level.is_older && innermost && n > 1 && strides[0] < *std::max_element(strides + 1, strides + n))
    fail(
        TL_ERROR_RUNTIME,
        "vmap: as_strided is only supported where the batch dims being vmapped over are at the front of the "
        "tensor (in memory layout): otherwise its strides would count elements of other examples. Express it "
        "by other views.");
  const int64_t base = api->tensor_offset(whole.get());
  const int64_t offset = c.args[3].tag == TL_INT ? c.args[3].u.i : base;
  const int64_t last = last_element(static_cast<const int64_t*>(size.u.p),
                                    static_cast<const int64_t*>(stride.u.p), size.len, offset);
  const int64_t own_last = last_element(sizes + 1, strides + 1, n - 1, base);
  if (last >= 0 && (offset < base || last > own_last))
    fail(TL_ERROR_RUNTIME,
         "vmap: as_strided can access memory outside of `tensor`: it reaches from element " +
             std::to_string(offset) + " to " + std::to_string(last) + " of the storage, an example from " +
             std::to_string(base) + " to " + std::to_string(own_last) +
             ". This is not supported inside of vmap, please rewrite it as a sequence of other views.");
}
}  // namespace

void BatchCall::formula(Results& out) {
  check_ranks(rule, args);
  check_as_strided(*this);
  Arguments a(args, n_args);
  a.replace([&](TlTensor* t, int i) {
    Tensor v = moved(t);
    return v || (rule.row->as_they_are >> i & 1) ? v : expanded(t);
  });
  FormulaInputs in{a.data(), nullptr, 0, {}, {}};
  in.extra.push_back(value(size));
  for (int i = 0; i < n_args; ++i) in.extra.push_back(value(batched(i)));
  run_formula(*rule.batch, in, out.data(), out.n);
}

// ---- one example after the other --------------------------------------------------------------------------

namespace {
Tensor example(const Tensor& whole, int64_t i) {
  static const TlOperator* select = operator_named("select.int");
  return call_one(select, {value(whole), value(int64_t{0}), value(i)});
}

Tensor stacked(const std::vector<TlTensor*>& tensors) {
  static const TlOperator* stack = operator_named("stack");
  return call_one(stack, {{TL_TENSOR_LIST, static_cast<uint32_t>(tensors.size()), {.p = tensors.data()}},
                          value(int64_t{0})});
}

// The results of all examples, put together.
TlValue together(std::vector<std::unique_ptr<Results>>& each, int ret) {
  const TlValue& first = (*each[0])[ret];
  if (first.tag == TL_NONE) return none();
  if (first.tag == TL_TENSOR) {
    std::vector<TlTensor*> tensors;
    for (auto& r : each) tensors.push_back((*r)[ret].u.t);
    return {TL_TENSOR, 0, {.t = stacked(tensors).take()}};
  }
  if (first.tag != TL_TENSOR_LIST)
    fail(TL_ERROR_RUNTIME, "vmap: a result that is no tensor cannot be batched");
  std::vector<Tensor> whole;
  for (uint32_t k = 0; k < first.len; ++k) {
    std::vector<TlTensor*> tensors;
    for (auto& r : each) tensors.push_back(static_cast<TlTensor* const*>((*r)[ret].u.p)[k]);
    whole.push_back(stacked(tensors));
  }
  std::vector<TlTensor*> list;
  for (const Tensor& t : whole) list.push_back(t.get());
  const TlValue borrowed{TL_TENSOR_LIST, first.len, {.p = list.data()}};
  TlValue owned = none();
  check(api->value_own(&borrowed, &owned));
  return owned;
}
}  // namespace

void BatchCall::loop(const TlOperator* op, Results& out) {
  if (warn_of_loop) warn_of_loop(rule.info->name);
  if (size == 0)
    fail(TL_ERROR_RUNTIME,
         std::string("vmap: ") + rule.info->name +
             " goes through the batch one example after the other, and this batch is empty");
  std::vector<std::unique_ptr<Results>> each;
  for (int64_t b = 0; b < size; ++b) {
    Arguments a(args, n_args);
    a.replace([&](TlTensor* t, int) {
      Tensor v = moved(t);
      return v ? example(v, b) : v;
    });
    each.push_back(std::make_unique<Results>(out.n));
    call(op, a.data(), n_args, each.back()->data(), out.n);
  }
  for (int i = 0; i < out.n; ++i) out[i] = together(each, i);
}

void BatchCall::loop_writing(TlValue* rets, int n_rets) {
  if (warn_of_loop) warn_of_loop(rule.info->name);
  for (int64_t b = 0; b < size; ++b) {
    Arguments a(args, n_args);
    a.replace([&](TlTensor* t, int) {
      Tensor v = moved(t);
      return v ? example(v, b) : v;
    });
    Results made(n_rets);
    call(rule.op, a.data(), n_args, made.data(), n_rets);
  }
  give_written(*rule.info, args, rets, n_rets);
}

// ---- random numbers ---------------------------------------------------------------------------------------

void BatchCall::refuse_random() {
  fail(TL_ERROR_RUNTIME,
       std::string("vmap: ") + rule.info->name +
           ": cannot ask for different inplace randomness on an unbatched tensor. This will appear "
           "like same randomness. If this is necessary for your usage, please file an issue with "
           "functorch.");
}

namespace {
bool makes_from_sizes(const Rule& r, int n_args) {
  for (int i = 0; i < n_args; ++i)
    if (r.role(i) == TL_ROLE_SIZES) return true;
  return false;
}
}  // namespace

void BatchCall::random(const TlOperator* op, Results& out) {
  const bool same = level.randomness == Randomness::Same;
  if (same && rule.writes()) {
    // One example's numbers for all.
    Tensor whole = moved(args[rule.written].u.t);
    Arguments a(args, n_args);
    Tensor one = clone(example(whole, 0).get());
    a[rule.written].u.t = one.get();
    call(op, a.data(), n_args, out.data(), out.n);
    copy_into(whole.get(), one.get());
    return;
  }
  bool tensors = false;
  each_tensor(args, n_args, [&](TlTensor*, int) { tensors = true; });
  if (same) return same_for_all(op, out);
  if (!tensors && !makes_from_sizes(rule, n_args)) return loop_random(op, out);
  Arguments a(args, n_args);
  a.replace([&](TlTensor* t, int) { return expanded(t); });
  for (int i = 0; i < n_args; ++i) {
    if (rule.role(i) != TL_ROLE_SIZES || a[i].tag != TL_INT_LIST) continue;
    int64_t* sizes = a.new_ints(a[i].len + 1);
    sizes[0] = size;
    std::copy_n(static_cast<const int64_t*>(a[i].u.p), a[i].len, sizes + 1);
    a[i] = ints(sizes, a[i].len + 1);
  }
  plain_memory_format(rule, a);
  call(op, a.data(), n_args, out.data(), out.n);
}

// Draws for each example in turn.
void BatchCall::loop_random(const TlOperator* op, Results& out) {
  std::vector<std::unique_ptr<Results>> each;
  for (int64_t b = 0; b < size; ++b) {
    each.push_back(std::make_unique<Results>(out.n));
    call(op, args, n_args, each.back()->data(), out.n);
  }
  for (int i = 0; i < out.n; ++i) out[i] = together(each, i);
}

// What is drawn depends on the shape alone: one example's numbers for all.
void BatchCall::same_for_all(const TlOperator* op, Results& out) {
  const std::string name = rule.info->name;
  const bool dropout = name == "native_dropout";
  if (!dropout && name.find("_like") == std::string::npos)
    fail(TL_ERROR_RUNTIME, "Vmap does not currently support same randomness with a batched tensor input (" +
                               name + "). Please use randomness='different' or draw outside of vmap.");
  Tensor whole = moved(args[0].u.t);
  Tensor one = example(whole, 0);
  Arguments a(args, n_args);
  if (dropout) one = ones_like(one.get());
  a[0].u.t = one.get();
  call(op, a.data(), n_args, out.data(), out.n);
  for (int i = 0; i < out.n; ++i) {
    const Tensor drawn(out[i].u.t);
    out[i] = none();
    Tensor all =
        dropout && i == 0 ? multiplied(value(whole), value(drawn)) : expand_to(drawn, sizes_of(whole.get()));
    out[i] = {TL_TENSOR, 0, {.t = all.take()}};
  }
}

}  // namespace tl::autograd
