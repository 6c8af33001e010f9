// The layer `transforms`: a call goes to the top level; without levels, tensors of levels that ended are met.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "levels/entry.h"
#include "levels/functionalize.h"
#include "levels/rule.h"
#include "ops.h"
#include "origin.h"

namespace tl::autograd {

namespace {
const TlRules* g_rules = nullptr;

const TlRule* row_of(const TlOperator* functional) {
  static const auto* table = [] {
    auto* found = new std::unordered_map<std::string_view, const TlRule*>;
    for (int i = 0; g_rules && i < g_rules->n; ++i) {
      const TlRule* rule = tl_rule(g_rules, i);
      (*found)[rule->op] = rule;
    }
    return found;
  }();
  const auto it = table->find(api->op_info(functional)->name);
  return it == table->end() ? nullptr : it->second;
}

// What the layer keeps of an operator until it is first met inside a transform.
struct Met {
  const TlOperator* op;
  std::atomic<const Rule*> rule{nullptr};
};

const Rule& rule_of(Met& met) {
  if (const Rule* known = met.rule.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<Rule>(met.op);
  const Rule* none = nullptr;
  if (met.rule.compare_exchange_strong(none, made.get(), std::memory_order_acq_rel)) return *made.release();
  return *met.rule.load(std::memory_order_acquire);
}

const char* const kTransforms[] = {"grad", "jvp", "vmap", "functionalize"};

[[noreturn]] void fail_outside(const Rule& r, const Entry& e, int arg) {
  const std::string which =
      std::string(r.info->name) + ": argument '" + argument_info(*r.info, arg).name + "' ";
  const char* transform = kTransforms[static_cast<size_t>(e.kind)];
  if (level_of(e.level))
    fail(TL_ERROR_RUNTIME, which + "is a tensor of a transform (" + transform + ", level " +
                               std::to_string(e.number) + ") that came to a call outside of it");
  const void* const* frames = ended_frames(e.level);
  const std::string line = frames ? line_of(frames, Level::kFrames) : "";
  fail(TL_ERROR_RUNTIME, which + "is a batch of a vmap that has ended (it was level " +
                             std::to_string(e.number) + (line.empty() ? "" : ", begun at " + line) +
                             "): return tensors from the function instead of keeping them");
}

bool has_ended(const TlTensor* t) {
  if (!(api->bits_get(t) & kTransformsBit)) return false;
  const Entry* e = entry_of(t);
  return e && e->level && e->kind != LevelKind::Batch && !level_of(e->level);
}

// The tensor that a wrapper of ended levels stands for; empty if it is none.
Tensor resolved(TlTensor* t) {
  Tensor at = Tensor::share(t);
  while (has_ended(at.get())) {
    const Entry* e = entry_of(at.get());
    at = e->kind == LevelKind::Functionalize ? current_value(at.get()) : e->value;
  }
  return at.get() == t ? Tensor() : at;
}

// No level is on: what still is in one cannot be worked with.
int outside(const Rule& r, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  each_tensor(args, n_args, [&](TlTensor* t, int i) {
    const Entry* e = entry_of(t);
    if (e && e->level) fail_outside(r, *e, i);
  });
  return api->op_call_below(r.op, TL_LAYER_TRANSFORMS, args, n_args, rets, n_rets);
}

int at_top(const Rule& r, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  Level* top = levels().top;
  if (!top) return outside(r, args, n_args, rets, n_rets);
  switch (top->kind) {
    case LevelKind::Grad:
      return at_grad(r, *top, args, n_args, rets, n_rets);
    case LevelKind::Jvp:
      return at_jvp(r, *top, args, n_args, rets, n_rets);
    case LevelKind::Functionalize:
      return at_functionalize(r, *top, args, n_args, rets, n_rets);
    default:
      return at_batch(r, *top, args, n_args, rets, n_rets);
  }
}

// With the values of wrappers whose levels have ended.
int with_resolved(const Rule& r, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  Arguments values(args, n_args);
  values.replace([](TlTensor* t, int) { return resolved(t); });
  const int status = api->op_call(r.op, values.data(), n_args, rets, n_rets);
  if (status == 0) return_written(*r.info, args, n_args, rets, n_rets);
  return status;
}

int interpret(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  try {
    const Rule& r = rule_of(*static_cast<Met*>(ctx));
    bool ended = false;
    each_tensor(args, n_args, [&](TlTensor* t, int) { ended |= has_ended(t); });
    if (ended) [[unlikely]]
      return with_resolved(r, args, n_args, rets, n_rets);
    return at_top(r, args, n_args, rets, n_rets);
  } catch (...) {
    for (int i = 0; i < n_rets; ++i) api->value_release(&rets[i]);
    return pending_from_exception();
  }
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {nullptr, nullptr};
  if (api->op_info(op)->is_composite) return 0;
  try {
    *out = {interpret, new Met{op}};  // lives as long as the operator: the process
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}
}  // namespace

const Rule& rule_for(const TlOperator* op) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<const TlOperator*, std::unique_ptr<Rule>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Rule>& rule = (*known)[op];
  if (!rule) rule = std::make_unique<Rule>(op);
  return *rule;
}

const TlOperator* view_form(const TlOperatorInfo& info) {
  if (!std::strcmp(info.name, "transpose_")) return operator_named("transpose.int");
  std::string name = info.name;
  static const char* const kKnown[] = {"t_",         "squeeze_",   "squeeze_.dim", "squeeze_.dims",
                                       "unsqueeze_", "as_strided_"};
  if (std::none_of(std::begin(kKnown), std::end(kKnown), [&](const char* k) { return name == k; }))
    return nullptr;
  const size_t end = name.find("_.") != std::string::npos ? name.find("_.") : name.size() - 1;
  name.erase(end, 1);
  return operator_named(name.c_str());
}

const TlRules* transform_rules() { return g_rules; }
void set_transform_rules(const TlRules* rules) { g_rules = rules; }

Rule::Rule(const TlOperator* op)
    : op(op), info(api->op_info(op)), functional(info->functional), row(row_of(info->functional)) {
  for (int i = 0; i < info->n_args; ++i)
    if (argument_info(*info, i).written && written < 0) written = i;
  for (int i = 0; i < info->n_args && i < 64; ++i)
    if (!std::strcmp(argument_info(*info, i).name, "condition") ||
        !std::strcmp(argument_info(*info, i).name, "mask"))
      silent |= uint64_t{1} << i;
  const TlOperatorInfo& plain = *api->op_info(functional);
  if (plain.program) backward.emplace(*plain.program);
  for (int i = 0; i < plain.n_args; ++i)
    if (argument_info(plain, i).written) functional = nullptr;
  if (row && row->jvp) jvp.emplace(*row->jvp);
  if (row && row->batch) batch.emplace(*row->batch);
  if (row && row->inverse) {
    inverse.emplace(*row->inverse);
    inverse_by_copies.emplace(*row->inverse, copying);
  }
}

bool Rule::is_target(int arg) const {
  if (!backward) return false;
  for (int t = 0; t < backward->program.n_targets; ++t)
    if (backward->program.targets[t].arg == arg) return true;
  return false;
}

int Rule::jvp_kind() const {
  if (row) return row->jvp_kind;
  return backward ? TL_JVP_DOUBLE_VJP : TL_JVP_NONE;
}

void call(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  check(api->op_call(op, args, n_args, rets, n_rets));
}

int aliased_argument(const TlOperatorInfo& info, int ret, bool written) {
  const int set = result_info(info, ret).alias;
  for (int i = 0; set && i < info.n_args; ++i)
    if (argument_info(info, i).alias == set && (argument_info(info, i).written != 0) == written) return i;
  return -1;
}

namespace {
void replace_result(TlValue& ret, const TlValue& arg) {
  if (arg.tag != TL_TENSOR || ret.tag != TL_TENSOR) return;
  api->tensor_retain(arg.u.t);
  api->value_release(&ret);
  ret = arg;
}
}  // namespace

void return_written(const TlOperatorInfo& info, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  for (int i = 0; i < n_rets; ++i) {
    const int arg = aliased_argument(info, i, true);
    if (arg >= 0 && arg < n_args) replace_result(rets[i], args[arg]);
  }
}

void give_written(const TlOperatorInfo& info, const TlValue* args, TlValue* rets, int n_rets) {
  for (int i = 0; i < n_rets; ++i) {
    const int arg = aliased_argument(info, i, true);
    if (arg < 0) continue;
    api->tensor_retain(args[arg].u.t);
    rets[i] = args[arg];
  }
}

int install_transforms() { return api->layer_install(TL_LAYER_TRANSFORMS, bind, nullptr); }

}  // namespace tl::autograd
