// The autograd layer: what recording needs to know of one operator, and the node it leaves behind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "derivative.h"
#include "node.h"

namespace tl::autograd {

struct Recorder {
  explicit Recorder(const TlOperator* op);

  const TlOperator* op;
  const TlOperatorInfo* info;
  std::optional<Derivative> derivative;
  std::string node_name;
  int written = -1;         // the argument that is written, or -1
  int written_target = -1;  // its target, or -1
  bool writes_list = false;
  bool lists = false;          // some target or result is a list
  bool may_broadcast = false;  // two or more tensor arguments
  bool saves_tensors = false;  // some formula reads a tensor
  // Bit i: no formula reads the gradient of result i, as of the permutation of lu_unpack.
  uint32_t constant_results = 0;
  bool moves = false;  // it changes sizes and strides in place, and no element
  std::vector<uint8_t> target_blocks;

  bool saves_tensor(const TlSaved& what) const;  // or a list of them
};

// A node that runs its operator's derivative program.
class ProgramNode final : public Node {
 public:
  struct Lists {
    std::vector<uint32_t> first_edge;
    std::vector<TensorMeta> results;
  };
  struct Fix {  // an input whose shape, dtype or device is not the result's
    uint32_t edge;
    TensorMeta meta;
  };

  static ProgramNode* make(const Recorder& recorder, uint32_t n_outputs, uint32_t n_edges);

  const Recorder& recorder;
  TlValue* saved;
  std::unique_ptr<Lists> lists;
  std::vector<Fix>* fixes = nullptr;

  void apply(const GradientsIn& in, TlTensor** out) override;
  void release() override;
  std::string name() const override { return recorder.node_name; }
  const TlOperator* op() const override { return recorder.op; }
  const void* const* frames() const override {
    if (!recorder.saves_tensors) return nullptr;
    return reinterpret_cast<const void* const*>(saved + recorder.derivative->program.n_saved);
  }

  const uint32_t* first_edge() const;
  // What was saved at place i, for `_saved_…`; raises if it is gone or was changed.
  TlValue read_saved(int i) const;
  TlValue* saved_result(uint32_t output) override;

 protected:
  void dispose() override;

 private:
  ProgramNode(const Recorder& recorder, uint32_t n_outputs, uint32_t n_edges, Edge* edges, TlValue* saved)
      : Node(n_outputs, n_edges, edges), recorder(recorder), saved(saved) {}
  ~ProgramNode() override { delete fixes; }
  size_t bytes() const;
  void forget_saved();
  struct Presented;
  void check_version(const TlValue& v, const TlSaved& what, int element) const;
  void check_versions(uint32_t blocks) const;
  void present(uint32_t blocks, bool linked, Presented& out) const;
  TlValue presented(const TlValue& v, const TlSaved& what, int element, bool linked, Presented& out) const;
  TlValue linked_tensor(const TlValue& v, const TlSaved& what, int element, Presented& out) const;
  Edge edge_of(const TlSaved& what, int element) const;
  void fix(TlTensor** out) const;
  void run(const GradientsIn& in, TlTensor** out);
  void free_saved();
};

// The edges of a call: one a differentiable argument, or one an element of a list.
struct CallEdges {
  static constexpr uint32_t kInline = 8;
  alignas(
      Edge) unsigned char inline_memory[kInline * sizeof(Edge)];  // not cleared: this stands on the hot path
  std::vector<Edge> more;
  Edge* edges = reinterpret_cast<Edge*>(inline_memory);
  uint32_t n = 0;
  uint32_t blocks = 0;               // bit b: a target of block b requires grad
  std::vector<uint32_t> first_edge;  // only with lists

  CallEdges() = default;
  CallEdges(const CallEdges&) = delete;
  bool any() const { return blocks; }
  void add(Edge e, int block);
};
void gather_edges(const Recorder& r, const TlValue* args, CallEdges& out);
// The same with edges that `edge_of(tensor)` finds.
template <class F>
void gather_edges_with(const Recorder& r, const TlValue* args, CallEdges& out, F edge_of);

// A view that was taken without recording requires a gradient as its base does, and passes none on.
bool reads_unrecorded_view(const Recorder& r, const TlValue* args);

// A node keeps results as aliases without their place in the graph, because they own the node; or as they
// are.
enum class SavedResults { Aliased, Shared };

// Makes the node of a call that has run. `before` holds what was saved ahead of the kernel (tag TL_NONE:
// nothing).
ProgramNode* make_node(const Recorder& r, const TlValue* args, const CallEdges& edges,
                       TlTensor* const* outputs, uint32_t n_outputs, TlValue* before,
                       SavedResults how = SavedResults::Aliased);

int install_layer();

template <class F>
void gather_edges_with(const Recorder& r, const TlValue* args, CallEdges& out, F edge_of) {
  const TlProgram& p = r.derivative->program;
  for (int t = 0; t < p.n_targets; ++t) {
    const TlValue& v = args[p.targets[t].arg];
    if (r.lists) out.first_edge.push_back(out.n);
    if (!p.targets[t].is_list) {
      out.add(v.tag == TL_TENSOR ? edge_of(v.u.t) : Edge{}, r.target_blocks[t]);
    } else if (v.tag == TL_TENSOR_LIST) {
      auto* list = static_cast<TlTensor* const*>(v.u.p);
      for (uint32_t i = 0; i < v.len; ++i) out.add(list[i] ? edge_of(list[i]) : Edge{}, r.target_blocks[t]);
    }
  }
  if (r.lists) out.first_edge.push_back(out.n);
}

}  // namespace tl::autograd
