// A call in which other tensors stand in for some of those that were given.
#pragma once

#include "dispatch/operator.h"

namespace tl {

class SubstitutedCall {
 public:
  SubstitutedCall(const Operator& op, const TlValue* args, int n_args)
      : op_(op), args_(args, args + n_args), originals_(args, args + n_args) {}
  SubstitutedCall(const SubstitutedCall&) = delete;
  virtual ~SubstitutedCall() = default;

  // The call with the stand-ins; what it wrote goes back to the tensors that were given.
  void run(TlValue* rets, int n_rets);

 protected:
  // Empty: the tensor stands for itself.
  virtual Tensor stand_in(const Tensor& t, int arg) = 0;
  virtual void replace_other(TlValue&) {}  // an argument that is no tensor
  virtual void check() const {}            // before the call
  virtual int call(const TlValue* args, int n_args, TlValue* rets, int n_rets) = 0;
  virtual void write_back(const Tensor& given, const Tensor& written) = 0;
  virtual void lift(TlValue&) const {}  // a result that is no written argument

  const Operator& op_;
  std::vector<TlValue> args_, originals_;

 private:
  void replace(int arg);
  TensorImpl* replaced(TensorImpl* t, int arg);
  void put_back(int arg);
  void deliver(TlValue* rets, int n_rets) const;

  std::vector<std::vector<TensorImpl*>> lists_;
  std::vector<Tensor> keep_;
};

}  // namespace tl
