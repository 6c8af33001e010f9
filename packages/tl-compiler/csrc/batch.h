// The work of a region that waits: a program, and the pending tensors that stand for its results.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "program.h"
#include "recipe.h"
#include "remainder.h"

namespace tl::compiler {

// The step of a batch that a pending tensor stands for; no batch where it has its memory.
class Batch;
struct PendingStep {
  std::shared_ptr<Batch> batch;
  int step = -1;
};
PendingStep pending_step_of(TlTensor* t);

class Batch : public std::enable_shared_from_this<Batch> {
 public:
  enum class Added { Yes, No, Closed };

  // Adds the loops of a call, and gives it pending results. `No`: the call is to be made as always; `Closed`:
  // it belongs into another batch.
  Added add(const TlOperator* op, const TlValue* args, int n_args, TlValue* rets, int n_rets);
  // The same for a call that writes over a result that waits, given as its functional form: the tensor stands
  // for the new step from now on.
  Added overwrite(const TlOperator* functional, const TlValue* args, int n_args);
  // Computes what somebody still holds, once. Where that fails, the error is thrown and the results wait on.
  void settle() { compute(nullptr); }
  // The same, but what only nodes hold may wait on as a remainder, which another batch can absorb. `asked`:
  // the pending tensors, by number, that have to be computed in any case.
  void close(const std::vector<uint64_t>& asked) { compute(&asked); }
  void drop(int step);  // the last holder of a result is gone

 private:
  static constexpr size_t kMaxSteps = 512;
  enum class State { Open, Waiting, Running, Done };
  struct Held {
    int step;
    uint64_t id;
    Tensor tensor;
  };

  // Where the arguments wait. Another batch's are computed if this one may not absorb it.
  std::vector<PendingStep> pending_steps_of(const TlValue* args, int n_args, bool overwrites);
  bool is_full() const { return program_.steps.size() >= kMaxSteps; }
  bool has_absorbed(const Batch& other) const;
  bool may_absorb(const Batch& other) const;
  bool absorb(std::vector<PendingStep>& pending);
  int absorb(Batch& remainder);
  bool reads_as_written(const Recipe& recipe, const std::vector<PendingStep>& pending) const;
  void append(const Recipe& recipe, const TlValue* args, const std::vector<PendingStep>& pending);
  void append(const Step& step, std::pair<uint64_t, int> origin);
  int input_of(TlTensor* t);
  void give_results(const Recipe& recipe, const TlValue* args, int first, TlValue* rets, int n_rets);
  bool begin(State& before);
  void compute(const std::vector<uint64_t>* asked);
  std::vector<Held> hold();
  Remainder choose(const std::vector<Held>& held, const std::vector<uint64_t>* asked) const;
  std::vector<char> spare_inputs() const;
  void provide(const std::vector<Held>& held, const Remainder& remainder, std::vector<Tensor>& memory);
  void keep(const std::vector<Held>& held, const Remainder& remainder, const std::vector<Tensor>& memory);
  void continue_from(const Batch& before, const std::vector<char>& remaining,
                     const std::vector<Tensor>& stored);
  void take_over(Batch& before);
  void end_unless_held();
  void end(State state);

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  State state_ = State::Open;
  std::thread::id runner_;
  Program program_;
  std::vector<uint64_t> key_;  // of its plan: steps of recipes, and where their inputs are from
  bool has_key_ = true;
  std::vector<std::pair<uint64_t, int>> origins_;   // one a step: the recipe, and which of its steps
  std::vector<uint64_t> ids_;                       // one a step; 0: the result is not held
  std::vector<const void*> storages_;               // of the results
  std::unordered_map<const void*, int> inputs_of_;  // by storage
  bool is_remainder_ = false;
  int times_absorbed_ = 0;
  std::vector<std::pair<std::shared_ptr<Batch>, int>> absorbed_;  // remainders, and where their steps begin
};

// Computes what reads a storage, before somebody writes to it.
void open_storage(const void* storage);
// Whether a tensor is pending, or read by what waits.
inline bool is_awaited(TlTensor* t) { return api->storage_bits_get(t) & kDeferBit; }
// What tl-core calls.
const TlDeferral& deferral();

}  // namespace tl::compiler
