// Gradients averaged over a group while the backward pass still runs: buckets in the group's arena, filled
// and scaled in one pass when their last gradient has come, reduced by the group's thread, and given back
// when the last one is over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "group/group.h"

namespace tl::distributed {

// Where the gradients are.
class Gradients {
 public:
  virtual ~Gradients() = default;
  virtual Tensor get(size_t parameter) = 0;  // none: an empty handle
  virtual void set(size_t parameter, Tensor gradient) = 0;
  // Calls body while nothing of the owner is held that others may wait for.
  virtual void while_waiting(const std::function<void()>& body) = 0;
};

class Reducer {
 public:
  // `parameters` give the shapes and types; `buckets` their numbers, of one type in each bucket.
  Reducer(std::shared_ptr<Group> group, std::vector<Tensor> parameters,
          std::vector<std::vector<size_t>> buckets, int64_t divisor, bool grads_are_views);

  void prepare();  // for the next backward pass
  void pause() { expecting_ = false; }
  void set_divisor(int64_t divisor) { divisor_ = divisor; }
  bool is_expecting() const { return expecting_; }
  // A gradient has come. False: it came for the second time.
  bool mark(size_t parameter, Gradients& gradients);
  std::vector<size_t> missing() const;  // after a pass has begun: whose gradients have not come

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    Tensor flat;
    std::vector<Tensor> parts;  // views of `flat`
    size_t missing = 0;
    std::shared_ptr<Task> task;
  };
  void build(const std::vector<size_t>& parameters);
  void start(Bucket& bucket, Gradients& gradients);
  void finish(Gradients& gradients);
  void give_back(Bucket& bucket, Gradients& gradients) const;

  std::shared_ptr<Group> group_;
  std::vector<Tensor> parameters_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;
  std::vector<char> ready_;
  int64_t divisor_;
  bool grads_are_views_;
  bool expecting_ = false;
  size_t n_ready_ = 0;
  size_t next_ = 0;
};

}  // namespace tl::distributed
