// Shadows of arguments, and the kernel's plans as loops whose operands are arguments or earlier loops.
#include "ops/shared/loop_recorder.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/thread_local.h"
#include "iter/dtypes.h"
#include "kernels/cpu/elementwise/cast.h"

namespace tl {

int kernel_elementwise(void*, const TlValue*, int, TlValue*, int) noexcept;

namespace {
thread_local LoopRecorder* t_recorder = nullptr;

// Kernels of several plans, or of one that they choose, which read no element themselves.
constexpr std::string_view kPlanned[] = {
    "celu", "clamp",        "clamp.Tensor", "clamp_backward", "clamp_backward_bound", "div.Tensor_mode",
    "elu",  "elu_backward", "gelu",         "gelu_backward",  "leaky_relu_backward",  "pow.Tensor_Tensor",
    "selu", "softshrink",
};
// Copies: one loop that converts.
constexpr std::string_view kCopies[] = {"_to_copy", "clone"};

template <size_t n>
bool among(const std::string_view (&names)[n], const Operator& op) {
  return std::ranges::find(names, std::string_view(op.info.name)) != std::end(names);
}

bool may_have_loops(const Operator& op) {
  if (op.info.variant != TL_FUNCTIONAL || op.info.is_composite) return false;
  return op.kernels[0].call == kernel_elementwise || among(kPlanned, op) || among(kCopies, op);
}

// No layer sees what a kernel calls, and shadows have no bits.
class Recording {
 public:
  explicit Recording(LoopRecorder& recorder)
      : outer_(std::exchange(t_recorder, &recorder)),
        excluded_(std::exchange(thread_locals().excluded, ~uint64_t{0})) {}
  ~Recording() {
    thread_locals().excluded = excluded_;
    t_recorder = outer_;
  }
  Recording(const Recording&) = delete;

 private:
  LoopRecorder* outer_;
  uint64_t excluded_;
};

struct Results {
  TlValue values[4] = {};
  ~Results() {
    for (TlValue& v : values) release(v);
  }
};

bool is_on_cpu(const TlValue& v) { return v.tag == TL_NONE || device_from_abi(v.u.i).is_cpu(); }

// A device among the arguments of a copy; the shadow has another. Whether the copy stays on the CPU.
bool drop_device(const Operator& op, std::vector<TlValue>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (op.info.args[i].kind != TL_ARG_DEVICE) continue;
    if (!is_on_cpu(args[i])) return false;
    args[i] = none();
  }
  return true;
}

void note_copy(LoopRecorder& recorder, const Tensor& out, const Tensor& in) {
  TlLoop loop{};
  loop.name = "copy";
  loop.run = cpu::cast_loop(out.dtype(), in.dtype());
  if (!loop.run || (is_complex(in.dtype()) && !is_complex(out.dtype()))) return recorder.refuse();
  loop.n_inputs = 1;
  loop.operands[0].dtype = loop.operands[0].loop_dtype = dtype_to_abi(out.dtype());
  loop.operands[1].dtype = loop.operands[1].loop_dtype = dtype_to_abi(in.dtype());
  const Tensor* const inputs[] = {&in};
  recorder.note(loop, out, inputs);
}
}  // namespace

LoopRecorder* loop_recorder() { return t_recorder; }

Tensor LoopRecorder::shadow(const Tensor& t, int index) {
  const Device meta{DeviceType::Meta};
  Tensor out =
      on_storage(new_storage(t.storage()->bytes, meta), t.dtype(), t.sizes(), t.strides(), t.offset());
  sources_.push_back({out, TL_FROM_ARGUMENT, index});
  return out;
}

const LoopRecorder::Source* LoopRecorder::source_of(const Tensor& t) const {
  for (const Source& source : sources_)
    if (source.tensor.storage() == t.storage()) return &source;
  return nullptr;
}

bool LoopRecorder::locate(TlLoopOperand& operand, const Tensor& t) const {
  const Source* source = source_of(t);
  if (!source || source->tensor.dtype() != t.dtype()) return false;
  operand.source = source->kind;
  operand.index = source->index;
  operand.ndim = static_cast<int>(t.dim());
  operand.sizes = t.sizes().data();
  operand.strides = t.strides().data();
  operand.offset = t.offset();
  return true;
}

void LoopRecorder::note(TlLoop& loop, const Tensor& out, const Tensor* const* inputs) {
  for (int i = 0; i < loop.n_inputs && whole_; ++i) {
    TlLoopOperand& operand = loop.operands[i + 1];
    if (!inputs[i])
      operand.source = TL_FROM_NUMBER;
    else if (!locate(operand, *inputs[i]))
      whole_ = false;
  }
  if (!whole_) return;
  sources_.push_back({out, TL_FROM_LOOP, n_loops_++});
  locate(loop.operands[0], out);
  if (visit_(user_, &loop) != 0) throw_pending();
}

bool LoopRecorder::refer(const Tensor& t, int64_t& reference) const {
  const Source* source = source_of(t);
  if (!source || source->tensor.dtype() != t.dtype() || source->tensor.offset() != t.offset() ||
      !std::ranges::equal(source->tensor.sizes(), t.sizes()) ||
      !std::ranges::equal(source->tensor.strides(), t.strides()))
    return false;
  reference = source->kind == TL_FROM_LOOP ? source->index : -1 - source->index;
  return true;
}

int record_loops(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets,
                 TlLoopVisit visit, void* user) {
  if (!may_have_loops(op) || n_rets > 4) return 1;
  if (!args) return 0;
  LoopRecorder recorder(visit, user);
  std::vector<TlValue> shadows(args, args + n_args);
  std::vector<Tensor> keep;
  keep.reserve(n_args);
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR_LIST) return 1;
    if (args[i].tag != TL_TENSOR) continue;
    const Tensor& t = Unbox<Tensor>::get(args[i]);
    if (!t.device().is_cpu() || t.is_sparse() || !t.storage()) return 1;
    keep.push_back(recorder.shadow(t, i));
    shadows[i] = value(keep.back());
  }
  if (keep.empty()) return 1;
  const bool copies = among(kCopies, op);
  if (copies && !drop_device(op, shadows)) return 1;
  Results out;
  // The kernel checks and plans as always; on meta it computes nothing.
  {
    const Recording recording(recorder);
    const KernelEntry& k = op.kernels[0];
    if (k.call(k.ctx, shadows.data(), n_args, out.values, n_rets) != 0) return -1;
  }
  if (copies) note_copy(recorder, Unbox<Tensor>::get(out.values[0]), keep[0]);
  for (int i = 0; i < n_rets && recorder.is_whole(); ++i) {
    rets[i].tag = TL_INT;
    if (out.values[i].tag != TL_TENSOR || !recorder.refer(Unbox<Tensor>::get(out.values[i]), rets[i].u.i))
      recorder.refuse();
  }
  if (recorder.is_whole()) return 0;
  for (int i = 0; i < n_rets; ++i) rets[i] = none();
  return 1;
}

}  // namespace tl
