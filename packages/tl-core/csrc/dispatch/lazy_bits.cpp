// Lazy conjugation and negation: bits are resolved for kernels, toggled on views, written through for out=.
#include "dispatch/lazy_bits.h"

#include "dispatch/python.h"
#include "dispatch/substituted_call.h"

namespace tl {

namespace {
const Operator& conjugated() {
  static const Operator& op = operator_named("_conj_physical.out");
  return op;
}
const Operator& negated() {
  static const Operator& op = operator_named("neg.out");
  return op;
}

Tensor call_unary(const char* name, const Tensor& t) { return call_typed<Tensor>(operator_named(name), t); }

// Elements for a marked tensor, as its memory has to hold them.
void write_through(const Tensor& marked, const Tensor& elements) {
  const Tensor memory = view_of(marked, marked.sizes(), marked.strides(), marked.offset());
  const bool both = marked->has(TensorImpl::Conjugated) && marked->has(TensorImpl::Negated);
  const Tensor resolved = both ? call_unary("neg", elements) : elements;
  const Operator& last = marked->has(TensorImpl::Conjugated) ? conjugated() : negated();
  call_typed<Tensor>(last, resolved, memory);
  if (marked->has(TensorImpl::PrivateVersion)) bump_version(*marked.impl());
}

// The call with the elements of marked tensors written out.
class ResolvedCall final : public SubstitutedCall {
 public:
  using SubstitutedCall::SubstitutedCall;

 private:
  Tensor stand_in(const Tensor& t, int arg) override {
    if (!t->conj_neg_bits()) return {};
    const bool only_written = op_.info.variant == TL_OUT && (op_.written_mask >> arg & 1);
    return only_written ? empty_strided(t.sizes(), t.strides(), {t.dtype(), t.device()}) : resolved(t);
  }
  int call(const TlValue* args, int n_args, TlValue* rets, int n_rets) override {
    return call_past(op_, TL_LAYER_LAZYBITS, args, n_args, rets, n_rets);
  }
  // What is made of other operators stands above the graph of derivatives, and so does its last write.
  void write_back(const Tensor& given, const Tensor& written) override {
    if (op_.info.is_composite)
      call_typed<Tensor>(operator_named("copy_"), given, written, false);
    else
      write_through(given, written);
  }
};

int call_resolved(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] { ResolvedCall(*static_cast<const Operator*>(ctx), args, n_args).run(rets, n_rets); });
}

// Views of a tensor with lazy bits have them, too, on top of those they were made with; a handler's results
// have the bits that the handler gave them.
int call_view(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  const Operator& op = *static_cast<const Operator*>(ctx);
  forget_last_handled();
  const int status = call_past(op, TL_LAYER_LAZYBITS, args, n_args, rets, n_rets);
  if (status != 0 || last_handled() == &op) return status;
  const uint16_t conj_neg_bits = reinterpret_cast<const TensorImpl*>(args[0].u.t)->conj_neg_bits();
  if (rets[0].tag == TL_TENSOR) {
    toggle_conj_neg_bits(*reinterpret_cast<TensorImpl*>(rets[0].u.t), conj_neg_bits);
  } else {
    auto* list = static_cast<TensorImpl* const*>(rets[0].u.p);
    for (uint32_t i = 0; i < rets[0].len; ++i) toggle_conj_neg_bits(*list[i], conj_neg_bits);
  }
  return 0;
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  void* ctx = const_cast<TlOperator*>(op);
  switch (op->conj_neg_bits) {
    case ConjNegBits::Resolved:
      *out = {call_resolved, ctx};
      break;
    case ConjNegBits::Inherited:
      *out = {call_view, ctx};
      break;
    case ConjNegBits::Visible:
      *out = {nullptr, nullptr};
  }
  return 0;
}
}  // namespace

void install_lazy_bits() { install_layer(TL_LAYER_LAZYBITS, bind, nullptr); }

namespace {
// The result of an operator that takes a bit off; a handler may return a tensor that has the bit again, or
// another one.
Tensor checked(const char* op, uint16_t bit, const Tensor& t, Tensor result) {
  const uint16_t rest = t->conj_neg_bits() & ~bit;
  TL_CHECK(!(result->conj_neg_bits() & ~rest), Runtime, op,
           "(): a __torch_dispatch__ handler must return a tensor without the ",
           bit == TensorImpl::Conjugated ? "conjugate" : "negative", " bit and without new bits");
  return result;
}
Tensor without(uint16_t bit, const char* view, const Tensor& t) {
  return checked(view, bit, t, call_unary(view, t));
}
}  // namespace

Tensor without_conj(const Tensor& t) { return without(TensorImpl::Conjugated, "_conj", t); }

Tensor resolve_conj(const Tensor& t) {
  if (!t->has(TensorImpl::Conjugated)) return t;
  constexpr const char* kPhysical = "_conj_physical";
  return checked(kPhysical, TensorImpl::Conjugated, t, call_unary(kPhysical, without_conj(t)));
}
Tensor resolve_neg(const Tensor& t) {
  if (!t->has(TensorImpl::Negated)) return t;
  const Tensor plain = without(TensorImpl::Negated, "_neg_view", t);
  return checked("neg", TensorImpl::Negated, t, call_unary("neg", plain));
}

Tensor resolved(const Tensor& t) {
  if (!t->conj_neg_bits()) return t;
  return call_unary("resolve_neg", call_unary("resolve_conj", t));
}

}  // namespace tl
