// Gradients averaged over a group while the backward pass still runs. A bucket is filled and scaled in one
// pass when its last gradient has arrived, and reduced in order: by the group's engine, or by a callback
// where a communication hook or a backend in Python does so. The end of the last bucket gives all gradients
// back.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "group/group.h"

namespace tl::distributed {

// The program that a reducer serves.
class ReducerCallbacks {
 public:
  virtual ~ReducerCallbacks() = default;
  virtual Tensor gradient(size_t parameter) = 0;  // without a gradient: an empty handle
  virtual void set_gradient(size_t parameter, Tensor gradient) = 0;
  // Calls body while the program holds no lock.
  virtual void while_waiting(const std::function<void()>& body) = 0;
  // Begins the reduction of a bucket that the engine does not reduce. A sparse bucket has no `flat`.
  virtual void start(size_t bucket, const Tensor& flat) = 0;
  // Waits for that reduction, whose result is in `flat`; returns the gradient of a sparse bucket.
  virtual Tensor finish(size_t bucket) = 0;
  // By parameter, whether any rank used it.
  virtual std::vector<char> used_anywhere(const std::vector<char>& used_here) = 0;
};

struct ReducerOptions {
  int size;  // of the group
  bool grads_are_views;
  bool finds_unused;  // ranks may use different parameters
};

// The numbers of a bucket's parameters, which have one type. A sparse bucket has one parameter.
struct BucketPlan {
  std::vector<size_t> parameters;
  bool is_sparse;
};

class Reducer {
 public:
  // Without a group, callbacks reduce all buckets.
  Reducer(std::shared_ptr<Group> group, std::vector<Tensor> parameters, std::vector<BucketPlan> plans,
          ReducerOptions options);

  // Begins a backward pass without gradients for `unused`.
  void prepare(std::vector<size_t> unused);
  void pause() { expecting_ = false; }
  void set_divisor(int64_t divisor) { divisor_ = divisor; }
  void set_hook() { has_hook_ = true; }  // from now on callbacks reduce all buckets, without division
  // Records the arrival of a gradient. False: it is the parameter's second one.
  bool mark(size_t parameter, ReducerCallbacks& callbacks);
  std::vector<size_t> missing() const;  // in a pass that has begun: parameters without a gradient

 private:
  struct Bucket {
    BucketPlan plan;
    Tensor flat;                // empty before the first pass
    std::vector<Tensor> parts;  // views of `flat`
    size_t missing = 0;
    std::shared_ptr<Task> task;  // empty where a callback reduces
  };
  bool leaves_gradients() const { return options_.size == 1 && !has_hook_ && !options_.grads_are_views; }
  void allocate(Bucket& bucket) const;
  void fill(Bucket& bucket, ReducerCallbacks& callbacks) const;
  void set_ready(size_t parameter, ReducerCallbacks& callbacks);
  void start(size_t index, ReducerCallbacks& callbacks);
  void finish(ReducerCallbacks& callbacks);
  std::vector<char> used_parameters(ReducerCallbacks& callbacks) const;
  void give_back(const Bucket& bucket, const std::vector<char>& used, ReducerCallbacks& callbacks) const;

  std::shared_ptr<Group> group_;
  std::vector<Tensor> parameters_;
  ReducerOptions options_;
  int64_t divisor_;
  bool has_hook_ = false;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;
  std::vector<char> ready_;
  std::vector<char> accumulated_;  // gradients that arrived in passes without a reduction
  std::vector<size_t> unused_;
  bool expecting_ = false;
  size_t n_ready_ = 0;
  size_t next_ = 0;
};

}  // namespace tl::distributed
