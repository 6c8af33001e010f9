// A level of tangents: the call runs below, and its results get tangents by the row's rule.
#include <algorithm>

#include "engine.h"
#include "leaf.h"
#include "levels/entry.h"
#include "levels/rule.h"
#include "levels/tangent.h"
#include "levels/tape.h"
#include "ops.h"
#include "view.h"

namespace tl::autograd {

namespace {
Tensor zeros_like(TlTensor* t) {
  static const TlOperator* op = operator_named("zeros_like");
  return call_one(op, {value(t), none(), none(), none(), none(), none()});
}

Tensor expanded(const Tensor& t, const TlTensor* like) {
  static const TlOperator* op = operator_named("expand");
  const auto n = static_cast<size_t>(api->tensor_ndim(like));
  if (same_shape(t.get(), n, api->tensor_sizes(like))) return t;
  return call_one(op, {value(t), ints(api->tensor_sizes(like), n), value(false)});
}

// A real tangent stays real where the result is complex.
Tensor in_type(Tensor t, int64_t dtype) {
  const int64_t own = api->tensor_dtype(t.get());
  if (own == dtype || is_complex(own) != is_complex(dtype)) return t;
  return converted(t.get(), dtype, api->tensor_device(t.get()));
}

// A call and the tangents of its arguments, one for each tensor in order.
class TangentCall {
 public:
  TangentCall(const Rule& r, const Level& level, const TlValue* args, int n_args)
      : r_(r), args_(args), n_args_(n_args) {
    each_tensor(args, n_args, [&](TlTensor* t, int i) {
      TlTensor* tangent = tangent_of(t, level);
      any_ |= tangent != nullptr;
      inputs_.push_back({i, t, tangent ? Tensor::share(tangent) : Tensor()});
    });
  }

  bool any() const { return any_; }
  // A tangent that hides a batch, if one does.
  TlTensor* widest() const {
    for (const Input& input : inputs_)
      if (input.tangent && hides_batch(input.tangent.get())) return input.tangent.get();
    return nullptr;
  }
  // What rules read instead of the arguments: copies of what will be written, and of its tangents.
  void read_copies(const TlValue* args) {
    args_ = args;
    for (Input& input : inputs_)
      if (argument_info(*r_.info, input.arg).written && input.tangent)
        input.tangent = clone(input.tangent.get());
  }
  // For an in-place operator: on the tangents, for what it does to them.
  void write(const TlOperator* op, const TlValue* rets, int n_rets) { by_rule(op, rets, n_rets); }
  // Tangents of the results, which may be missing; `results` are flat.
  std::vector<Tensor> tangents(const TlOperator* op, const TlValue* rets, int n_rets);

 private:
  struct Input {
    int arg;
    TlTensor* tensor;
    Tensor tangent;
  };

  bool complex(const TlValue* rets) const {
    bool any = rets[0].tag == TL_TENSOR && is_complex(api->tensor_dtype(rets[0].u.t));
    for (const Input& input : inputs_) any |= is_complex(api->tensor_dtype(input.tensor));
    return any;
  }
  std::vector<Tensor> by_rule(const TlOperator* op, const TlValue* rets, int n_rets);
  bool is_of_input(const TlTensor* tangent) const;
  std::vector<Tensor> linear(const TlOperator* op, int n_rets);
  std::vector<Tensor> elementwise(const TlValue* rets, int n_rets);
  std::vector<Tensor> double_vjp(const TlValue* rets, int n_rets);
  bool add_roots(Run& run, const std::vector<const Input*>& of_edge, TlTensor* const* gradients) const;
  std::vector<Tensor> by_gradient(const TlValue* rets, int n_rets);
  std::vector<Tensor> formula(const TlValue* rets, int n_rets);
  std::vector<TlValue> read_saved(const TlValue* rets, int n_rets, std::vector<TlValue>& owned) const;
  void edges(std::vector<uint32_t>& first_edge, std::vector<const Input*>& of_edge) const;

  const Rule& r_;
  const TlValue* args_;
  int n_args_;
  std::vector<Input> inputs_;
  bool any_ = false;
};

std::vector<TlTensor*> flat(const TlValue* rets, int n_rets) {
  std::vector<TlTensor*> tensors;
  for (int i = 0; i < n_rets; ++i) {
    if (rets[i].tag == TL_TENSOR_LIST) {
      auto* list = static_cast<TlTensor* const*>(rets[i].u.p);
      tensors.insert(tensors.end(), list, list + rets[i].len);
    } else {
      tensors.push_back(rets[i].tag == TL_TENSOR ? rets[i].u.t : nullptr);
    }
  }
  return tensors;
}

// Whether the row's first argument is read by places in its memory, whatever its own strides are.
bool reads_memory(const Rule& r) {
  static const TlOperator* const kRows[] = {operator_named("as_strided"),
                                            operator_named("as_strided_scatter")};
  return std::ranges::find(kRows, r.op) != std::end(kRows);
}

// The operator itself on the tangents; zeros stand for those that are missing.
std::vector<Tensor> TangentCall::linear(const TlOperator* op, int n_rets) {
  Arguments on(args_, n_args_);
  size_t next = 0;
  on.replace([&](TlTensor* t, int i) {
    const Input& p = inputs_[next++];
    // A tensor of integers beside others, as cat takes it, has zeros for a tangent.
    const bool varies = r_.backward ? r_.is_target(i) : is_differentiable(api->tensor_dtype(t));
    if (!varies) return Tensor();
    Tensor tangent = p.tangent ? p.tangent : zeros_like(t);
    return i == 0 && reads_memory(r_) ? in_memory_like(t, std::move(tangent)) : tangent;
  });
  Results rets(n_rets);
  call(op, on.data(), n_args_, rets.data(), n_rets);
  std::vector<Tensor> out;
  for (TlTensor* t : flat(rets.data(), n_rets)) out.push_back(Tensor::share(t));
  return out;
}

void TangentCall::edges(std::vector<uint32_t>& first_edge, std::vector<const Input*>& of_edge) const {
  const TlProgram& p = r_.backward->program;
  for (int t = 0; t < p.n_targets; ++t) {
    first_edge.push_back(static_cast<uint32_t>(of_edge.size()));
    const size_t before = of_edge.size();
    for (const Input& input : inputs_)
      if (input.arg == p.targets[t].arg) of_edge.push_back(&input);
    if (of_edge.size() == before && !p.targets[t].is_list) of_edge.push_back(nullptr);
  }
  first_edge.push_back(static_cast<uint32_t>(of_edge.size()));
}

std::vector<TlValue> TangentCall::read_saved(const TlValue* rets, int n_rets,
                                             std::vector<TlValue>& owned) const {
  const TlProgram& p = r_.backward->program;
  std::vector<TlValue> saved;
  for (int i = 0; i < p.n_saved; ++i) {
    const TlSaved& what = p.saved[i];
    TlValue v = none();
    if (what.source == TL_SOURCE_ARG)
      v = args_[what.index];
    else if (what.index < n_rets)
      v = rets[what.index];
    saved.push_back(what.meta == TL_META_VALUE ? v : owned.emplace_back(read_meta(v, what.meta)));
  }
  return saved;
}

struct Owned {
  std::vector<TlValue> values;
  ~Owned() {
    for (TlValue& v : values) forget(v);
  }
};

struct Gradients {
  std::vector<TlTensor*> tensors;
  explicit Gradients(size_t n) : tensors(n + 1) {}
  ~Gradients() {
    for (TlTensor* t : tensors)
      if (t) api->tensor_release(t);
  }
};

// For f of one element at a time the gradient g · conj(f′) gives the tangent t · f′ with g = conj(t),
// conjugated.
std::vector<Tensor> TangentCall::elementwise(const TlValue* rets, int n_rets) {
  std::vector<Tensor> out(flat(rets, n_rets).size());
  if (!r_.backward || out.empty() || !rets[0].u.t) return out;
  TlTensor* result = rets[0].u.t;
  Owned owned;
  const std::vector<TlValue> saved = read_saved(rets, n_rets, owned.values);
  std::vector<uint32_t> first_edge;
  std::vector<const Input*> of_edge;
  edges(first_edge, of_edge);
  for (size_t e = 0; e < of_edge.size(); ++e) {
    if (!of_edge[e] || !of_edge[e]->tangent) continue;
    const bool complex =
        is_complex(api->tensor_dtype(result)) || is_complex(api->tensor_dtype(of_edge[e]->tensor));
    Tensor g = in_type(expanded(of_edge[e]->tangent, result), api->tensor_dtype(result));
    if (complex && is_complex(api->tensor_dtype(g.get()))) g = conj_view(g.get());
    std::vector<uint8_t> needs(of_edge.size() + 1);
    needs[e] = 1;
    Gradients grads(of_edge.size());
    std::vector<TlTensor*> given(out.size());
    given[0] = g.get();
    run_program(*r_.backward,
                {saved.data(), given.data(), static_cast<uint32_t>(given.size()), needs.data(),
                 first_edge.data(), nullptr},
                grads.tensors.data());
    if (!grads.tensors[e]) continue;
    Tensor part = Tensor::share(grads.tensors[e]);
    if (is_complex(api->tensor_dtype(part.get()))) part = conj_view(part.get());
    out[0] = out[0] ? sum(out[0], part) : part;
  }
  return out;
}

// Zeros in place of the gradients of results, which require gradients themselves in `level`.
std::vector<Tensor> zero_gradients(const std::vector<TlTensor*>& results, Level& level) {
  std::vector<Tensor> seeds(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !is_differentiable(api->tensor_dtype(results[i]))) continue;
    if (api->tensor_numel(results[i]) == 0) continue;  // what the call leaves out is of no size
    Tensor zero;
    {
      const Below below(level);
      zero = zeros_like(results[i]);
    }
    seeds[i] = wrap_for_gradients(zero.get(), level);
    set_requires_grad(seeds[i].get(), true);
  }
  return seeds;
}

// The derivatives of the seeds, in the level below; of those that are there.
std::vector<Tensor> captured_values(Run& run, const std::vector<Tensor>& seeds, Level& level) {
  std::vector<Tensor> out(seeds.size());
  for (size_t i = 0, k = 0; i < seeds.size(); ++i) {
    if (!seeds[i]) continue;
    const Tensor& found = run.captured()[k++];
    if (!found) continue;
    TlTensor* inner = wrapped_value(found.get(), level);
    out[i] = Tensor::share(inner ? inner : found.get());
  }
  return out;
}

// The gradients of arguments with a tangent as roots, the tangents as their gradients; whether there are any.
bool TangentCall::add_roots(Run& run, const std::vector<const Input*>& of_edge,
                            TlTensor* const* gradients) const {
  bool any = false;
  for (size_t e = 0; e < of_edge.size(); ++e) {
    if (!gradients[e] || !of_edge[e] || !of_edge[e]->tangent) continue;
    Tensor h = Tensor::share(gradients[e]);
    TlTensor* like = of_edge[e]->tensor;
    const auto n = static_cast<size_t>(api->tensor_ndim(like));
    if (!same_shape(h.get(), n, api->tensor_sizes(like)))
      h = sum_to_size(h.get(), n, api->tensor_sizes(like));
    h = converted(h.get(), api->tensor_dtype(like), api->tensor_device(like));
    const Edge root = gradient_edge(h.get());
    if (!root.node) continue;
    run.add_root(root, of_edge[e]->tangent);
    any = true;
  }
  return any;
}

// The gradients h(g) are linear in g: the derivative of h by the tangents is the tangent of the result.
std::vector<Tensor> TangentCall::double_vjp(const TlValue* rets, int n_rets) {
  const std::vector<TlTensor*> results = flat(rets, n_rets);
  if (!r_.backward) return std::vector<Tensor>(results.size());
  Owned owned;
  const std::vector<TlValue> saved = read_saved(rets, n_rets, owned.values);
  std::vector<uint32_t> first_edge;
  std::vector<const Input*> of_edge;
  edges(first_edge, of_edge);
  std::vector<uint8_t> needs(of_edge.size() + 1);
  for (size_t e = 0; e < of_edge.size(); ++e) needs[e] = of_edge[e] && of_edge[e]->tangent;
  std::vector<TensorMeta> metas;
  for (TlTensor* t : results) metas.push_back(t ? meta_of(t) : TensorMeta{});

  TemporaryLevel level(LevelKind::Grad);
  GradMode recording(true);
  const std::vector<Tensor> seeds = zero_gradients(results, *level);
  std::vector<TlTensor*> given;
  for (const Tensor& seed : seeds) given.push_back(seed.get());
  Gradients pulled(of_edge.size());
  run_program(*r_.backward,
              {saved.data(), given.data(), static_cast<uint32_t>(given.size()), needs.data(),
               first_edge.data(), metas.data()},
              pulled.tensors.data());
  RunOptions options;
  options.accumulate = false;
  Run run(options);
  const bool any = add_roots(run, of_edge, pulled.tensors.data());
  for (const Tensor& seed : seeds)
    if (seed) run.add_input(gradient_edge(seed.get()));
  if (any) run.execute();
  return captured_values(run, seeds, *level);
}

std::string unsupported(const Rule& r) {
  return std::string("Trying to use forward AD with ") + r.info->name +
         " that does not support it because it has not been implemented yet.";
}

// A gradient that is missing is a tangent that is missing.
std::vector<Tensor> TangentCall::by_gradient(const TlValue* rets, int n_rets) {
  try {
    // Conjugation tells holomorphic functions alone; others are linear in real and imaginary part.
    const bool once = r_.jvp_kind() == TL_JVP_ELEMENTWISE && !complex(rets);
    return once ? elementwise(rets, n_rets) : double_vjp(rets, n_rets);
  } catch (const Pending&) {
    if (api->error_kind() != TL_ERROR_NOT_IMPLEMENTED) throw;
    const std::string why = api->error_message();
    api->error_clear();
    fail(TL_ERROR_NOT_IMPLEMENTED, unsupported(r_) + " (" + why + ")");
  }
}

std::vector<Tensor> TangentCall::formula(const TlValue* rets, int n_rets) {
  FormulaInputs in{args_, rets, n_rets, {}, {}};
  in.tangents.resize(static_cast<size_t>(n_args_));
  in.extra.assign(static_cast<size_t>(n_args_) + 1, none());
  std::vector<List> lists(static_cast<size_t>(n_args_));
  for (const Input& p : inputs_) {
    const auto i = static_cast<size_t>(p.arg);
    if (args_[p.arg].tag == TL_TENSOR)
      in.tangents[i] = p.tangent.get();
    else
      lists[i].push_back(value(p.tangent));
    in.extra[i + 1] = {kList, 0, {.p = &lists[i]}};
  }
  Results found(n_rets);
  run_formula(*r_.jvp, in, found.data(), n_rets);
  std::vector<Tensor> out;
  for (TlTensor* t : flat(found.data(), n_rets)) out.push_back(Tensor::share(t));
  return out;
}

// A result that is no view has memory of its own, and so has its tangent: a write to one leaves the other
// alone.
std::vector<Tensor> TangentCall::tangents(const TlOperator* op, const TlValue* rets, int n_rets) {
  std::vector<Tensor> found = by_rule(op, rets, n_rets);
  for (Tensor& t : found)
    if (t && !r_.info->is_view && is_of_input(t.get())) t = clone(t.get());
  return found;
}

bool TangentCall::is_of_input(const TlTensor* tangent) const {
  const void* storage = api->tensor_storage_id(tangent);
  return storage && std::ranges::any_of(inputs_, [&](const Input& input) {
           return input.tangent && api->tensor_storage_id(input.tangent.get()) == storage;
         });
}

std::vector<Tensor> TangentCall::by_rule(const TlOperator* op, const TlValue* rets, int n_rets) {
  switch (r_.jvp_kind()) {
    case TL_JVP_LINEAR:
      return linear(op, n_rets);
    case TL_JVP_ELEMENTWISE:
    case TL_JVP_DOUBLE_VJP:
      return by_gradient(rets, n_rets);
    case TL_JVP_FORMULA:
      return formula(rets, n_rets);
    default:
      break;
  }
  const char* why = r_.row ? r_.row->jvp_text : "none:not implemented";
  if (std::string(why).starts_with("none:not implemented")) fail(TL_ERROR_NOT_IMPLEMENTED, unsupported(r_));
  return std::vector<Tensor>(flat(rets, n_rets).size());
}

void attach(const std::vector<TlTensor*>& results, std::vector<Tensor>& tangents, const Level& level) {
  for (size_t i = 0; i < results.size() && i < tangents.size(); ++i) {
    if (!results[i] || !tangents[i] || !is_differentiable(api->tensor_dtype(results[i]))) continue;
    Tensor t = expanded(tangents[i], results[i]);
    t = converted(t.get(), api->tensor_dtype(results[i]), api->tensor_device(results[i]));
    give_tangent(results[i], level, std::move(t));
  }
}

// Zeros of the tensor's shape, with the batches that the tangent hides.
Tensor zeros_for(TlTensor* t, TlTensor* tangent) {
  if (!tangent || !hides_batch(tangent)) return zeros_like(t);
  static const TlOperator* op = operator_named("new_zeros");
  const TlValue type{TL_DTYPE, 0, {.i = api->tensor_dtype(t)}};
  return call_one(op, {value(tangent), ints(api->tensor_sizes(t), static_cast<size_t>(api->tensor_ndim(t))),
                       type, none(), none(), none()});
}

// The tangent of a tensor that is written: memory that its views share, which takes what `tangent` is.
Tensor writable_tangent(TlTensor* t, const Level& level, TlTensor* tangent) {
  TlTensor* own = tangent_of(t, level);
  if (own && !(tangent && hides_batch(tangent) && !hides_batch(own))) return Tensor::share(own);
  TlTensor* base = api->tensor_view_base(t);
  TlTensor* whole = base ? base : t;
  Tensor fresh = zeros_for(whole, tangent);
  if (TlTensor* before = tangent_of(whole, level)) copy_into(fresh.get(), before);
  drop_tangent(t, level);
  give_tangent(whole, level, std::move(fresh));
  return Tensor::share(tangent_of(t, level));
}

void write_tangent(TlTensor* written, const Tensor& tangent, const Level& level) {
  if (!is_differentiable(api->tensor_dtype(written))) return;
  if (tangent)
    copy_into(writable_tangent(written, level, tangent.get()).get(), tangent.get());
  else if (TlTensor* own = tangent_of(written, level))
    fill_zero(own);
}

// An in-place row without a functional form: the same on the tangents, or nothing.
int write_alone(const Rule& r, const Level& level, TangentCall& tangents, const TlValue* args, int n_args,
                TlValue* rets, int n_rets) {
  TlTensor* written = args[r.written].tag == TL_TENSOR ? args[r.written].u.t : nullptr;
  if (!written)
    fail(TL_ERROR_NOT_IMPLEMENTED, std::string(r.info->name) + ": a list is written under forward AD");
  if (r.jvp_kind() == TL_JVP_NONE) {
    call(r.op, args, n_args, rets, n_rets);
    write_tangent(written, Tensor(), level);
    return 0;
  }
  if (r.jvp_kind() != TL_JVP_LINEAR)
    fail(TL_ERROR_NOT_IMPLEMENTED, std::string(r.info->name) + " does not support forward AD");
  writable_tangent(written, level, tangents.widest());
  const TangentCall with_own(r, level, args, n_args);
  TangentCall again(with_own);
  call(r.op, args, n_args, rets, n_rets);
  again.write(r.op, rets, n_rets);
  return 0;
}

int write_functional(const Rule& r, const Level& level, TangentCall& tangents, const TlValue* args,
                     int n_args, TlValue* rets, int n_rets) {
  const int n_results = api->op_info(r.functional)->n_rets;
  Results made(n_results);
  // Gradients of tangents need what was there before the write.
  Arguments copies(args, n_args);
  if (api->grad_enabled()) {
    copies.replace(
        [&](TlTensor* t, int i) { return argument_info(*r.info, i).written ? clone(t) : Tensor(); });
    tangents.read_copies(copies.data());
  }
  call(r.functional, copies.data(), n_args, made.data(), n_results);
  std::vector<Tensor> found = tangents.tangents(r.functional, made.data(), n_results);
  const std::vector<TlTensor*> results = flat(made.data(), n_results);
  attach(results, found, level);
  std::vector<TlTensor*> written;
  each_tensor(&args[r.written], 1, [&](TlTensor* t, int) { written.push_back(t); });
  for (size_t i = 0; i < written.size() && i < results.size(); ++i) {
    copy_into(written[i], results[i]);
    write_tangent(written[i], found[i] ? Tensor::share(tangent_of(results[i], level)) : Tensor(), level);
  }
  if (n_rets && args[r.written].tag == TL_TENSOR) {
    api->tensor_retain(args[r.written].u.t);
    rets[0] = args[r.written];
  }
  return 0;
}
}  // namespace

int at_jvp(const Rule& r, Level& level, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  if (!levels().tangents) {
    const Below below(level);
    return api->op_call(r.op, args, n_args, rets, n_rets);
  }
  TangentCall tangents(r, level, args, n_args);
  const Below below(level);
  if (!tangents.any()) return api->op_call(r.op, args, n_args, rets, n_rets);
  if (r.info->variant == TL_OUT)
    fail(TL_ERROR_RUNTIME,
         std::string(r.info->name) +
             ": out= functions, those with out=... arguments, don't support automatic differentiation, but "
             "one of the arguments has a tangent");
  // A write is kept on no tape: what it was given is gone.
  if (r.writes() && level.tape) level.tape->whole = false;
  if (r.writes())
    return r.functional && r.functional != r.op
               ? write_functional(r, level, tangents, args, n_args, rets, n_rets)
               : write_alone(r, level, tangents, args, n_args, rets, n_rets);
  call(r.op, args, n_args, rets, n_rets);
  std::vector<Tensor> found = tangents.tangents(r.op, rets, n_rets);
  attach(flat(rets, n_rets), found, level);
  if (level.tape) level.tape->calls.emplace_back(r, args, n_args, rets, n_rets);
  return 0;
}

void push_tangents(const Rule& r, Level& level, const TlValue* args, int n_args, const TlValue* rets,
                   int n_rets) {
  TangentCall tangents(r, level, args, n_args);
  if (!tangents.any()) return;
  const Below below(level);
  std::vector<Tensor> found = tangents.tangents(r.op, rets, n_rets);
  attach(flat(rets, n_rets), found, level);
}

}  // namespace tl::autograd
