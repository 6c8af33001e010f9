// A level of gradients: every tensor of a call is wrapped, so that recording sees this level's graph alone.
#include "levels/arguments.h"
#include "levels/entry.h"
#include "levels/rule.h"
#include "levels/unwrap.h"

namespace tl::autograd {

namespace {
bool any_tensor(const TlValue* args, int n_args) {
  bool any = false;
  each_tensor(args, n_args, [&](TlTensor*, int) { any = true; });
  return any;
}

void refuse_captured(const Rule& r, const Level& level, const TlValue* args, int n_args) {
  each_tensor(args, n_args, [&](TlTensor* t, int i) {
    if (!argument_info(*r.info, i).written || wrapped_value(t, level)) return;
    const std::string name = r.info->name;
    fail(TL_ERROR_RUNTIME,
         "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
         "operation (" +
             name + ") that would mutate a captured Tensor (argument '" + argument_info(*r.info, i).name +
             "', level " + std::to_string(level.number) +
             "). This is not supported; please rewrite the function being transformed to explicitly accept "
             "the "
             "mutated Tensor(s) as inputs.");
  });
}

class CameWith {
 public:
  explicit CameWith(Level& level) : level_(level), before_(level.excluded) {
    level.excluded = api->thread_excluded();
  }
  ~CameWith() { level_.excluded = before_; }
  CameWith(const CameWith&) = delete;

 private:
  Level& level_;
  uint64_t before_;
};
}  // namespace

int at_grad(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  const CameWith came(level);
  if (r.writes()) refuse_captured(r, level, args, n_args);
  if (!api->grad_enabled() || !any_tensor(args, n_args))
    return call_unwrapped(r.op, level, args, n_args, rets, n_rets);
  Arguments wrapped(args, n_args);
  wrapped.replace(
      [&](TlTensor* t, int) { return wrapped_value(t, level) ? Tensor() : wrap_for_gradients(t, level); });
  return api->op_call_below(r.op, TL_LAYER_TRANSFORMS, wrapped.data(), n_args, rets, n_rets);
}

}  // namespace tl::autograd
