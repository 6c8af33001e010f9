// The layers whose calls Python may take over: `python` below autograd, where operators made of others have
// been taken apart, and `trace` above it, where they are whole. A thread has a stack of modes for each;
// tensors may bring a handler of their own to `python`.
#pragma once

#include <optional>
#include <vector>

#include "dispatch/operator.h"
#include "tensor/hollow.h"

namespace tl {

inline constexpr uint64_t kPythonBit = uint64_t{1} << TL_LAYER_PYTHON;

// Runs a call by the handler of the layer's innermost mode, or by those of the arguments' classes if there is
// none or it declines; raises.
using PythonCall = void (*)(const Operator& op, int layer, const TlValue* args, int n_args, TlValue* rets,
                            int n_rets);
void set_python_call(PythonCall call);

// Whether a tensor whose handler says its strides lies in the order of a memory format; raises.
using SaysContiguous = bool (*)(const Tensor& t, MemoryFormat format);
void set_says_contiguous(SaysContiguous says);
// Nothing: the stored strides say it, or the thread is below the handlers.
std::optional<bool> contiguous_by_handler(const Tensor& t, MemoryFormat format);

// Before the first mode or tensor that needs them; until then no operator knows the layers. With them comes
// the one of hollow tensors: operators that are not made of others are refused, views are as their base.
void install_python_layers();
// Whether they are: before the first handler of the process they are not.
bool python_layers_installed();

// A mode and its place: those of a lower rank stand below, those of users above all others.
struct Mode {
  void* handler = nullptr;
  int rank = kUsers;
  static constexpr int kUsers = 255;
};

// Runs a call by the handlers of its arguments, whatever layer it has come to; raises.
void run_by_handlers(const Operator& op, const TlValue* args, int n_args, TlValue* rets, int n_rets);

// The layers that were switched off when the call began whose handler is running; in no handler, those that
// are off now.
uint64_t excluded_before_handler();

// The thread's next call of the operator passes the modes above autograd by; what it calls meets them. NULL:
// none does.
void pass_modes_once(const Operator* op);

// The operator whose last call on the thread a handler below autograd took over, to be compared after a call;
// forgotten before one.
const Operator* last_handled();
void forget_last_handled();

bool is_python_layer(int layer);
void push_mode(int layer, Mode mode);  // as the innermost of its rank
Mode pop_mode(int layer);              // the innermost; without a handler if there is none
Mode take_mode(int layer, int rank);   // the innermost of the rank; likewise
std::span<const Mode> modes_of(int layer);

// Inside, the thread has no modes.
class AllModesOff {
 public:
  AllModesOff();
  ~AllModesOff();
  AllModesOff(const AllModesOff&) = delete;

 private:
  std::vector<Mode> trace_, python_;
};

// Inside, one mode of the thread is off: the innermost of a layer.
class InnermostModeOff {
 public:
  explicit InnermostModeOff(int layer) : layer_(layer), mode_(pop_mode(layer)) {}
  ~InnermostModeOff() {
    if (mode_.handler) push_mode(layer_, mode_);
  }
  InnermostModeOff(const InnermostModeOff&) = delete;
  void* handler() const { return mode_.handler; }

 private:
  int layer_;
  Mode mode_;
};

}  // namespace tl
