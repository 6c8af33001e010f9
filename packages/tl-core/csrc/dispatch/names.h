// The layer of named tensors: which names results have. Off where no tensor has any.
#pragma once

#include "dispatch/operator.h"
#include "tensor/names.h"

namespace tl {

// How the names of an operator's results follow from those of its arguments.
enum class NameRule : uint8_t {
  Refused,   // it does not take named tensors
  Through,   // what it is made of decides; or it gives no tensor
  Keep,      // those of the first tensor; `expand` adds unnamed ones on the left
  Unify,     // of all tensors, broadcast from the right
  Reduce,    // without those of `dim`, unless `keepdim`
  Remove,    // without that of `dim`
  Squeeze,   // without those of `dim` whose size is one
  Permute,   // in the order of `dims`, or `dim0` and `dim1` exchanged
  Contract,  // of a product of matrices, and of what is added to it
  Pairs,     // of the rows of one and the rows of the other
  Diagonal,  // without those of `dim1` and `dim2`, and one without a name
  Select,    // one dimension without a name; those of the arguments must fit
  Resize,    // those of the first tensor, whose shape stays; without any, of the second
  Drop,      // none
  Equal,     // the result is False where names differ
};
extern const NameRule kNameRules[];  // generated, in the order of g_operators

// Inside, tensors with names are as any others, and results have none.
class NamesOff {
 public:
  NamesOff();
  ~NamesOff();
  NamesOff(const NamesOff&) = delete;
  NamesOff& operator=(const NamesOff&) = delete;

 private:
  uint64_t before_;
};

void install_names();

// The names of broadcast dimensions, from the right; raises where two don't match or stand at different
// places.
Names unified(const Names& a, const Names& b);

}  // namespace tl
