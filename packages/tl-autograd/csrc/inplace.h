// Calls that write their arguments: what is checked and saved before the kernel, and the new history after
// it.
#pragma once

#include "recorder.h"

namespace tl::autograd {

class Writing {
 public:
  // Refuses what cannot be written and saves what the kernel will overwrite.
  Writing(const Recorder& r, const TlValue* args);
  ~Writing();
  void finish(const TlValue* args);  // after the kernel

 private:
  void collect(const TlValue* args);
  void save_overwritten(const TlValue* args);
  bool overwrites(const TlTensor* t) const;

  const Recorder& r_;
  CallEdges edges_;
  std::vector<TlTensor*> written_;
  std::vector<TlValue> before_;
  bool active_ = false;
};

// Raises if recording a write to `t` is impossible: a leaf, a view of one, one of several views.
void check_writable(TlTensor* t);
// `t` was just written: from now on it is output `output` of `node`; the edge to its old value is number
// `self_edge`, or -1.
void rebase(TlTensor* t, Node* node, uint32_t output, int self_edge);

}  // namespace tl::autograd
