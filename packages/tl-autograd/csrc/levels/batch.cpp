// A level of a batch: which way a call goes, and what its results become.
#include "levels/batch.h"

#include <algorithm>
#include <cstring>

#include "ops.h"

namespace tl::autograd {

namespace {
std::string name_of(const Rule& r) {
  const std::string full = r.info->name;
  return full.substr(0, full.find('.'));
}

// A rule whose result has no batch in front is wrong: it says so.
Tensor wrapped_result(const Rule& r, const Level& level, TlTensor* value) {
  if (api->tensor_ndim(value) == 0 || api->tensor_sizes(value)[0] != level.batch_size) {
    // What a call was told to leave out.
    if (api->tensor_ndim(value) == 1 && api->tensor_numel(value) == 0) return Tensor::share(value);
    fail(TL_ERROR_RUNTIME, std::string("vmap: the rule of ") + r.info->name + " (batch=\"" +
                               (r.row ? r.row->batch_text : "loop") +
                               "\") gave a result without the batch of " + std::to_string(level.batch_size) +
                               " as its first dimension: please report it");
  }
  return wrap_batch(value, 0, level);
}

void wrap(TlValue& v, const Rule& r, const Level& level) {
  if (v.tag == TL_TENSOR) {
    Tensor value(v.u.t);
    v = none();
    v = {TL_TENSOR, 0, {.t = wrapped_result(r, level, value.get()).take()}};
  } else if (v.tag == TL_TENSOR_LIST) {
    auto* list = const_cast<TlTensor**>(static_cast<TlTensor* const*>(v.u.p));
    for (uint32_t i = 0; i < v.len; ++i) {
      if (!list[i]) continue;
      Tensor value(list[i]);
      list[i] = nullptr;
      list[i] = wrapped_result(r, level, value.get()).take();
    }
  }
}

void link_view(const TlOperatorInfo& info, const TlValue* args, TlValue& ret, int i) {
  const int source = aliased_argument(info, i, false);
  if (source < 0 || args[source].tag != TL_TENSOR) return;
  TlTensor* from = args[source].u.t;
  TlTensor* base = api->tensor_view_base(from);
  each_tensor(&ret, 1, [&](TlTensor* t, int) { check(api->tensor_set_view_base(t, base ? base : from)); });
}

void hand_out(const Rule& r, const Level& level, const TlValue* args, Results& made, TlValue* rets,
              int n_rets) {
  for (int i = 0; i < n_rets; ++i) {
    rets[i] = made[i];
    made[i] = none();
    wrap(rets[i], r, level);
    link_view(*r.info, args, rets[i], i);
  }
}

[[noreturn]] void refuse_unbatched(const Rule& r, const Level& level) {
  fail(TL_ERROR_RUNTIME,
       "vmap: " + name_of(r) + "(" + argument_info(*r.info, r.written).name +
           ", *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
           "elements than `self`. This happened due to `other` being vmapped over but `self` not being "
           "vmapped over "
           "(level " +
           std::to_string(level.number) +
           "). Please try to use out-of-place operators instead of the inplace " + name_of(r) +
           ". If said operator is being called inside the PyTorch framework, please file a bug report "
           "instead.");
}

void run_kind(BatchCall& c, const TlOperator* op, int kind, Results& out) {
  switch (kind) {
    case TL_BATCH_ELEMENTWISE:
      return c.elementwise(op, out);
    case TL_BATCH_DIMS:
      return c.dims(op, out);
    case TL_BATCH_FRONT:
      return c.front(op, out);
    case TL_BATCH_FOLD:
      return c.fold(op, out);
    case TL_BATCH_RANDOM:
      return c.random(op, out);
    case TL_BATCH_FORMULA:
      return c.formula(out);
    case TL_BATCH_INDEX:
      return c.index(out);
    case TL_BATCH_REFUSE: {
      const std::string text = c.rule.row->batch_text;
      std::string why = text.substr(std::min(text.size(), text.find(':') + 1));
      // The operator's name stands where the text says, or in front.
      const size_t at = why.find("{}");
      why.replace(at == why.npos ? 0 : at, at == why.npos ? 0 : 2, name_of(c.rule));
      fail(TL_ERROR_RUNTIME, "vmap: " + why + " (level " + std::to_string(c.level.number) + ")");
    }
    default:
      return c.loop(op, out);
  }
}

void take_view(BatchCall& c, const TlOperator* view, TlValue* rets) {
  TlValue ret = none();
  check(api->op_call(view, c.args, c.n_args, &ret, 1));
  Tensor wrapper(ret.u.t);
  TlTensor* self = c.args[0].u.t;
  replace_value(self, *entry_of(wrapper.get()));
  api->tensor_retain(self);
  rets[0] = c.args[0];
}

// The first elements of every example in another shape; what is added is of any value.
void resize(BatchCall& c, TlValue* rets) {
  static const TlOperator* cat = operator_named("cat");
  static const TlOperator* new_empty = operator_named("new_empty");
  static const TlOperator* narrow = operator_named("slice.Tensor");
  TlTensor* self = c.args[0].u.t;
  std::vector<int64_t> sizes{c.size};
  if (c.args[1].tag == TL_TENSOR) {
    const std::vector<int64_t> like = sizes_of(c.args[1].u.t);
    sizes.insert(sizes.end(), like.begin(), like.end());
  } else {
    auto* given = static_cast<const int64_t*>(c.args[1].u.p);
    sizes.insert(sizes.end(), given, given + c.args[1].len);
  }
  {
    const Below below(c.level);
    Tensor whole = c.moved(self);
    const int64_t n = c.size ? api->tensor_numel(whole.get()) / c.size : 0;
    int64_t wanted = 1;
    for (size_t d = 1; d < sizes.size(); ++d) wanted *= sizes[d];
    Tensor flat = reshaped(whole, {c.size, n});
    if (wanted > n) {
      const int64_t more[] = {c.size, wanted - n};
      Tensor added = call_one(new_empty, {value(flat), ints(more, 2), none(), none(), none(), none()});
      TlTensor* parts[] = {flat.get(), added.get()};
      flat = call_one(cat, {{TL_TENSOR_LIST, 2, {.p = parts}}, value(int64_t{1})});
    } else if (wanted < n) {
      flat = call_one(narrow,
                      {value(flat), value(int64_t{1}), value(int64_t{0}), value(wanted), value(int64_t{1})});
    }
    Entry resized;
    resized.value = reshaped(flat, sizes);
    replace_value(self, resized);
  }
  api->tensor_retain(self);
  rets[0] = c.args[0];
}

TlTensor* first_written(const BatchCall& c) {
  const TlValue& v = c.args[c.rule.written];
  return v.tag == TL_TENSOR ? v.u.t : nullptr;
}

// By the functional form, which takes no outputs, and a copy. The outputs have the shapes of its results.
void write_functional(BatchCall& c, int kind) {
  const TlOperator* op = c.rule.functional;
  const TlOperatorInfo& info = *api->op_info(op);
  BatchCall call(rule_for(op), c.level, c.args, std::min(c.n_args, info.n_args));
  Results made(info.n_rets);
  if (call.any())
    run_kind(call, op, kind, made);
  else
    tl::autograd::call(op, c.args, info.n_args, made.data(), info.n_rets);
  int next = 0;
  for (int i = 0; i < c.n_args; ++i) {
    if (!argument_info(*c.rule.info, i).written) continue;
    const Tensor out = c.moved(c.args[i].u.t);
    TlTensor* result = made[next++].u.t;
    const int extra = api->tensor_ndim(out.get()) - api->tensor_ndim(result);
    const int64_t* sizes = api->tensor_sizes(out.get());
    if (extra != (call.any() ? 0 : 1) ||
        !std::equal(api->tensor_sizes(result), api->tensor_sizes(result) + api->tensor_ndim(result),
                    sizes + extra))
      fail(TL_ERROR_RUNTIME, "vmap: " + name_of(c.rule) +
                                 "(): the output has another shape than the result, and "
                                 "cannot be resized inside of vmap");
    copy_into(out.get(), result);
  }
}

// In place on the values, or by the functional form and a copy.
void write(BatchCall& c, TlValue* rets, int n_rets) {
  const Rule& r = c.rule;
  TlTensor* self = first_written(c);
  if (!self) fail(TL_ERROR_NOT_IMPLEMENTED, "vmap: " + name_of(r) + " writes a list of tensors");
  if (r.info->is_random && !c.batched(r.written)) return c.refuse_random();
  for (int i = 0; i < c.n_args; ++i)
    if (argument_info(*r.info, i).written && !c.batched(i)) refuse_unbatched(r, c.level);
  if (const TlOperator* view = view_form(*r.info)) return take_view(c, view, rets);
  if (name_of(r) == "resize_" || name_of(r) == "resize_as_") return resize(c, rets);
  const Below below(c.level);
  const int kind = r.batch_kind();
  if (!r.functional || r.functional == r.op || kind == TL_BATCH_ELEMENTWISE || kind == TL_BATCH_RANDOM) {
    Results made(std::max(n_rets, 1));
    if (kind == TL_BATCH_LOOP && !r.functional) return c.loop_writing(rets, n_rets);
    run_kind(c, r.op, kind, made);
  } else {
    write_functional(c, kind);
  }
  give_written(*r.info, c.args, rets, n_rets);
}
}  // namespace

BatchCall::BatchCall(const Rule& r, Level& level, const TlValue* args, int n_args)
    : rule(r), level(level), args(args), n_args(n_args), size(level.batch_size) {
  each_tensor(args, n_args, [&](TlTensor* t, int) { any_ |= wrapped_value(t, level) != nullptr; });
}

bool BatchCall::batched(int arg) const {
  bool any = false;
  each_tensor(&args[arg], 1, [&](TlTensor* t, int) { any |= wrapped_value(t, level) != nullptr; });
  return any;
}

// Without a batch among the arguments the call goes below as it is; a random operator may still need a sample
// for each element of the batch.
int at_batch(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  BatchCall c(r, level, args, n_args);
  const bool random = r.info->is_random;
  if (!c.any() && !(random && level.randomness != Randomness::Same)) {
    const Below below(level);
    return api->op_call(r.op, args, n_args, rets, n_rets);
  }
  if (random && level.randomness == Randomness::Error)
    fail(TL_ERROR_RUNTIME,
         (level.is_older ? "vmap: We do not yet support calling random operations inside of vmap: "
                         : "vmap: called random operation while in randomness error mode: ") +
             name_of(r) + " (level " + std::to_string(level.number) +
             "). Please either use the 'same' or 'different' randomness flags on vmap or perform "
             "the randomness operation out of vmap");
  if (r.writes()) {
    write(c, rets, n_rets);
    return 0;
  }
  Results made(n_rets);
  {
    const Below below(level);
    run_kind(c, r.op, r.batch_kind(), made);
  }
  hand_out(r, level, args, made, rets, n_rets);
  return 0;
}

}  // namespace tl::autograd
