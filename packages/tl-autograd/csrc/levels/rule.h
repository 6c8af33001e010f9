// What the levels know of one operator.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "derivative.h"
#include "levels/arguments.h"
#include "levels/level.h"
#include "tl/rules.h"

namespace tl::autograd {

struct Rule {
  explicit Rule(const TlOperator* op);

  const TlOperator* op;
  const TlOperatorInfo* info;
  const TlOperator* functional;        // the row's functional form; NULL if it has none
  const TlRule* row;                   // NULL: the operator is no row of the core
  std::optional<Derivative> backward;  // the program of the row's gradient
  std::optional<Derivative> jvp, batch, inverse;
  std::optional<Derivative> inverse_by_copies;  // the inverse, with the operators that copy for views
  int written = -1;                             // the first argument that is written, or -1
  uint64_t silent = 0;  // arguments that have no say in the type of a result: conditions and masks

  bool writes() const { return written >= 0; }
  bool is_target(int arg) const;  // the argument has a derivative
  int jvp_kind() const;
  int batch_kind() const {
    if (row) return row->batch_kind;
    return TL_BATCH_LOOP;
  }
  TlArgRole role(int arg) const { return row ? static_cast<TlArgRole>(row->roles[arg]) : TL_ROLE_PLAIN; }
};

const Rule& rule_for(const TlOperator* op);  // lives as long as the process
// The operator that copies what a view shows: "select.int" -> "select_copy.int"; other operators themselves.
const TlOperator* copying(const TlOperator* view);
// The view that an in-place change of geometry takes: "squeeze_.dim" -> "squeeze.dim"; NULL for other calls.
const TlOperator* view_form(const TlOperatorInfo& info);

const TlRules* transform_rules();
void set_transform_rules(const TlRules* rules);

// Runs a program of a rule. `tangents` (by argument) are its gradients, `results` what the call gave; `extra`
// answers what TL_SOURCE_EXTRA asks for. Each result goes to `out`, owned: a tensor, a list of tensors, or
// none.
struct FormulaInputs {
  const TlValue* args;
  const TlValue* results = nullptr;
  int n_results = 0;
  std::vector<TlTensor*> tangents;
  std::vector<TlValue> extra;
};
void run_formula(const Derivative& formula, const FormulaInputs& in, TlValue* out, int n_out);

// Levels: each is given a call while it is the top.
int at_grad(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets);
int at_jvp(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets);
int at_batch(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets);
int at_functionalize(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets);

// Gives the results of a call that has run the tangents that those of its arguments make.
void push_tangents(const Rule& r, Level& level, const TlValue* args, int n_args, const TlValue* rets,
                   int n_rets);

// The whole call with the levels that are on now; raises.
void call(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets);
// Gives back the written arguments where a call hands them out as results.
void return_written(const TlOperatorInfo& info, const TlValue* args, int n_args, TlValue* rets, int n_rets);
// The same where the results are not there yet.
void give_written(const TlOperatorInfo& info, const TlValue* args, TlValue* rets, int n_rets);
// The argument that a result shares memory with by the schema, or -1.
int aliased_argument(const TlOperatorInfo& info, int ret, bool written);

int install_transforms();

}  // namespace tl::autograd
