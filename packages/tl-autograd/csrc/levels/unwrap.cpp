// The layer under recording: a call on the wrappers of a level of gradients goes on with their values, at the
// levels below.
#include "levels/unwrap.h"

#include "levels/arguments.h"
#include "levels/entry.h"
#include "levels/rule.h"

namespace tl::autograd {

namespace {
constexpr uint64_t kEveryLayer = ~uint64_t{0};

// The layers as they were when the call came to the level.
class AsItCame {
 public:
  explicit AsItCame(const Level& level) : before_(api->thread_excluded()) {
    api->thread_exclude(kEveryLayer, 0);
    api->thread_exclude(level.excluded, 1);
  }
  ~AsItCame() {
    api->thread_exclude(kEveryLayer, 0);
    api->thread_exclude(before_, 1);
  }
  AsItCame(const AsItCame&) = delete;

 private:
  uint64_t before_;
};

void set_base(const TlValue& result, TlTensor* source) {
  if (result.tag != TL_TENSOR || result.u.t == source) return;
  TlTensor* base = api->tensor_view_base(source);
  check(api->tensor_set_view_base(result.u.t, base ? base : source));
}

void wrap(TlValue& v, const Level& level) {
  if (v.tag == TL_TENSOR) {
    Tensor value(v.u.t);
    v.u.t = nullptr;
    v = none();
    v = {TL_TENSOR, 0, {.t = wrap_for_gradients(value.get(), level).take()}};
  } else if (v.tag == TL_TENSOR_LIST) {
    auto* list = const_cast<TlTensor**>(static_cast<TlTensor* const*>(v.u.p));
    for (uint32_t i = 0; i < v.len; ++i) {
      if (!list[i]) continue;
      Tensor value(list[i]);
      list[i] = nullptr;
      list[i] = wrap_for_gradients(value.get(), level).take();
    }
  }
}

void wrap_results(const TlOperatorInfo& info, const Level& level, const TlValue* args, int n_args,
                  TlValue* rets, int n_rets) {
  for (int i = 0; i < n_rets; ++i) {
    if (aliased_argument(info, i, true) >= 0) continue;
    wrap(rets[i], level);
    const int source = aliased_argument(info, i, false);
    if (source < 0 || source >= n_args || args[source].tag != TL_TENSOR) continue;
    each_tensor(&rets[i], 1, [&](TlTensor* t, int) { set_base({TL_TENSOR, 0, {.t = t}}, args[source].u.t); });
  }
  return_written(info, args, n_args, rets, n_rets);
  if (info.variant == TL_FUNCTIONAL && !info.args) return;
  for (int i = 0; i < n_args && i < info.n_args; ++i)
    if (argument_info(info, i).written && args[i].tag == TL_TENSOR && wrapped_value(args[i].u.t, level))
      follow_value(args[i].u.t);
}

int on_values(const TlOperator* op, Level& level, const TlValue* args, int n_args, TlValue* rets,
              int n_rets) {
  Arguments values(args, n_args);
  values.replace([&](TlTensor* t, int) {
    TlTensor* value = wrapped_value(t, level);
    return value ? Tensor::share(value) : Tensor();
  });
  int status;
  {
    const AsItCame layers(level);
    const Below below(level);
    status = api->op_call(op, values.data(), n_args, rets, n_rets);
  }
  if (status == 0) wrap_results(*api->op_info(op), level, args, n_args, rets, n_rets);
  return status;
}

int unwrap(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  auto* op = static_cast<const TlOperator*>(ctx);
  try {
    Level* top = levels().top;
    if (!top || top->kind != LevelKind::Grad) return api->op_call(op, args, n_args, rets, n_rets);
    return on_values(op, *top, args, n_args, rets, n_rets);
  } catch (...) {
    for (int i = 0; i < n_rets; ++i) api->value_release(&rets[i]);
    return pending_from_exception();
  }
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {nullptr, nullptr};
  if (!api->op_info(op)->is_composite) *out = {unwrap, const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

int call_unwrapped(const TlOperator* op, Level& level, const TlValue* args, int n_args, TlValue* rets,
                   int n_rets) {
  return on_values(op, level, args, n_args, rets, n_rets);
}

int install_unwrap() { return api->layer_install(TL_LAYER_VIEW, bind, nullptr); }

}  // namespace tl::autograd
