// The arguments of a call, of which some tensors are replaced.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core.h"

namespace tl::autograd {

class Arguments {
 public:
  static constexpr int kMax = 40;
  Arguments(const TlValue* args, int n_args) : n_(n_args) {
    if (n_args > kMax) fail(TL_ERROR_NOT_IMPLEMENTED, "a transform met a call of too many arguments");
    for (int i = 0; i < n_args; ++i) values_[static_cast<size_t>(i)] = args[i];
  }

  // Puts f(tensor, number of the argument) in the place of every tensor, where it is one.
  template <class F>
  void replace(F f) {
    for (int i = 0; i < n_; ++i) {
      TlValue& v = values_[static_cast<size_t>(i)];
      if (v.tag == TL_TENSOR)
        v.u.t = replaced(v.u.t, i, f);
      else if (v.tag == TL_TENSOR_LIST)
        replace_list(v, i, f);
    }
  }

  TlValue& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  TlValue* data() { return values_.data(); }
  int size() const { return n_; }
  TlTensor* hold(Tensor t) {
    if (n_held_ == kFew) return more_.emplace_back(std::move(t)).get();
    return (few_[n_held_++] = std::move(t)).get();
  }
  // Room for a list of tensors that lives as long as this.
  TlTensor** new_list(size_t n) { return lists_.emplace_back(new TlTensor*[n + 1]).get(); }
  int64_t* new_ints(size_t n) { return ints_.emplace_back(new int64_t[n + 1]).get(); }

 private:
  template <class F>
  TlTensor* replaced(TlTensor* t, int i, F& f) {
    Tensor other = f(t, i);
    return other ? hold(std::move(other)) : t;
  }
  template <class F>
  void replace_list(TlValue& v, int i, F& f) {
    auto* given = static_cast<TlTensor* const*>(v.u.p);
    TlTensor** list = new_list(v.len);
    for (uint32_t k = 0; k < v.len; ++k) list[k] = given[k] ? replaced(given[k], i, f) : nullptr;
    v.u.p = list;
  }

  int n_;
  std::array<TlValue, kMax> values_;
  // Few calls have more tensors than fit without memory of their own.
  static constexpr size_t kFew = 4;
  size_t n_held_ = 0;
  std::array<Tensor, kFew> few_;
  std::vector<Tensor> more_;
  std::vector<std::unique_ptr<TlTensor*[]>> lists_;
  std::vector<std::unique_ptr<int64_t[]>> ints_;
};

// f(tensor, number of the argument) for every tensor of a call.
template <class F>
void each_tensor(const TlValue* args, int n_args, F f) {
  for (int i = 0; i < n_args; ++i) {
    if (args[i].tag == TL_TENSOR) f(args[i].u.t, i);
    if (args[i].tag != TL_TENSOR_LIST) continue;
    auto* list = static_cast<TlTensor* const*>(args[i].u.p);
    for (uint32_t k = 0; k < args[i].len; ++k)
      if (list[k]) f(list[k], i);
  }
}

// Results of a call, freed unless they are handed on.
struct Results {
  static constexpr int kMax = 16;
  std::array<TlValue, kMax> values;  // the first n are set
  int n;
  explicit Results(int n) : n(n) { std::fill_n(values.begin(), n, none()); }
  ~Results() {
    for (int i = 0; i < n; ++i) api->value_release(&values[static_cast<size_t>(i)]);
  }
  Results(const Results&) = delete;
  TlValue* data() { return values.data(); }
  TlValue& operator[](int i) { return values[static_cast<size_t>(i)]; }
};

}  // namespace tl::autograd
