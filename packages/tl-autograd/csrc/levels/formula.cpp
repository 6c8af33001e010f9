// Programs of rules: what they read, and running them.
#include <algorithm>

#include "levels/rule.h"

namespace tl::autograd {

namespace {
// What the program reads of a call.
class Read {
 public:
  Read(const TlProgram& p, const FormulaInputs& in) {
    for (int i = 0; i < p.n_saved; ++i) values_.push_back(read(p.saved[i], in));
  }
  ~Read() {
    for (TlValue& v : owned_) forget(v);
  }
  Read(const Read&) = delete;
  const TlValue* data() const { return values_.data(); }

 private:
  TlValue read(const TlSaved& what, const FormulaInputs& in) {
    if (what.source == TL_SOURCE_EXTRA) return what.index < in.extra.size() ? in.extra[what.index] : none();
    TlValue v = none();
    if (what.source == TL_SOURCE_ARG)
      v = in.args[what.index];
    else if (what.index < in.n_results)
      v = in.results[what.index];
    if (what.meta == TL_META_VALUE) return v;
    return owned_.emplace_back(read_meta(v, what.meta));
  }

  std::vector<TlValue> values_, owned_;
};
}  // namespace

void run_formula(const Derivative& formula, const FormulaInputs& in, TlValue* out, int n_out) {
  const Read saved(formula.program, in);
  const std::vector<uint8_t> needs(static_cast<size_t>(n_out) + 1, 1);
  std::vector<uint32_t> first_edge(static_cast<size_t>(n_out) + 1);
  for (size_t i = 0; i < first_edge.size(); ++i) first_edge[i] = static_cast<uint32_t>(i);
  const Inputs inputs{saved.data(), in.tangents.data(), static_cast<uint32_t>(in.tangents.size()),
                      needs.data(), first_edge.data(),  nullptr};
  run_program_values(formula, inputs, out);
}

}  // namespace tl::autograd
