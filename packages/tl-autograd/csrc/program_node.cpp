// The node of a recorded call: its gradients by a program, the check of the versions of its saved tensors.
#include <algorithm>
#include <array>
#include <new>

#include "leaf.h"
#include "levels/entry.h"
#include "ops.h"
#include "origin.h"
#include "recorder.h"
#include "regions.h"
#include "saved_hooks.h"
#include "thread.h"

namespace tl::autograd {

// ---- memory: node, edges, saved values in one block -------------------------------------------------------

namespace {
size_t block_bytes(const Recorder& r, size_t n_edges) {
  const size_t frames = r.saves_tensors ? ProgramNode::kFrames : 0;
  return sizeof(ProgramNode) + n_edges * sizeof(Edge) +
         static_cast<size_t>(r.derivative->program.n_saved) * sizeof(TlValue) + frames * sizeof(void*);
}

constexpr auto kIdentity = [] {
  std::array<uint32_t, 256> a{};
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = i;
  return a;
}();
}  // namespace

ProgramNode* ProgramNode::make(const Recorder& recorder, uint32_t n_outputs, uint32_t n_edges) {
  const int n_saved = recorder.derivative->program.n_saved;
  auto* memory = static_cast<char*>(allocate_node(block_bytes(recorder, n_edges)));
  auto* edges = reinterpret_cast<Edge*>(memory + sizeof(ProgramNode));
  auto* saved = reinterpret_cast<TlValue*>(edges + n_edges);
  for (uint32_t i = 0; i < n_edges; ++i) edges[i] = {};
  for (int i = 0; i < n_saved; ++i) saved[i] = none();
  if (recorder.saves_tensors) note_frames(reinterpret_cast<const void**>(saved + n_saved), kFrames);
  return new (memory) ProgramNode(recorder, n_outputs, n_edges, edges, saved);
}

size_t ProgramNode::bytes() const { return block_bytes(recorder, n_edges); }

void ProgramNode::dispose() {
  if (is(Noted)) [[unlikely]]
    forget_noted(*this);
  forget_saved();
  const size_t size = bytes();
  this->~ProgramNode();
  free_node(this, size);
}

void ProgramNode::forget_saved() {
  for (int i = 0; i < recorder.derivative->program.n_saved; ++i)
    if (saved[i].tag != TL_NONE) forget(saved[i]);
}

void ProgramNode::release() {
  NodeLock lock(*this);
  free_saved();
}

void ProgramNode::free_saved() {
  const TlProgram& p = recorder.derivative->program;
  for (int i = 0; i < p.n_saved; ++i)
    if (p.saved[i].meta == TL_META_VALUE &&
        (saved[i].tag == TL_TENSOR || saved[i].tag == kList || saved[i].tag == kPacked)) {
      forget(saved[i]);
      set(Released);
    }
}

const uint32_t* ProgramNode::first_edge() const {
  return lists ? lists->first_edge.data() : kIdentity.data();
}

// ---- reading what was saved -------------------------------------------------------------------------------

namespace {
const char* legacy_type(int64_t dtype) {
  switch (dtype) {
    case TL_DTYPE_OF(TL_CODE_FLOAT, 16):
      return "torch.HalfTensor";
    case TL_DTYPE_OF(TL_CODE_BFLOAT, 16):
      return "torch.BFloat16Tensor";
    case TL_DTYPE_OF(TL_CODE_FLOAT, 32):
      return "torch.FloatTensor";
    case TL_DTYPE_OF(TL_CODE_FLOAT, 64):
      return "torch.DoubleTensor";
    case TL_DTYPE_OF(TL_CODE_COMPLEX, 64):
      return "torch.ComplexFloatTensor";
    case TL_DTYPE_OF(TL_CODE_COMPLEX, 128):
      return "torch.ComplexDoubleTensor";
    case TL_DTYPE_OF(TL_CODE_BOOL, 8):
      return "torch.BoolTensor";
    case TL_DTYPE_OF(TL_CODE_INT, 32):
      return "torch.IntTensor";
    case TL_DTYPE_OF(TL_CODE_INT, 64):
      return "torch.LongTensor";
    default:
      return "torch.Tensor";
  }
}
}  // namespace

[[gnu::cold]] void fail_changed(const TlTensor* t, uint32_t expected, const std::string& source) {
  std::string text =
      "one of the variables needed for gradient computation has been modified by an inplace operation: [";
  text += legacy_type(api->tensor_dtype(t));
  text += " [";
  for (int i = 0; i < api->tensor_ndim(t); ++i)
    text += (i ? ", " : "") + std::to_string(api->tensor_sizes(t)[i]);
  text += "]]" + source + " is at version " + std::to_string(api->tensor_version(t)) + "; expected version " +
          std::to_string(expected) + " instead." + change_of(t, expected) +
          "\nHint: clone() what is needed later, or use the out-of-place form of the operator.";
  fail(TL_ERROR_RUNTIME, text);
}

[[gnu::cold]] void fail_released() {
  fail(TL_ERROR_RUNTIME,
       "Trying to backward through the graph a second time (or directly access saved tensors after they have "
       "already been "
       "freed). Saved intermediate values of the graph are freed when you call .backward() or "
       "autograd.grad(). Specify "
       "retain_graph=True if you need to backward through the graph a second time or if you need to access "
       "saved tensors after "
       "calling backward.");
}

void ProgramNode::check_version(const TlValue& v, const TlSaved& what, int element) const {
  if (api->tensor_version(v.u.t) == v.len) [[likely]]
    return;
  const Edge e = edge_of(what, element);
  std::string source;
  if (what.source == TL_SOURCE_RESULT)
    source =
        ", which is output " + std::to_string(element < 0 ? what.index : element) + " of " + name() + ",";
  else if (e.node && !e.node->is(Leaf))
    source = ", which is output " + std::to_string(e.output) + " of " + e.node->name() + ",";
  fail_changed(v.u.t, v.len, source);
}

void ProgramNode::check_versions(uint32_t blocks) const {
  const TlProgram& p = recorder.derivative->program;
  for (int i = 0; i < p.n_saved; ++i) {
    if (!(p.saved[i].blocks & blocks) || p.saved[i].meta != TL_META_VALUE) continue;
    if (saved[i].tag == TL_TENSOR) check_version(saved[i], p.saved[i], -1);
    if (saved[i].tag != kList) continue;
    const List& list = list_of(saved[i]);
    for (size_t k = 0; k < list.size(); ++k)
      if (list[k].tag == TL_TENSOR) check_version(list[k], p.saved[i], static_cast<int>(k));
  }
}

// The edge that belongs to a saved argument.
Edge ProgramNode::edge_of(const TlSaved& what, int element) const {
  if (what.source != TL_SOURCE_ARG) return {};
  const TlProgram& p = recorder.derivative->program;
  for (int t = 0; t < p.n_targets; ++t)
    if (p.targets[t].arg == what.index) return edges[first_edge()[t] + std::max(element, 0)];
  return {};
}

// What a program reads where it cannot read the saved values as they are.
struct ProgramNode::Presented {
  std::vector<TlValue> values;
  std::vector<Tensor> holders;
  std::vector<std::unique_ptr<List>> lists;
};

// A saved tensor with the place in the graph that it had, for a derivative that is recorded itself.
TlValue ProgramNode::linked_tensor(const TlValue& v, const TlSaved& what, int element, Presented& out) const {
  Edge wanted = edge_of(what, element);
  if (what.source == TL_SOURCE_RESULT)
    wanted = {const_cast<ProgramNode*>(this), static_cast<uint32_t>(element < 0 ? what.index : element)};
  const void* slot = api->slot_get(v.u.t, TL_LAYER_AUTOGRAD);
  Edge has = slot ? read_slot(slot) : Edge{};
  if (auto* leaf = as_leaf(has.node); leaf && !leaf->requires_grad) has = {};
  if (has.node == wanted.node && has.output == wanted.output) return v;
  Tensor alias = alias_in_levels(v.u.t);
  if (wanted.node && is_differentiable(api->tensor_dtype(v.u.t))) {
    wanted.node->retain();
    set_slot(alias.get(), wanted.node, wanted.output);
  }
  return value(out.holders.emplace_back(std::move(alias)));
}

TlValue ProgramNode::presented(const TlValue& v, const TlSaved& what, int element, bool linked,
                               Presented& out) const {
  TlValue t = v;
  if (v.tag == kPacked) {
    t = value(out.holders.emplace_back(unpack(v)));
    if (is_in_other_level(v, t.u.t)) return t;
  }
  return linked && t.tag == TL_TENSOR ? linked_tensor(t, what, element, out) : t;
}

void ProgramNode::present(uint32_t blocks, bool linked, Presented& out) const {
  const TlProgram& p = recorder.derivative->program;
  for (int i = 0; i < p.n_saved; ++i) {
    const TlSaved& what = p.saved[i];
    TlValue v = saved[i];
    if (what.meta != TL_META_VALUE || !(what.blocks & blocks)) {
      out.values.push_back(v);
    } else if (v.tag == kList) {
      List& list = *out.lists.emplace_back(std::make_unique<List>(list_of(v)));
      for (size_t k = 0; k < list.size(); ++k)
        list[k] = presented(list[k], what, static_cast<int>(k), linked, out);
      out.values.push_back({kList, 0, {.p = &list}});
    } else {
      out.values.push_back(presented(v, what, -1, linked, out));
    }
  }
}

TlValue ProgramNode::read_saved(int i) const {
  if (is(Released)) fail_released();
  const TlSaved& what = recorder.derivative->program.saved[i];
  const TlValue& v = saved[i];
  if (what.meta != TL_META_VALUE || (v.tag != TL_TENSOR && v.tag != kPacked)) return keep(v);
  if (v.tag == TL_TENSOR) check_version(v, what, -1);
  Presented out;
  const TlValue t = presented(v, what, -1, true, out);
  api->tensor_retain(t.u.t);
  return {TL_TENSOR, 0, {.t = t.u.t}};
}

TlValue* ProgramNode::saved_result(uint32_t output) {
  const TlProgram& p = recorder.derivative->program;
  for (int i = 0; i < p.n_saved; ++i) {
    if (p.saved[i].source != TL_SOURCE_RESULT || p.saved[i].meta != TL_META_VALUE) continue;
    if (saved[i].tag == kList)
      return output < list_of(saved[i]).size() ? &writable_list(saved[i])[output] : nullptr;
    if (static_cast<uint32_t>(p.saved[i].index) == output) return &saved[i];
  }
  return nullptr;
}

// ---- running ----------------------------------------------------------------------------------------------

void ProgramNode::fix(TlTensor** out) const {
  for (const Fix& f : *fixes) {
    if (!out[f.edge]) continue;
    Tensor g(out[f.edge]);
    out[f.edge] = nullptr;
    if (!same_shape(g.get(), f.meta.sizes.size(), f.meta.sizes.data()))
      g = sum_to_size(g.get(), f.meta.sizes.size(), f.meta.sizes.data());
    if (api->tensor_dtype(g.get()) != f.meta.dtype || api->tensor_device(g.get()) != f.meta.device)
      g = converted(g.get(), f.meta.dtype, f.meta.device);
    out[f.edge] = g.take();
  }
}

namespace {
uint32_t needed_blocks(const Derivative& derivative, const Inputs& in) {
  uint32_t blocks = 0;
  for (int b = 0; b < derivative.program.n_blocks; ++b)
    if (block_needed(derivative, in, b)) blocks |= 1u << b;
  return blocks;
}
}  // namespace

void ProgramNode::apply(const GradientsIn& in, TlTensor** out) {
  NodeLock lock(*this);
  if (std::any_of(in.grads, in.grads + in.count, [](TlTensor* g) { return g; })) run(in, out);
  if (in.last) free_saved();
}

void ProgramNode::run(const GradientsIn& in, TlTensor** out) {
  if (is(Released)) fail_released();
  Inputs inputs{saved, in.grads, in.count, in.needs, first_edge(), lists ? lists->results.data() : nullptr};
  const uint32_t blocks = needed_blocks(*recorder.derivative, inputs);
  check_versions(blocks);
  Presented presented;
  if (in.create_graph || is(HoldsPacked)) {
    present(blocks, in.create_graph, presented);
    inputs.saved = presented.values.data();
  }
  run_program(*recorder.derivative, inputs, out);
  if (fixes) fix(out);
}

}  // namespace tl::autograd
