// A recipe depends on geometry, element types and numbers. Where all tensors are floating it depends on
// these alone, and is saved.
#include "recipe.h"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "call.h"

namespace tl::compiler {

namespace {
constexpr size_t kMostEntries = 8;      // recipes of one operator
constexpr size_t kMostOperators = 512;  // of which recipes are saved

Geometry geometry_of(const TlLoopOperand& o) {
  Geometry g;
  g.ndim = o.ndim;
  std::copy_n(o.sizes, o.ndim, g.sizes);
  std::copy_n(o.strides, o.ndim, g.strides);
  g.offset = o.offset;
  return g;
}

// Whether the elements fill one piece of memory, each once.
bool is_dense(const Geometry& g) {
  int64_t elements = 1, step = 1;
  for (int d = 0; d < g.ndim; ++d)
    if (g.sizes[d] > 1) elements *= g.sizes[d];
  while (step != elements) {
    int d = 0;
    while (d < g.ndim && (g.sizes[d] <= 1 || g.strides[d] != step)) ++d;
    if (d == g.ndim) return false;
    step *= g.sizes[d];
  }
  return true;
}

bool describe(Operand& o, const TlLoopOperand& d) {
  o.dtype = d.dtype;
  o.in_loop = d.loop_dtype;
  o.convert = d.convert;
  std::memcpy(o.number, d.number, sizeof o.number);
  if (d.source == TL_FROM_NUMBER) return true;
  if (d.ndim > kMaxDims) return false;
  o.kind = d.source == TL_FROM_LOOP ? Operand::Step : Operand::Input;
  o.index = d.index;
  o.geometry = geometry_of(d);
  return true;
}

struct Writing {
  Recipe& recipe;
  bool fits = true;

  void add(const TlLoop& loop) {
    Step& step = recipe.steps.emplace_back();
    step.name = loop.name;
    step.run = loop.run;
    step.n_inputs = loop.n_inputs;
    std::memcpy(step.params, loop.params, sizeof step.params);
    fits = fits && describe(step.out, loop.operands[0]);
    for (int i = 0; i < loop.n_inputs; ++i) fits = fits && describe(step.inputs[i], loop.operands[i + 1]);
    const Geometry& out = step.out.geometry;
    fits = fits && out.offset == 0 && out.numel() > 0 && is_dense(out);
  }
};

int visit(void* user, const TlLoop* loop) {
  auto& writing = *static_cast<Writing*>(user);
  try {
    if (writing.fits) writing.add(*loop);
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}

bool is_small(const Step& step) {
  int64_t most = step.out.geometry.numel();
  for (int i = 0; step.call && i < step.n_inputs; ++i) most = std::max(most, step.inputs[i].geometry.numel());
  return most < kMinElements;
}

void write_call(Recipe& recipe, const TlOperator* op, const TlValue* args, int n_args, int n_rets) {
  recipe.steps = call_steps(op, args, n_args, n_rets);
  recipe.waits = !recipe.steps.empty();
  for (int i = 0; i < n_rets && recipe.waits; ++i) recipe.results.push_back(i);
  recipe.is_small = recipe.waits && is_small(recipe.steps[0]);
}

void write(Recipe& recipe, const TlOperator* op, const TlValue* args, int n_args, int n_rets) {
  if (is_callable(op)) return write_call(recipe, op, args, n_args, n_rets);
  Writing writing{recipe};
  TlValue rets[4] = {};
  const int status = api->op_loops(op, args, n_args, rets, n_rets, visit, &writing);
  if (status < 0) api->error_clear();  // the call raises it itself
  recipe.waits = status == 0 && writing.fits && !recipe.steps.empty();
  for (int i = 0; i < n_rets && recipe.waits; ++i) recipe.results.push_back(rets[i].u.i);
  recipe.is_small = recipe.waits && std::ranges::all_of(recipe.steps, is_small);
}

// ---- what is saved -----------------------------------------------------------------------------------------

// Whether the arguments alone decide: a number beside integers takes the default type.
bool may_keep(const TlValue* args, int n_args) {
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_INT_LIST) continue;
    if (args[i].tag >= TL_BOOL_LIST || args[i].tag == TL_COMPLEX || args[i].tag >= TL_GENERATOR) return false;
    if (args[i].tag != TL_TENSOR) continue;
    const int code = TL_DTYPE_CODE(api->tensor_dtype(args[i].u.t));
    if (code != TL_CODE_FLOAT && code != TL_CODE_BFLOAT && !(code == TL_CODE_BOOL && i == 0 && n_args == 3))
      return false;
  }
  return true;
}

// Calls f with each word that decides, until it says no.
template <class F>
bool each_word(const TlValue* args, int n_args, F f) {
  for (int i = 0; i < n_args; ++i) {
    const TlValue& v = args[i];
    if (!f(static_cast<int64_t>(v.tag))) return false;
    if (v.tag == TL_TENSOR) {
      const int ndim = api->tensor_ndim(v.u.t);
      const int64_t *sizes = api->tensor_sizes(v.u.t), *strides = api->tensor_strides(v.u.t);
      if (!f(api->tensor_dtype(v.u.t)) || !f(api->tensor_offset(v.u.t)) || !f(ndim)) return false;
      for (int d = 0; d < ndim; ++d)
        if (!f(sizes[d]) || !f(strides[d])) return false;
    } else if (v.tag == TL_STRING) {
      const auto* text = static_cast<const char*>(v.u.p);
      if (!f(v.len)) return false;
      for (uint32_t k = 0; k < v.len; ++k)
        if (!f(text[k])) return false;
    } else if (v.tag == TL_INT_LIST) {
      if (!f(v.len)) return false;
      for (uint32_t k = 0; k < v.len; ++k)
        if (!f(static_cast<const int64_t*>(v.u.p)[k])) return false;
    } else if (v.tag != TL_NONE && !f(v.u.i)) {
      return false;
    }
  }
  return true;
}

struct CacheEntry {
  std::vector<int64_t> words;
  Recipe recipe;

  bool matches(const TlValue* args, int n_args) const {
    size_t at = 0;
    return each_word(args, n_args, [&](int64_t word) { return at < words.size() && words[at++] == word; }) &&
           at == words.size();
  }
};

struct OfOperator {
  std::vector<std::unique_ptr<CacheEntry>> cache;
  size_t oldest = 0;
};
struct OfThread {
  std::unordered_map<const TlOperator*, OfOperator> operators;
  Recipe other;
};
OfThread& of_thread() {
  thread_local OfThread t;
  return t;
}

std::atomic<uint64_t> g_last_id{0};

Recipe& fresh(OfOperator& of, const TlValue* args, int n_args) {
  auto cache = std::make_unique<CacheEntry>();
  each_word(args, n_args, [&](int64_t word) { return cache->words.push_back(word), true; });
  Recipe& recipe = cache->recipe;
  recipe.id = ++g_last_id;
  if (of.cache.size() < kMostEntries)
    of.cache.push_back(std::move(cache));
  else
    of.cache[of.oldest++ % kMostEntries] = std::move(cache);
  return recipe;
}
}  // namespace

const Recipe& recipe_for(const TlOperator* op, const TlValue* args, int n_args, int n_rets) {
  OfThread& t = of_thread();
  if (!may_keep(args, n_args)) {
    t.other = {};
    write(t.other, op, args, n_args, n_rets);
    return t.other;
  }
  if (t.operators.size() > kMostOperators) t.operators.clear();
  OfOperator& of = t.operators[op];
  for (const auto& cache : of.cache)
    if (cache->matches(args, n_args)) return cache->recipe;
  Recipe& recipe = fresh(of, args, n_args);
  write(recipe, op, args, n_args, n_rets);
  return recipe;
}

}  // namespace tl::compiler
