// Named tensors: the row's rule infers the names of its results from those of its arguments.
#include "dispatch/names.h"

#include <algorithm>
#include <optional>
#include <string>

#include "dispatch/tensors.h"
#include "dispatch/thread_state.h"

namespace tl {

namespace {
constexpr uint64_t kBit = uint64_t{1} << kNamesLayer;

NameRule rule_of(const Operator& op) {
  const auto index = &op - g_operators;
  return index >= 0 && index < kNumOperatorDefs ? kNameRules[index] : NameRule::Refused;
}

bool appears(Name name, const Names& names) { return std::ranges::find(names, name) != names.end(); }

Names slice(const Names& names, int64_t begin, int64_t end) {
  return Names(names.begin() + begin, names.begin() + end);
}

// Where one dimension has a name and the other none, the name may not stand elsewhere in the other tensor.
void check_aligned(Name name, const Names& other, const Names& named) {
  TL_CHECK(!name || !appears(name, other), Runtime, "Misaligned dims when attempting to broadcast dims ",
           shown(named), " and dims ", shown(other), ": dim ", shown(name),
           " appears in a different position from the right across both lists.");
}

// `all_a` and `all_b` are the names of the whole tensors, where these are only some.
Name unified_name(const Names& a, const Names& b, const Names& all_a, const Names& all_b, size_t from_right) {
  const Name one = from_right < a.size() ? a[a.size() - 1 - from_right] : nullptr;
  const Name other = from_right < b.size() ? b[b.size() - 1 - from_right] : nullptr;
  if (one && other) {
    TL_CHECK(one == other, Runtime, "Error when attempting to broadcast dims ", shown(a), " and dims ",
             shown(b), ": dim ", shown(one), " and dim ", shown(other),
             " are at the same position from the right but do not match.");
    return one;
  }
  check_aligned(one, all_b, all_a);
  check_aligned(other, all_a, all_b);
  return one ? one : other;
}

// One call: its arguments, and the names that its results are to have.
Names unified_parts(const Names& a, const Names& b, const Names& all_a, const Names& all_b) {
  const size_t n = std::max(a.size(), b.size());
  Names names(n);
  for (size_t i = 0; i < n; ++i) names[n - 1 - i] = unified_name(a, b, all_a, all_b, i);
  return names;
}

void check_distinct(const Operator& op, const Names& names) {
  for (size_t i = 0; i < names.size(); ++i)
    TL_CHECK(!names[i] || std::find(names.begin(), names.begin() + i, names[i]) == names.begin() + i, Runtime,
             op.info.name, ": the result would be a tensor with duplicate names: ", shown(names));
}

class Inference {
 public:
  Inference(const Operator& op, const TlValue* args, int n_args, int n_rets)
      : op_(op),
        rule_(rule_of(op)),
        args_(args),
        n_in_(op.info.variant == TL_OUT ? n_args - n_rets : n_args) {}

  Names results() const {
    switch (rule_) {
      case NameRule::Keep:
        return first();
      case NameRule::Unify:
        return all_unified();
      case NameRule::Reduce:
        return flag("keepdim") ? first() : without(reduced(), false);
      case NameRule::Remove:
        return without(reduced(), false);
      case NameRule::Squeeze:
        return without(reduced(), true);
      case NameRule::Permute:
        return permuted();
      case NameRule::Contract:
        return contracted();
      case NameRule::Select:
        all_unified();
        return {nullptr};
      case NameRule::Pairs:
        return paired();
      case NameRule::Diagonal:
        return diagonal();
      case NameRule::Resize:
        return resized();
      default:
        return {};
    }
  }

 private:
  const TlValue* argument(std::string_view name) const {
    for (int i = 0; i < n_in_; ++i)
      if (op_.info.args[i].name == name) return &args_[i];
    return nullptr;
  }
  bool flag(std::string_view name) const {
    const TlValue* v = argument(name);
    return v && v->tag == TL_BOOL && v->u.i;
  }

  const TensorImpl& tensor(int k) const {  // the k-th tensor among the arguments
    for (int i = 0; i < n_in_; ++i)
      for (const TensorImpl* t : tensors_of(args_[i]))
        if (t && k-- == 0) return *t;
    fail(ErrorKind::Runtime, op_.info.name, ": there are no names to infer from");
  }
  int n_tensors() const {
    int count = 0;
    for (int i = 0; i < n_in_; ++i)
      for (const TensorImpl* t : tensors_of(args_[i])) count += t != nullptr;
    return count;
  }
  Names first() const { return names_of(tensor(0)); }

  Names all_unified() const {
    Names names = first();
    for (int k = 1, n = n_tensors(); k < n; ++k) names = unified(names, names_of(tensor(k)));
    return names;
  }

  // Which dimensions `dim` or `dims` means; without, all.
  std::vector<bool> reduced() const {
    const int64_t n = tensor(0).ndim;
    const TlValue* v = argument("dim");
    if (!v) v = argument("dims");
    const bool all = !v || v->tag == TL_NONE || (v->tag == TL_INT_LIST && v->len == 0);
    std::vector<bool> chosen(n, all);
    const auto choose = [&](int64_t d) {
      if (d < 0) d += n;
      if (d >= 0 && d < n) chosen[d] = true;  // others are the operator's to refuse
    };
    if (!all && v->tag == TL_INT) choose(v->u.i);
    if (!all && v->tag == TL_INT_LIST)
      for (uint32_t i = 0; i < v->len; ++i) choose(static_cast<const int64_t*>(v->u.p)[i]);
    return chosen;
  }

  Names without(const std::vector<bool>& chosen, bool ones_only) const {
    const TensorImpl& t = tensor(0);
    const Names names = names_of(t);
    Names left;
    for (size_t d = 0; d < names.size(); ++d)
      if (!chosen[d] || (ones_only && t.sizes()[d] != 1)) left.push_back(names[d]);
    return left;
  }

  static int64_t wrapped(int64_t d, int64_t n) { return d < 0 ? d + n : d; }

  Names permuted() const {
    const Names names = first();
    const auto n = static_cast<int64_t>(names.size());
    if (const TlValue* dims = argument("dims")) {
      Names made;
      for (uint32_t i = 0; i < dims->len; ++i) {
        const int64_t d = wrapped(static_cast<const int64_t*>(dims->u.p)[i], n);
        made.push_back(d >= 0 && d < n ? names[d] : nullptr);
      }
      return made;
    }
    const TlValue *one = argument("dim0"), *other = argument("dim1");
    const int64_t a = one ? wrapped(one->u.i, n) : 0, b = other ? wrapped(other->u.i, n) : 1;
    Names made = names;
    if (a >= 0 && a < n && b >= 0 && b < n) std::swap(made[a], made[b]);
    return made;
  }

  // The last two tensors are multiplied; one before them is added.
  Names contracted() const {
    const int n = n_tensors();
    const Names product = multiplied(names_of(tensor(n - 2)), names_of(tensor(n - 1)));
    check_distinct(op_, product);
    return n > 2 ? unified(first(), product) : product;
  }
  static Names batch(const Names& names) {
    return slice(names, 0, std::max<int64_t>(static_cast<int64_t>(names.size()) - 2, 0));
  }
  // Of the distances of each row of one to each of the other.
  Names paired() const {
    const Names a = names_of(tensor(0)), b = names_of(tensor(1));
    Names made = unified_parts(batch(a), batch(b), a, b);
    if (a.size() > 1) made.push_back(a[a.size() - 2]);
    if (b.size() > 1) made.push_back(b[b.size() - 2]);
    return made;
  }
  Names diagonal() const {
    const Names names = first();
    const auto n = static_cast<int64_t>(names.size());
    const int64_t a = wrapped(argument("dim1")->u.i, n), b = wrapped(argument("dim2")->u.i, n);
    Names made;
    for (int64_t d = 0; d < n; ++d)
      if (d != a && d != b) made.push_back(names[d]);
    made.push_back(nullptr);
    return made;
  }
  static Names multiplied(const Names& a, const Names& b) {
    const auto n = static_cast<int64_t>(a.size()), m = static_cast<int64_t>(b.size());
    Names made;
    if (n > 2 || m > 2) made = unified_parts(batch(a), batch(b), a, b);
    if (n > 1) made.push_back(a[n - 2]);
    if (m > 1) made.push_back(b[m - 1]);
    return made;
  }

  // A tensor with names keeps its shape and them; one without takes those of the tensor it becomes like.
  Names resized() const {
    const TensorImpl& t = tensor(0);
    const TlValue* size = argument("size");
    const Names names = size ? first() : names_of(tensor(1));
    if (!has_names(t)) return names;
    check_same_shape(size ? Unbox<IntSpan>::get(*size) : tensor(1).sizes());
    TL_CHECK(names == names_of(t), Runtime, op_.info.name, ": the names ", shown(names_of(t)),
             " are not the same as the computed output names ", shown(names));
    return names;
  }
  void check_same_shape(IntSpan wanted) const {
    const TensorImpl& t = tensor(0);
    TL_CHECK(std::ranges::equal(t.sizes(), wanted), Runtime, "Cannot resize named tensor with ",
             op_.info.name, "(): it may not change the shape of a tensor with names ", shown(names_of(t)),
             ". Drop them with rename(None) first");
  }

  const Operator& op_;
  NameRule rule_;
  const TlValue* args_;
  int n_in_;
};

// An `out=` that has names keeps exactly those.
void check_out(const Names& computed, const TensorImpl& out) {
  if (!has_names(out)) return;
  TL_CHECK(names_of(out) == computed, Runtime, "Name mismatch: the tensor out= has names ",
           shown(names_of(out)), " but those of the result are ", shown(computed),
           ": they must be the same, or out= without names");
}

// `expand` adds dimensions on the left, which have no names.
Names fitted(Names names, size_t ndim) {
  if (names.size() < ndim) names.insert(names.begin(), ndim - names.size(), nullptr);
  return names;
}

void attach(const Operator& op, const Names& names, const TlValue& ret) {
  for (TensorImpl* t : tensors_of(ret)) {
    if (!t) continue;
    const bool grows = rule_of(op) == NameRule::Keep;
    set_names(*t, grows ? fitted(names, t->ndim) : names);
  }
}

int run(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] {
    const Operator& op = *static_cast<const Operator*>(ctx);
    const Names names = Inference(op, args, n_args, n_rets).results();
    check_distinct(op, names);
    if (op.info.variant == TL_OUT)
      for (int i = 0; i < n_rets; ++i)
        for (const TensorImpl* out : tensors_of(args[n_args - n_rets + i]))
          if (out) check_out(names, *out);
    {
      const NamesOff off;
      if (call_past(op, kNamesLayer, args, n_args, rets, n_rets) != 0) throw_pending();
    }
    if (rule_of(op) == NameRule::Drop) return;
    for (int i = 0; i < n_rets; ++i) attach(op, names, rets[i]);
  });
}

// Equal names, then equal elements.
int run_equal(void* ctx, const TlValue* args, int n_args, TlValue* rets, int n_rets) noexcept {
  return guarded([&] {
    const Operator& op = *static_cast<const Operator*>(ctx);
    if (names_of(*tensors_of(args[0])[0]) != names_of(*tensors_of(args[1])[0])) {
      rets[0] = {TL_BOOL, 0, {.i = 0}};
      return;
    }
    const NamesOff off;
    if (call_past(op, kNamesLayer, args, n_args, rets, n_rets) != 0) throw_pending();
  });
}

int refuse(void* ctx, const TlValue*, int, TlValue*, int) noexcept {
  return guarded([&] {
    fail(ErrorKind::Runtime, static_cast<const Operator*>(ctx)->info.name,
         " is not yet supported with named tensors. Please drop names via `tensor = tensor.rename(None)`, "
         "call "
         "the op with an unnamed tensor, and set names on the result of the operation.");
  });
}

TlCall call_of(NameRule rule) {
  switch (rule) {
    case NameRule::Through:
      return nullptr;
    case NameRule::Refused:
      return refuse;
    case NameRule::Equal:
      return run_equal;
    default:
      return run;
  }
}

int bind(void*, const TlOperator* op, TlLayerEntry* out) {
  *out = {call_of(rule_of(*op)), const_cast<TlOperator*>(op)};
  return 0;
}
}  // namespace

NamesOff::NamesOff() : before_(thread_locals().excluded) { thread_locals().excluded |= kBit; }
NamesOff::~NamesOff() { thread_locals().excluded = before_; }

Names unified(const Names& a, const Names& b) { return unified_parts(a, b, a, b); }

void install_names() { install_layer(kNamesLayer, bind, nullptr); }

}  // namespace tl
