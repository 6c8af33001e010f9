// Sums of products named by subscripts, contracted two operands at a time.
#include <algorithm>
#include <bitset>
#include <cctype>
#include <limits>
#include <string>

#include "base/operator_switches.h"
#include "ops.h"
#include "tensor/geometry.h"

namespace tl {

namespace {

constexpr int kLetters = 52,
              kLabels = kLetters + 64;  // letters, then the ellipsis' dimensions from the last one
using Labels = std::bitset<kLabels>;

int label_of(char c) { return std::islower(static_cast<unsigned char>(c)) ? c - 'a' : c - 'A' + 26; }
char letter_of(int label) { return static_cast<char>(label < 26 ? 'a' + label : 'A' + label - 26); }

// One operand's subscripts as written; where its ellipsis stands, or -1.
struct Subscripts {
  std::vector<int> letters;
  int ellipsis = -1;
};

// ---- reading the equation ---------------------------------------------------------------------------------

Subscripts read_subscripts(std::string_view text, size_t offset, const std::string& where) {
  Subscripts s;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (c == '.') {
      TL_CHECK(s.ellipsis < 0, Runtime, "einsum(): found '.' for ", where,
               " for which an ellipsis was already found");
      TL_CHECK(text.substr(i, 3) == "...", Runtime, "einsum(): found '.' for ", where,
               " that is not part of any ellipsis");
      s.ellipsis = static_cast<int>(s.letters.size());
      i += 2;
      continue;
    }
    TL_CHECK(std::isalpha(static_cast<unsigned char>(c)), Runtime,
             "einsum(): invalid subscript given at index ", offset + i,
             " in the equation string, subscripts must be in [a-zA-Z]");
    s.letters.push_back(label_of(c));
  }
  return s;
}

struct Equation {
  std::vector<Subscripts> inputs;
  Subscripts output;
  bool has_output = false;

  explicit Equation(std::string_view text) {
    const size_t arrow = text.find("->");
    has_output = arrow != std::string_view::npos;
    const std::string_view left = text.substr(0, arrow);
    for (size_t begin = 0; begin <= left.size();) {
      const size_t end = std::min(left.find(',', begin), left.size());
      inputs.push_back(
          read_subscripts(left.substr(begin, end - begin), begin, cat("operand ", inputs.size())));
      begin = end + 1;
    }
    if (has_output) output = read_subscripts(text.substr(arrow + 2), arrow + 2, "the output");
  }
};

// ---- operands: a tensor and the label of each dimension, all different ------------------------------------

struct Term {
  Tensor tensor;
  std::vector<int> labels;

  Labels set() const {
    Labels s;
    for (const int label : labels) s.set(static_cast<size_t>(label));
    return s;
  }
  int64_t dim_of(int label) const { return std::ranges::find(labels, label) - labels.begin(); }
  bool has(int label) const { return std::ranges::find(labels, label) != labels.end(); }
  int64_t size(int label) const { return tensor.size(dim_of(label)); }
};

// The subscripts with the ellipsis' dimensions in their place.
std::vector<int> spelled(const Subscripts& s, int64_t ellipsis_dims) {
  std::vector<int> labels = s.letters;
  if (s.ellipsis < 0) return labels;
  for (int64_t d = 0; d < ellipsis_dims; ++d)
    labels.insert(labels.begin() + s.ellipsis, static_cast<int>(kLetters + d));
  return labels;
}

// The last dimension moved to a place further in front.
Tensor last_to(const Tensor& t, int64_t dim) {
  DimVector order;
  for (int64_t d = 0; d + 1 < t.dim(); ++d) order.push_back(d);
  order.insert(static_cast<size_t>(dim), t.dim() - 1);
  return ops::permute(t, order);
}

// A repeated subscript means the diagonal.
Term diagonals(Term t) {
  for (size_t i = 0; i < t.labels.size(); ++i) {
    for (size_t j = i + 1; j < t.labels.size();) {
      if (t.labels[i] != t.labels[j]) {
        ++j;
        continue;
      }
      const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
      TL_CHECK(t.tensor.size(a) == t.tensor.size(b), Runtime, "einsum(): subscript ", letter_of(t.labels[i]),
               " is repeated for one operand but the sizes don't match, ", t.tensor.size(b),
               " != ", t.tensor.size(a));
      t.tensor = last_to(ops::diagonal(t.tensor, 0, a, b), a);
      t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
  return t;
}

struct Contraction {
  std::vector<Term> terms;
  std::vector<int> output;
  int64_t sizes[kLabels];

  Contraction(const Equation& e, TensorList tensors) {
    std::fill_n(sizes, kLabels, int64_t{-1});
    const size_t n = e.inputs.size();
    TL_CHECK(!tensors.empty(), Runtime, "einsum(): must provide at least one operand");
    TL_CHECK(tensors.size() <= n, Runtime,
             "einsum(): more operands were provided than specified in the equation");
    TL_CHECK(tensors.size() >= n, Runtime,
             "einsum(): fewer operands were provided than specified in the equation");
    int64_t ellipsis = 0;
    for (size_t i = 0; i < n; ++i) ellipsis = std::max(ellipsis, add(e.inputs[i], tensors[i], i));
    output = e.has_output ? given_output(e.output, ellipsis) : implied_output(e, ellipsis);
  }

 private:
  // The number of dimensions its ellipsis stands for.
  int64_t add(const Subscripts& s, const Tensor& t, size_t i) {
    const int64_t left = t.dim() - static_cast<int64_t>(s.letters.size());
    TL_CHECK(s.ellipsis < 0 ? left == 0 : left >= 0, Runtime,
             "einsum(): the number of subscripts in the equation (", s.letters.size(),
             s.ellipsis < 0 ? ") does not match" : ") is more than", " the number of dimensions (", t.dim(),
             ") for operand ", i, s.ellipsis < 0 ? " and no ellipsis was given" : "");
    Term term = diagonals({t, spelled(s, left)});
    for (const int label : term.labels) note_size(label, term.size(label), i);
    terms.push_back(std::move(term));
    return s.ellipsis < 0 ? 0 : left;
  }

  void note_size(int label, int64_t size, size_t i) {
    int64_t& known = sizes[label];
    TL_CHECK(known < 0 || known == 1 || size == 1 || size == known, Runtime, "einsum(): subscript ",
             label < kLetters ? std::string(1, letter_of(label)) : std::string("..."), " has size ", size,
             " for operand ", i, " which does not broadcast with previously seen size ", known);
    if (known < 0 || known == 1) known = size;
  }

  std::vector<int> given_output(const Subscripts& s, int64_t ellipsis) const {
    Labels seen;
    for (const int label : s.letters) {
      TL_CHECK(sizes[label] >= 0, Runtime, "einsum(): output subscript ", letter_of(label),
               " does not appear in the equation for any input operand");
      TL_CHECK(!seen[static_cast<size_t>(label)], Runtime, "einsum(): output subscript ", letter_of(label),
               " appears more than once in the output");
      seen.set(static_cast<size_t>(label));
    }
    return spelled(s, ellipsis);
  }

  // The ellipsis, then what stands once, capitals first.
  static std::vector<int> implied_output(const Equation& e, int64_t ellipsis) {
    int count[kLetters] = {};
    for (const Subscripts& s : e.inputs)
      for (const int label : s.letters) ++count[label];
    std::vector<int> labels;
    for (int64_t d = ellipsis - 1; d >= 0; --d) labels.push_back(static_cast<int>(kLetters + d));
    for (int i = 0; i < kLetters; ++i) {
      const int label = (i + 26) % kLetters;
      if (count[label] == 1) labels.push_back(label);
    }
    return labels;
  }
};

// ---- two operands at a time -------------------------------------------------------------------------------

// The sum over dimensions that nobody needs any more.
Term without(const Term& t, const Labels& needed) {
  DimVector dims;
  Term left{t.tensor, {}};
  for (size_t d = 0; d < t.labels.size(); ++d) {
    if (needed[static_cast<size_t>(t.labels[d])])
      left.labels.push_back(t.labels[d]);
    else
      dims.push_back(static_cast<int64_t>(d));
  }
  if (!dims.empty()) left.tensor = ops::sum_dim_IntList(t.tensor, dims, false, {});
  return left;
}

// A dimension of size one is dropped where the other term's is longer, or where nobody needs it: a sum of one
// product is the product, which autocast leaves in the operands' common type.
Term without_ones(Term t, const Term& other, const Labels& needed) {
  for (size_t d = t.labels.size(); d-- > 0;) {
    const int label = t.labels[d];
    if (t.tensor.size(static_cast<int64_t>(d)) != 1 || !other.has(label)) continue;
    if (other.size(label) == 1 && needed[static_cast<size_t>(label)]) continue;
    t.tensor = ops::squeeze_dim(t.tensor, static_cast<int64_t>(d));
    t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(d));
  }
  return t;
}

// The dimensions of a pair: of both and kept, of one alone, of both and summed.
struct Roles {
  std::vector<int> batch, left, right, summed;

  Roles(const Term& a, const Term& b, const Labels& needed) {
    for (const int label : a.labels)
      (!b.has(label) ? left : needed[static_cast<size_t>(label)] ? batch : summed).push_back(label);
    for (const int label : b.labels)
      if (!a.has(label)) right.push_back(label);
  }
};

// The dimensions in this order, each group as one.
Tensor grouped(const Term& t, std::initializer_list<const std::vector<int>*> groups) {
  DimVector order, shape;
  for (const std::vector<int>* group : groups) {
    int64_t size = 1;
    for (const int label : *group) {
      order.push_back(t.dim_of(label));
      size *= t.size(label);
    }
    shape.push_back(size);
  }
  return ops::reshape(ops::permute(t.tensor, order), shape);
}

// Without a sum the product of elements, aligned by label.
Term outer_product(const Term& a, const Term& b, const Roles& r) {
  Term result{{}, r.batch};
  result.labels.insert(result.labels.end(), r.left.begin(), r.left.end());
  result.labels.insert(result.labels.end(), r.right.begin(), r.right.end());
  const auto aligned = [&](const Term& t) {
    DimVector order, shape;
    for (const int label : result.labels) {
      if (t.has(label)) order.push_back(t.dim_of(label));
      shape.push_back(t.has(label) ? t.size(label) : 1);
    }
    return ops::reshape(ops::permute(t.tensor, order), shape);
  };
  result.tensor = ops::mul(aligned(a), aligned(b));
  return result;
}

Term pair_product(const Term& first, const Term& second, const Labels& needed) {
  const Term x = without_ones(first, second, needed), y = without_ones(second, first, needed);
  Term a = without(x, needed | y.set()), b = without(y, needed | x.set());
  if (x.tensor.dtype() == y.tensor.dtype() &&
      a.tensor.dtype() != b.tensor.dtype())  // a sum of small integers
    for (Term* t : {&a, &b}) t->tensor = ops::to_dtype(t->tensor, DType::Int64);
  const Roles r(a, b, needed);
  if (r.summed.empty()) return outer_product(a, b, r);
  Term result{{}, r.batch};
  result.labels.insert(result.labels.end(), r.left.begin(), r.left.end());
  result.labels.insert(result.labels.end(), r.right.begin(), r.right.end());
  DimVector shape;
  for (const int label : result.labels) shape.push_back(a.has(label) ? a.size(label) : b.size(label));
  const Tensor product =
      r.batch.empty()
          ? ops::mm(grouped(a, {&r.left, &r.summed}), grouped(b, {&r.summed, &r.right}))
          : ops::bmm(grouped(a, {&r.batch, &r.left, &r.summed}), grouped(b, {&r.batch, &r.summed, &r.right}));
  result.tensor = ops::reshape(product, shape);
  return result;
}

// ---- the order of contractions ----------------------------------------------------------------------------

struct Pair {
  size_t first, second;
};

Labels needed_by_others(const Contraction& c, const Pair& p) {
  Labels needed;
  for (const int label : c.output) needed.set(static_cast<size_t>(label));
  for (size_t i = 0; i < c.terms.size(); ++i)
    if (i != p.first && i != p.second) needed |= c.terms[i].set();
  return needed;
}

// Multiplications, then elements of the result.
std::pair<double, double> cost(const Contraction& c, const Pair& p) {
  const Labels both = c.terms[p.first].set() | c.terms[p.second].set(),
               retained = both & needed_by_others(c, p);
  double work = 1, size = 1;
  for (size_t label = 0; label < kLabels; ++label) {
    if (both[label]) work *= static_cast<double>(c.sizes[label]);
    if (retained[label]) size *= static_cast<double>(c.sizes[label]);
  }
  return {work, size};
}

// The cheapest pair next; of equal ones the first.
Pair cheapest(const Contraction& c) {
  Pair best{0, 1};
  if (c.terms.size() == 2) return best;
  auto lowest = cost(c, best);
  for (size_t i = 0; i < c.terms.size(); ++i) {
    for (size_t j = i + 1; j < c.terms.size(); ++j) {
      const auto price = cost(c, {i, j});
      if (price < lowest) lowest = price, best = {i, j};
    }
  }
  return best;
}

// The order with the fewest multiplications, found by the best order of each subset of the operands (Selinger
// et al., Access Path Selection, 1979). Subsets are masks: bit i is operand i.
class OptimalOrder {
 public:
  static constexpr size_t kMostOperands = 10;  // 3^10 splits take milliseconds

  explicit OptimalOrder(const Contraction& c) : c_(c), best_(size_t{1} << c.terms.size()) {
    const uint32_t all = (uint32_t{1} << c.terms.size()) - 1;
    for (uint32_t set = 1; set <= all; ++set) find(set);
    for (size_t i = 0; i < c.terms.size(); ++i) now_.push_back(uint32_t{1} << i);
    list(all);
  }

  // The operands' current positions for the next product.
  Pair next(size_t step) {
    const auto [a, b] = merges_[step];
    const auto position = [&](uint32_t set) {
      return static_cast<size_t>(std::ranges::find(now_, set) - now_.begin());
    };
    const Pair p{std::min(position(a), position(b)), std::max(position(a), position(b))};
    now_.erase(now_.begin() + static_cast<std::ptrdiff_t>(p.second));
    now_.erase(now_.begin() + static_cast<std::ptrdiff_t>(p.first));
    now_.push_back(a | b);
    return p;
  }

 private:
  struct Best {
    double work = 0;
    uint32_t split = 0;  // one of the two sets that it is the product of; 0 for an operand
    Labels labels;       // of the product
  };

  void find(uint32_t set) {
    Best& best = best_[set];
    best.labels = labels(set);
    if ((set & (set - 1)) == 0) return;
    best.work = std::numeric_limits<double>::infinity();
    for (uint32_t part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
      const Best &a = best_[part], &b = best_[set ^ part];
      const double work = a.work + b.work + multiplications(a.labels | b.labels);
      if (work < best.work) best.work = work, best.split = part;
    }
  }

  // Those that the result or an operand outside needs; of one operand, all.
  Labels labels(uint32_t set) const {
    Labels inside, needed;
    for (const int label : c_.output) needed.set(static_cast<size_t>(label));
    for (size_t i = 0; i < c_.terms.size(); ++i) (set >> i & 1 ? inside : needed) |= c_.terms[i].set();
    return (set & (set - 1)) == 0 ? inside : inside & needed;
  }

  double multiplications(const Labels& labels) const {
    double work = 1;
    for (size_t label = 0; label < kLabels; ++label)
      if (labels[label]) work *= static_cast<double>(c_.sizes[label]);
    return work;
  }

  // The products of a set, those that it needs first.
  void list(uint32_t set) {
    const uint32_t split = best_[set].split;
    if (!split) return;
    list(split);
    list(set ^ split);
    merges_.emplace_back(split, set ^ split);
  }

  const Contraction& c_;
  std::vector<Best> best_;
  std::vector<std::pair<uint32_t, uint32_t>> merges_;
  std::vector<uint32_t> now_;
};

Pair given_pair(const Contraction& c, IntSpan path, size_t step) {
  const int64_t n = static_cast<int64_t>(c.terms.size()), i = path[2 * step], j = path[2 * step + 1];
  TL_CHECK(i >= 0 && j >= 0 && i < n && j < n && i != j, Runtime, "einsum(): invalid contraction path (", i,
           ", ", j, "), expected two different positions below ", n);
  return {static_cast<size_t>(std::min(i, j)), static_cast<size_t>(std::max(i, j))};
}

Tensor in_output_order(const Contraction& c) {
  Labels needed;
  for (const int label : c.output) needed.set(static_cast<size_t>(label));
  const Term t = without(c.terms.front(), needed);
  DimVector order;
  for (const int label : c.output)
    if (t.has(label)) order.push_back(t.dim_of(label));
  Tensor result = ops::permute(t.tensor, order);
  for (size_t d = 0; d < c.output.size(); ++d)
    if (!t.has(c.output[d])) result = ops::unsqueeze(result, static_cast<int64_t>(d));
  return result;
}

Tensor einsum(std::string_view equation, TensorList tensors, std::optional<IntSpan> path) {
  Contraction c(Equation(equation), tensors);
  const size_t steps = tensors.size() - 1, expected = steps ? 2 * steps : 1;
  TL_CHECK(!path || path->size() == expected, Runtime,
           "einsum(): expected contraction path given in path parameter to have size ", expected, " but got ",
           path->size());
  const EinsumOrder order = steps > 1 ? einsum_order.load() : EinsumOrder::Greedy;
  std::optional<OptimalOrder> optimal;
  if (!path && order == EinsumOrder::Optimal && c.terms.size() <= OptimalOrder::kMostOperands)
    optimal.emplace(c);
  for (size_t step = 0; step < steps; ++step) {
    const Pair p = path                                ? given_pair(c, *path, step)
                   : optimal                           ? optimal->next(step)
                   : order == EinsumOrder::LeftToRight ? Pair{0, step ? c.terms.size() - 1 : 1}
                                                       : cheapest(c);
    Term product = pair_product(c.terms[p.first], c.terms[p.second], needed_by_others(c, p));
    c.terms.erase(c.terms.begin() + static_cast<std::ptrdiff_t>(p.second));
    c.terms.erase(c.terms.begin() + static_cast<std::ptrdiff_t>(p.first));
    c.terms.push_back(std::move(product));
  }
  return in_output_order(c);
}

}  // namespace

TL_KERNEL(einsum, einsum)

}  // namespace tl
