// Recording: runs the operator below, makes a node with its inputs' edges, saves what its formula reads.
#include "recorder.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <span>

#include "anomaly.h"
#include "fallback.h"
#include "inplace.h"
#include "leaf.h"
#include "levels/entry.h"
#include "levels/rule.h"
#include "ops.h"
#include "regions.h"
#include "saved_hooks.h"
#include "thread.h"
#include "view.h"
#include "view_origin.h"

namespace tl::autograd {

namespace {
// "log_softmax.int" -> "LogSoftmaxBackward0", "fft_c2c" -> "FftC2CBackward0": a letter after a digit is large
// as well, as in PyTorch. Overloads of one name are numbered as they come.
std::string backward_name(const TlOperatorInfo& info) {
  static std::map<std::string, int> counts;
  const TlOperatorInfo& plain = *api->op_info(info.functional);
  const std::string full = plain.name;
  std::string base = full.substr(full.rfind(':') + 1);
  base = base.substr(0, base.find('.'));
  std::string name;
  bool upper = true;
  for (char c : base) {
    if (c != '_') name += upper ? static_cast<char>(toupper(c)) : c;
    upper = !isalpha(c);
  }
  static std::map<std::string, int> known;
  auto [it, added] = known.try_emplace(full, 0);
  if (added) it->second = counts[base]++;
  return name + "Backward" + std::to_string(it->second);
}

// The results whose gradients no formula of a program reads.
uint32_t constant_results_of(const TlProgram& p, int n_rets) {
  uint32_t read = 0;
  for (const uint16_t word : std::span(p.operands, p.n_operands)) {
    if (TL_OPERAND_KIND(word) == TL_OPERAND_GRADS) return 0;
    if (TL_OPERAND_KIND(word) == TL_OPERAND_GRAD) read |= 1u << TL_OPERAND_INDEX(word);
  }
  return ~read & ((1u << n_rets) - 1);
}

bool is_tensor_kind(int kind) { return kind == TL_ARG_TENSOR || kind == TL_ARG_OPERAND; }
}  // namespace

Recorder::Recorder(const TlOperator* op) : op(op), info(api->op_info(op)), node_name(backward_name(*info)) {
  if (info->program) derivative.emplace(*info->program);
  int tensors = 0;
  for (int i = 0; i < info->n_args; ++i) {
    tensors += is_tensor_kind(argument_info(*info, i).kind);
    if (argument_info(*info, i).written && written < 0) written = i;
  }
  may_broadcast = tensors > 1;
  moves = written >= 0 && view_form(*info);
  if (written >= 0) writes_list = argument_info(*info, written).kind == TL_ARG_TENSOR_LIST;
  lists = writes_list || (info->n_rets && result_info(*info, 0).kind == TL_ARG_TENSOR_LIST);
  if (!derivative) return;
  if (info->n_rets > 1) constant_results = constant_results_of(*info->program, info->n_rets);
  for (int i = 0; i < info->program->n_saved; ++i) saves_tensors |= saves_tensor(info->program->saved[i]);
  for (int t = 0; t < info->program->n_targets; ++t) {
    lists |= info->program->targets[t].is_list != 0;
    if (info->program->targets[t].arg == written) written_target = t;
    target_blocks.push_back(static_cast<uint8_t>(derivative->block_of(t)));
  }
}

bool Recorder::saves_tensor(const TlSaved& what) const {
  if (what.meta != TL_META_VALUE) return false;
  if (what.source == TL_SOURCE_RESULT) return true;
  const int kind = argument_info(*info, what.index).kind;
  return is_tensor_kind(kind) || kind == TL_ARG_TENSOR_LIST || kind == TL_ARG_OPTIONAL_TENSOR_LIST;
}

// ---- edges ------------------------------------------------------------------------------------------------

void CallEdges::add(Edge e, int block) {
  if (e.node) blocks |= 1u << block;
  if (n < kInline && more.empty()) {
    new (edges + n++) Edge(e);
    return;
  }
  if (more.empty()) more.assign(edges, edges + n);
  more.push_back(e);
  edges = more.data();
  ++n;
}

void gather_edges(const Recorder& r, const TlValue* args, CallEdges& out) {
  gather_edges_with(r, args, out, gradient_edge);
}

// ---- the node of a call -----------------------------------------------------------------------------------

namespace {
void refuse_inference(const TlValue& v) {
  if (v.tag == TL_TENSOR && api->tensor_is_inference(v.u.t))
    fail(TL_ERROR_RUNTIME,
         "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference "
         "mode in computation "
         "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it "
         "in autograd, or use "
         "`torch.no_grad()` instead of `torch.inference_mode()`.");
}

TlValue saved_result(TlTensor* t, SavedResults how) {
  if (how == SavedResults::Shared) return keep(value(t));
  TlTensor* alias = alias_in_levels(t).take();
  if (packing()) [[unlikely]]
    return pack(Tensor(alias).get());
  return {TL_TENSOR, api->tensor_version(alias), {.t = alias}};
}

TlValue save_result(const Recorder& r, const TlSaved& what, TlTensor* const* outputs, uint32_t n_outputs,
                    SavedResults how) {
  if (!r.lists) {
    TlTensor* t = what.index < n_outputs ? outputs[what.index] : nullptr;
    if (!t) return none();
    return what.meta == TL_META_VALUE ? saved_result(t, how) : read_meta(value(t), what.meta);
  }
  auto* list = new List;
  const TlValue whole{kList, 0, {.p = list}};
  if (what.meta == TL_META_COUNT) {
    delete list;
    return value(static_cast<int64_t>(n_outputs));
  }
  for (uint32_t i = 0; i < n_outputs; ++i)
    list->push_back(what.meta == TL_META_VALUE ? saved_result(outputs[i], how)
                                               : read_meta(value(outputs[i]), what.meta));
  return whole;
}

// A saved tensor, or each of a list, through the hooks of this thread.
TlValue packed_value(const TlValue& v) {
  if (v.tag == TL_TENSOR) return pack(v.u.t);
  if (v.tag != TL_TENSOR_LIST) return keep(v);
  auto* list = new List;
  TlValue whole{kList, 0, {.p = list}};
  try {
    for (uint32_t i = 0; i < v.len; ++i) list->push_back(packed_value(list_element(v, i)));
  } catch (...) {
    forget(whole);
    throw;
  }
  return whole;
}

TlValue save_argument(const TlValue& v, int meta) {
  if (meta != TL_META_VALUE) return read_meta(v, meta);
  refuse_inference(v);
  if (!packing()) [[likely]]
    return keep(v);
  return packed_value(v);
}

void save_all(const Recorder& r, ProgramNode& node, const TlValue* args, uint32_t blocks,
              TlTensor* const* outputs, uint32_t n_outputs, TlValue* before, SavedResults how) {
  const TlProgram& p = r.derivative->program;
  if (packing()) [[unlikely]]
    node.set(Node::HoldsPacked);
  for (int i = 0; i < p.n_saved; ++i) {
    const TlSaved& what = p.saved[i];
    if (!(what.blocks & blocks)) continue;
    if (before && before[i].tag != TL_NONE)
      node.saved[i] = std::exchange(before[i], none());
    else if (what.source == TL_SOURCE_RESULT)
      node.saved[i] = save_result(r, what, outputs, n_outputs, how);
    else
      node.saved[i] = save_argument(args[what.index], what.meta);
  }
}

void add_fix(ProgramNode& node, uint32_t edge, const TlTensor* t) {
  if (!node.fixes) node.fixes = new std::vector<ProgramNode::Fix>;
  node.fixes->push_back({edge, meta_of(t)});
}

// Has the gradient of a result, which has the result's shape, dtype and device, to be summed or converted?
bool needs_fix(const TlTensor* input, const TlTensor* result, bool may_broadcast) {
  if (api->tensor_matches(input, result)) [[likely]]
    return false;
  if (api->tensor_dtype(input) != api->tensor_dtype(result)) return true;
  if (api->tensor_device(input) != api->tensor_device(result)) return true;
  return may_broadcast &&
         broadcasts_to(static_cast<size_t>(api->tensor_ndim(input)), api->tensor_sizes(input), result);
}

void note_differences(const Recorder& r, ProgramNode& node, const TlValue* args, const TlTensor* output) {
  const TlProgram& p = r.derivative->program;
  const uint32_t* first_edge = node.first_edge();
  for (int t = 0; t < p.n_targets; ++t) {
    const TlValue& v = args[p.targets[t].arg];
    for (uint32_t e = first_edge[t]; e < first_edge[t + 1]; ++e) {
      if (!node.edges[e].node) continue;
      const TlTensor* input = v.tag == TL_TENSOR ? v.u.t : list_element(v, e - first_edge[t]).u.t;
      if (needs_fix(input, output, r.may_broadcast)) add_fix(node, e, input);
    }
  }
}

std::unique_ptr<ProgramNode::Lists> note_lists(const CallEdges& edges, TlTensor* const* outputs,
                                               uint32_t n_outputs) {
  auto lists = std::make_unique<ProgramNode::Lists>();
  lists->first_edge = edges.first_edge;
  for (uint32_t i = 0; i < n_outputs; ++i) lists->results.push_back(meta_of(outputs[i]));
  return lists;
}
}  // namespace

ProgramNode* make_node(const Recorder& r, const TlValue* args, const CallEdges& edges,
                       TlTensor* const* outputs, uint32_t n_outputs, TlValue* before, SavedResults how) {
  ProgramNode* node = ProgramNode::make(r, n_outputs, edges.n);
  for (uint32_t i = 0; i < edges.n; ++i) {
    node->edges[i] = edges.edges[i];
    if (node->edges[i].node) node->edges[i].node->retain();
  }
  try {
    node->sequence = next_sequence();
    if (r.lists) node->lists = note_lists(edges, outputs, n_outputs);
    save_all(r, *node, args, edges.blocks, outputs, n_outputs, before, how);
    if (n_outputs && outputs[0]) note_differences(r, *node, args, outputs[0]);
    if (notes_nodes()) [[unlikely]]
      note_saved(*node);
  } catch (...) {
    drop(node);
    throw;
  }
  return node;
}

// ---- recording --------------------------------------------------------------------------------------------

namespace {
int below(const Recorder& r, const TlValue* args, int n_args, TlValue* rets, int n_rets) {
  return api->op_call_below(r.op, TL_LAYER_AUTOGRAD, args, n_args, rets, n_rets);
}

// The results of a call, which are released if recording it fails. Before the call they may be borrowed.
struct Results {
  TlValue* values;
  int n;
  bool owned = false;

  void release() {
    for (int i = 0; owned && i < n; ++i) api->value_release(&values[i]);
  }
};

struct Outputs {
  static constexpr uint32_t kInline = 8;
  TlTensor* inline_tensors[kInline];
  TlTensor* const* tensors = inline_tensors;
  uint32_t n = 0;
  uint32_t constant;  // a bit for each result

  // A list is the only result of its operator.
  Outputs(const Recorder& r, const TlValue* rets, int n_rets) : constant(r.constant_results) {
    if (n_rets && rets[0].tag == TL_TENSOR_LIST) {
      tensors = static_cast<TlTensor* const*>(rets[0].u.p);
      n = rets[0].len;
      return;
    }
    for (int i = 0; i < n_rets && n < kInline; ++i)
      inline_tensors[n++] = rets[i].tag == TL_TENSOR ? rets[i].u.t : nullptr;
  }
  bool differentiable(uint32_t i) const {
    const bool varies = i >= 32 || !(constant >> i & 1);
    return tensors[i] && varies && is_differentiable(api->tensor_dtype(tensors[i]));
  }
  bool any_differentiable() const {
    for (uint32_t i = 0; i < n; ++i)
      if (differentiable(i)) return true;
    return false;
  }
};

// Takes over the caller's reference.
void attach(Node* node, const Outputs& outputs, bool is_view) {
  note_origin(*node);
  bool given = false;
  for (uint32_t i = 0; i < outputs.n; ++i) {
    if (!outputs.differentiable(i)) continue;
    if (std::exchange(given, true)) node->retain();
    set_slot(outputs.tensors[i], node, i);
    if (is_view && !node->base_slot) node->base_slot = base_slot_of(outputs.tensors[i]);
  }
  if (!given) drop(node);
}

// The arguments that a node saves, taken through the hooks before the call: where a hook ends a checkpoint's
// second run with its last tensor, the call that saves it need not be computed.
class PackedArguments {
 public:
  PackedArguments() = default;
  // Where a hook raises, the destructor frees what was packed before: the object was whole with the delegated
  // constructor.
  PackedArguments(const Recorder& r, const TlValue* args, const CallEdges& edges) : PackedArguments() {
    if (!packing() || !edges.any()) return;
    const TlProgram& p = r.derivative->program;
    values_.assign(static_cast<size_t>(p.n_saved), none());
    for (int i = 0; i < p.n_saved; ++i) {
      const TlSaved& what = p.saved[i];
      if (what.blocks & edges.blocks && what.source != TL_SOURCE_RESULT)
        values_[static_cast<size_t>(i)] = save_argument(args[what.index], what.meta);
    }
  }
  ~PackedArguments() {
    for (TlValue& v : values_) forget(v);
  }
  PackedArguments(const PackedArguments&) = delete;

  TlValue* data() { return values_.empty() ? nullptr : values_.data(); }

 private:
  std::vector<TlValue> values_;
};

// Whether a predicate holds of a tensor, or of one in a list.
template <class F>
bool any_tensor(const TlValue& v, const F& holds) {
  if (v.tag == TL_TENSOR) return holds(v.u.t);
  if (v.tag != TL_TENSOR_LIST) return false;
  for (uint32_t i = 0; i < v.len; ++i)
    if (any_tensor(list_element(v, i), holds)) return true;
  return false;
}
}  // namespace

bool reads_unrecorded_view(const Recorder& r, const TlValue* args) {
  const TlProgram& p = r.derivative->program;
  return std::any_of(p.targets, p.targets + p.n_targets,
                     [&](const TlTarget& t) { return any_tensor(args[t.arg], stands_for_base); });
}

namespace {
void record_results(const Recorder& r, const TlValue* args, const CallEdges& edges, PackedArguments& packed,
                    const TlValue* rets, int n_rets) {
  const Outputs outputs(r, rets, n_rets);
  if (!outputs.any_differentiable()) return;
  if (r.info->is_view && args[0].tag == TL_TENSOR && api->tensor_is_inference(args[0].u.t)) return;
  Node* node = make_node(r, args, edges, outputs.tensors, outputs.n, packed.data());
  attach(node, outputs, r.info->is_view);
}

int record(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  Results results{rets, n_rets};
  try {
    CallEdges edges;
    gather_edges(r, args, edges);
    PackedArguments packed(r, args, edges);
    if (below(r, args, n_args, rets, n_rets) != 0) return -1;
    results.owned = true;
    if (edges.any() || reads_unrecorded_view(r, args)) record_results(r, args, edges, packed, rets, n_rets);
    return 0;
  } catch (...) {
    results.release();
    return pending_from_exception();
  }
}

int record_writing(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  Results results{rets, n_rets};
  try {
    Writing writing(r, args);
    if (below(r, args, n_args, rets, n_rets) != 0) return -1;
    results.owned = true;
    writing.finish(args);
    return 0;
  } catch (...) {
    results.release();
    return pending_from_exception();
  }
}

bool requires_grad(const TlValue& v) {
  return any_tensor(v, [](TlTensor* t) { return gradient_edge(t).node != nullptr; });
}

bool any_requires_grad(const TlValue* args, int n_args) {
  return std::any_of(args, args + n_args, [](const TlValue& v) { return requires_grad(v); });
}

bool any_differentiable(const TlValue& v) {
  return any_tensor(v, [](TlTensor* t) { return is_differentiable(api->tensor_dtype(t)); });
}

// Whether a call with out= loses a gradient. Results without a derivative, such as those of comparisons, and
// outputs of integers have none to lose.
bool loses_gradient(const TlOperatorInfo& info, const TlValue* args, int n_args) {
  const TlOperatorInfo& functional = info.functional ? *api->op_info(info.functional) : info;
  const bool constant = functional.no_grad_reason && !is_missing(functional);
  bool inputs = false;
  bool outputs = false;
  for (int i = 0; i < n_args; ++i) {
    if (!argument_info(info, i).written) {
      inputs |= requires_grad(args[i]);
    } else {
      if (requires_grad(args[i])) return true;
      outputs |= any_differentiable(args[i]);
    }
  }
  return inputs && outputs && !constant;
}

int refuse_out(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  try {
    if (loses_gradient(*r.info, args, n_args)) {
      const std::string name = r.info->name;
      fail(TL_ERROR_RUNTIME, name.substr(0, name.find('.')) +
                                 "(): functions with out=... arguments don't support automatic "
                                 "differentiation, but one of the arguments requires grad.");
    }
    return below(r, args, n_args, rets, n_rets);
  } catch (...) {
    return pending_from_exception();
  }
}

int record_missing(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  Results results{rets, n_rets};
  try {
    const bool needed = any_requires_grad(args, n_args);
    if (below(r, args, n_args, rets, n_rets) != 0) return -1;
    results.owned = true;
    const Outputs outputs(r, rets, n_rets);
    if (!needed || !outputs.any_differentiable()) return 0;
    attach(missing_node(r, outputs.n), outputs, r.info->is_view);
    return 0;
  } catch (...) {
    results.release();
    return pending_from_exception();
  }
}

std::vector<Edge> edges_of(const TlValue* args, int n_args) {
  std::vector<Edge> edges;
  for (int i = 0; i < n_args; ++i)
    any_tensor(args[i], [&](TlTensor* t) {
      if (const Edge e = gradient_edge(t); e.node) edges.push_back(e);
      return false;
    });
  return edges;
}

// Results that the kernel's own calls recorded get a hook, and the others the node. A write has no node: an
// operator may write several arguments, each a view of another base.
void warn_in_backward(const Recorder& r, Node& node, const Outputs& outputs) {
  node.n_outputs = outputs.n;
  for (uint32_t i = 0; i < outputs.n; ++i) {
    if (!outputs.differentiable(i)) continue;
    TlTensor* const t = outputs.tensors[i];
    const bool is_written =
        result_info(*r.info, std::min<int>(static_cast<int>(i), r.info->n_rets - 1)).written;
    if (gradient_edge(t).node) {
      hook_fallback(t, r.info->name);
      TlTensor* const base = is_written ? api->tensor_view_base(t) : nullptr;
      if (base && gradient_edge(base).node) hook_fallback(base, r.info->name);
    } else if (!is_written) {
      node.retain();
      set_slot(t, &node, i);
    }
  }
}

// The node holds the history of the inputs, which the kernel may write.
struct FallbackNode {
  Node* node = nullptr;

  FallbackNode(const Recorder& r, const TlValue* args, int n_args) {
    const std::vector<Edge> inputs = edges_of(args, n_args);
    if (!inputs.empty()) note_origin(*(node = fallback_node(r, inputs)));
  }
  FallbackNode(const FallbackNode&) = delete;
  ~FallbackNode() {
    if (node) drop(node);
  }
};

int record_own(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  const Fallback mode = fallback.load(std::memory_order_relaxed);
  if (mode == Fallback::Error) {
    return r.written >= 0 ? record_writing(ctx, args, n_args, rets, n_rets)
                          : record_missing(ctx, args, n_args, rets, n_rets);
  }
  if (mode == Fallback::Nothing)
    return api->op_call_past(r.op, TL_LAYER_AUTOGRAD, args, n_args, rets, n_rets);
  Results results{rets, n_rets};
  try {
    const FallbackNode warning(r, args, n_args);
    if (api->op_call_past(r.op, TL_LAYER_AUTOGRAD, args, n_args, rets, n_rets) != 0) return -1;
    results.owned = true;
    if (warning.node) warn_in_backward(r, *warning.node, Outputs(r, rets, n_rets));
    return 0;
  } catch (...) {
    results.release();
    return pending_from_exception();
  }
}

bool resizes(const TlOperatorInfo& info) {
  const std::string_view name = info.name;
  return name == "resize_" || name == "resize_as_";
}

// Another number of elements has no derivative, and gradients of the former size would not fit.
int record_resizing(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Recorder& r = *static_cast<const Recorder*>(ctx);
  if (!requires_grad(args[0])) return below(r, args, n_args, rets, n_rets);
  api->error_set(TL_ERROR_RUNTIME, "cannot resize variables that require grad");
  return -1;
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  const TlOperatorInfo* info = api->op_info(op);
  *out = {nullptr, nullptr};
  if (info->is_composite && info->variant != TL_OUT) return 0;
  try {
    auto r = std::make_unique<Recorder>(op);
    if (info->variant == TL_OUT)
      out->call = refuse_out;
    else if (resizes(*info))
      out->call = record_resizing;
    else if (is_missing(*info) && is_own(*info))
      out->call = record_own;
    else if (r->written >= 0)
      out->call = record_writing;
    else if (r->derivative)
      out->call = record;
    else if (is_missing(*info))
      out->call = record_missing;
    if (out->call) out->ctx = r.release();  // lives as long as the operator: the process
    return 0;
  } catch (...) {
    return pending_from_exception();
  }
}
}  // namespace

int install_layer() { return api->layer_install(TL_LAYER_AUTOGRAD, bind, nullptr); }

}  // namespace tl::autograd
