// The tape of a tangent level: calls are kept with arguments and results and replayed for further tangents.
#include "levels/tape.h"

#include "levels/entry.h"

namespace tl::autograd {

namespace {
std::vector<TlValue> owned(const TlValue* values, int n) {
  std::vector<TlValue> copies(static_cast<size_t>(n), none());
  for (int i = 0; i < n; ++i) check(api->value_own(&values[i], &copies[static_cast<size_t>(i)]));
  return copies;
}
}  // namespace

TapeCall::TapeCall(const Rule& rule, const TlValue* args, int n_args, const TlValue* rets, int n_rets)
    : rule(rule), args(owned(args, n_args)), rets(owned(rets, n_rets)) {}

TapeCall::~TapeCall() {
  for (TlValue& v : args) api->value_release(&v);
  for (TlValue& v : rets) api->value_release(&v);
}

void replay(const Tape& tape, Level& level) {
  for (const TapeCall& c : tape.calls)
    push_tangents(c.rule, level, c.args.data(), static_cast<int>(c.args.size()), c.rets.data(),
                  static_cast<int>(c.rets.size()));
}

void clean(const Tape& tape) {
  for (const TapeCall& c : tape.calls) {
    const auto drop = [](TlTensor* t, int) { drop_ended_tangents(t); };
    each_tensor(c.args.data(), static_cast<int>(c.args.size()), drop);
    each_tensor(c.rets.data(), static_cast<int>(c.rets.size()), drop);
  }
}

}  // namespace tl::autograd
