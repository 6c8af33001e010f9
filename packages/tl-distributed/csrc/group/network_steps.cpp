// Algorithms between ranks that a network connects: direct exchange, rings, doubling, trees.
// In a direct exchange every rank receives a frame from every other rank, of some only the fingerprint of the
// call. A rank that only sends, or receives from the root alone, would not notice another rank's different
// call.
#include "group/network_steps.h"

#include "group/collectives.h"

namespace tl::distributed {

namespace {
Reduction summed(Reduction reduction) {
  return reduction == Reduction::kAverage ? Reduction::kSum : reduction;
}
}  // namespace

Pieces range(const Pieces& pieces, int64_t offset, int64_t bytes) {
  Pieces parts;
  for (const Piece& piece : pieces) {
    const Piece part = piece.part(offset, bytes);
    offset = std::max<int64_t>(offset - piece.bytes, 0);
    bytes -= part.bytes;
    if (part.bytes > 0) parts.push_back(part);
  }
  return parts;
}

std::pair<int64_t, int64_t> share_of(int64_t whole, int rank, int n) {
  const int64_t each = whole_lines((whole + n - 1) / n), begin = std::min(each * rank, whole);
  return {begin, std::min(each, whole - begin)};
}
Piece share_of(Piece whole, int rank, int n) {
  const auto [begin, bytes] = share_of(whole.bytes, rank, n);
  return whole.part(begin, bytes);
}

char* NetworkSteps::row(int rank, int64_t pitch) {
  if (static_cast<int64_t>(table_.size()) < pitch * size())
    table_.resize(static_cast<size_t>(pitch * size()));
  return table_.data() + pitch * rank;
}

void NetworkSteps::reduce_rows(const Combiner& combiner, Piece own, Piece out, int64_t pitch) {
  const int64_t count = out.bytes / size_of_dtype(call_.dtype);
  if (size() == 2) {
    char* other = row(1 - rank(), pitch);
    return rank() == 0 ? combiner.pair(out.data, own.data, other, count)
                       : combiner.pair(out.data, other, own.data, count);
  }
  copy(row(rank(), pitch), own);
  combiner.runs(out.data, row(0, pitch), pitch, size(), count);
}

void NetworkSteps::barrier() {
  if (is_direct()) {
    const auto nothing = [](int) { return Pieces(); };
    return exchange(frames(nothing), frames(nothing));
  }
  for (int step = 1; step < size(); step *= 2) exchange({{around(step), {}}}, {{around(-step), {}}});
}

// ---- reductions -------------------------------------------------------------------------------------------

void NetworkSteps::all_reduce_small(Piece data, Reduction reduction, int root) {
  if (root < 0 && !is_direct()) return all_reduce_doubling(data, reduction);
  const bool gets = root < 0 || root == rank();
  const int64_t pitch = whole_lines(data.bytes);
  exchange(
      frames([&](int peer) -> Pieces { return {root < 0 || peer == root ? data : Piece()}; }),
      frames([&](int peer) -> Pieces { return {gets ? Piece{row(peer, pitch), data.bytes} : Piece()}; }));
  if (gets) reduce_rows(Combiner(reduction, call_.dtype), data, data, pitch);
}

// Pairs of ranks, of pairs, and so on. The lower ranks' numbers come first, so both have the same bits. The
// ranks beyond a power of two give their numbers to a neighbour before, and get the result afterwards.
void NetworkSteps::all_reduce_doubling(Piece data, Reduction reduction) {
  const Combiner combiner(summed(reduction), call_.dtype);
  const int64_t count = data.bytes / size_of_dtype(call_.dtype);
  const Piece other{row(0, whole_lines(data.bytes)), data.bytes};
  int power = 1;
  while (power * 2 <= size()) power *= 2;
  const int extra = size() - power;
  const bool has_partner = rank() < 2 * extra;
  if (has_partner && rank() % 2) {
    exchange({{rank() - 1, {data}}}, {});
    exchange({}, {{rank() - 1, {data}}});
    return;
  }
  if (has_partner) {
    exchange({}, {{rank() + 1, {other}}});
    combiner.pair(data.data, data.data, other.data, count);
  }
  const int own = has_partner ? rank() / 2 : rank() - extra;
  for (int step = 1; step < power; step *= 2) {
    const int theirs = own ^ step, peer = theirs < extra ? theirs * 2 : theirs + extra;
    exchange({{peer, {data}}}, {{peer, {other}}});
    if (own < theirs)
      combiner.pair(data.data, data.data, other.data, count);
    else
      combiner.pair(data.data, other.data, data.data, count);
  }
  if (reduction == Reduction::kAverage) combiner.divide(data.data, count, size());
  if (has_partner) exchange({{rank() + 1, {data}}}, {});
}

void NetworkSteps::all_reduce_large(Piece data, Reduction reduction, int root) {
  if (is_direct()) return all_reduce_blocks(data, reduction, root);
  all_reduce_ring(data, reduction, root);
}

// Block by block, each rank receives all numbers of its share, and sends the result with the next block.
void NetworkSteps::all_reduce_blocks(Piece data, Reduction reduction, int root) {
  const Combiner combiner(reduction, call_.dtype);
  const int n = size();
  const bool gets = root < 0 || root == rank();
  const int64_t each = std::min(kShare, whole_lines((data.bytes + n - 1) / n)), block = each * n;
  std::vector<char> result(
      static_cast<size_t>(gets ? 0 : each));  // a result that is not for this rank's tensor
  Piece share_result;
  for (int64_t at = 0; at - block < data.bytes; at += block) {
    const Piece before = at == 0 ? Piece() : data.part(at - block, block), now = data.part(at, block);
    const Piece mine = share_of(now, rank(), n);
    const Frames outgoing = frames([&](int peer) -> Pieces {
      return {root < 0 || peer == root ? share_result : Piece(), share_of(now, peer, n)};
    });
    const Frames incoming = frames([&](int peer) -> Pieces {
      return {gets ? share_of(before, peer, n) : Piece(), {row(peer, each), mine.bytes}};
    });
    exchange(outgoing, incoming);
    share_result = gets ? mine : Piece{result.data(), mine.bytes};
    reduce_rows(combiner, mine, share_result, each);
  }
}

// Each share goes once around the ring and is added to; then its result does.
void NetworkSteps::all_reduce_ring(Piece data, Reduction reduction, int root) {
  const Combiner combiner(summed(reduction), call_.dtype);
  const int n = size();
  const int64_t element = size_of_dtype(call_.dtype), block = kShare * n;
  const bool gets = root < 0 || root == rank();
  std::vector<char> aside(static_cast<size_t>(gets ? 0 : std::min(block, data.bytes)));
  for (int64_t at = 0; at == 0 || at < data.bytes; at += block) {
    Piece now = data.part(at, block);
    if (!gets) {
      copy(aside.data(), now);
      now.data = aside.data();
    }
    const auto share = [&](int steps) { return share_of(now, around(steps), n); };
    char* room = row(0, whole_lines((now.bytes + n - 1) / n));
    for (int step = 0; step < n - 1; ++step) {
      const Piece mine = share(-step - 2), theirs{room, mine.bytes};
      pass_on({share(-step - 1)}, {theirs});
      combiner.pair(mine.data, theirs.data, mine.data, mine.bytes / element);
    }
    const Piece own = share(0);
    if (reduction == Reduction::kAverage) combiner.divide(own.data, own.bytes / element, n);
    for (int step = 0; root < 0 && step < n - 1; ++step) pass_on({share(-step)}, {share(-step - 1)});
    if (root == rank())
      exchange({}, frames([&](int peer) -> Pieces { return {share_of(now, peer, n)}; }));
    else if (root >= 0)
      exchange({{root, {own}}}, {});
  }
}

void NetworkSteps::reduce_scatter(Piece output, const Pieces& inputs, Reduction reduction) {
  if (!is_direct()) return reduce_scatter_ring(output, inputs, reduction);
  const Combiner combiner(reduction, call_.dtype);
  const Piece own = inputs[static_cast<size_t>(rank())];
  const int64_t most = longest(inputs);
  const int64_t each = std::clamp(whole_lines(most), int64_t{64}, kShare);
  for (int64_t at = 0; at == 0 || at < most; at += each) {
    const Piece out = output.part(at, each);
    exchange(frames([&](int peer) -> Pieces { return {inputs[static_cast<size_t>(peer)].part(at, each)}; }),
             frames([&](int peer) -> Pieces { return {{row(peer, each), out.bytes}}; }));
    reduce_rows(combiner, own.part(at, each), out, each);
  }
}

void NetworkSteps::reduce_scatter_ring(Piece output, const Pieces& inputs, Reduction reduction) {
  const Combiner combiner(summed(reduction), call_.dtype);
  const int64_t element = size_of_dtype(call_.dtype), most = longest(inputs);
  const int64_t each = std::clamp(whole_lines(most), int64_t{64}, kShare);
  for (int64_t at = 0; at == 0 || at < most; at += each) {
    const auto part = [&](int steps) { return inputs[static_cast<size_t>(around(steps))].part(at, each); };
    Piece sum = part(-1);
    for (int step = 0; step < size() - 1; ++step) {
      const Piece mine = part(-step - 2), theirs{row(step & 1, each), mine.bytes};
      pass_on({sum}, {theirs});
      combiner.pair(theirs.data, theirs.data, mine.data, mine.bytes / element);
      sum = theirs;
    }
    if (reduction == Reduction::kAverage) combiner.divide(sum.data, sum.bytes / element, size());
    copy(output.part(at, each).data, sum);
  }
}

// ---- copies -----------------------------------------------------------------------------------------------

// Root gives each rank its share, and the ranks give each other theirs: no connection carries more than two.
void NetworkSteps::broadcast(const Pieces& data, int root) {
  const int n = size();
  const int64_t bytes = total(data);
  if (!is_direct() && bytes <= kDirectBytes) return broadcast_tree(data, root);
  const bool sends = rank() == root, direct = n == 2 || bytes <= kDirectBytes;
  const auto share = [&](int rank) {
    const auto [begin, count] = share_of(bytes, rank, n);
    return range(data, begin, count);
  };
  exchange(frames([&](int peer) { return !sends   ? Pieces()
                                         : direct ? data
                                                  : share(peer); }),
           frames([&](int peer) { return peer != root ? Pieces()
                                         : direct     ? data
                                                      : share(rank()); }));
  if (direct) return;
  if (!is_direct()) {
    for (int step = 0; step < n - 1; ++step) pass_on(share(around(-step)), share(around(-step - 1)));
    return;
  }
  const Pieces mine = share(rank());
  exchange(frames([&](int peer) { return peer == root ? Pieces() : mine; }),
           frames([&](int peer) { return sends ? Pieces() : share(peer); }));
}

void NetworkSteps::broadcast_tree(const Pieces& data, int root) {
  const int own = (rank() - root + size()) % size();
  int step = 1;
  for (; step < size() && !(own & step); step *= 2) {
  }
  if (own) exchange({}, {{(own - step + root) % size(), data}});
  for (step /= 2; step > 0; step /= 2)
    if (own + step < size()) exchange({{(own + step + root) % size(), data}}, {});
}

void NetworkSteps::all_gather(const Pieces& outputs, Piece input) {
  copy(outputs[static_cast<size_t>(rank())].data, input);
  const auto output = [&](int peer) -> Pieces { return {outputs[static_cast<size_t>(peer)]}; };
  if (is_direct()) return exchange(frames([&](int) -> Pieces { return {input}; }), frames(output));
  for (int step = 0; step < size() - 1; ++step) pass_on(output(around(-step)), output(around(-step - 1)));
}

void NetworkSteps::gather(const Pieces& outputs, Piece input, int root) {
  const bool gets = root == rank();
  if (gets) copy(outputs[static_cast<size_t>(rank())].data, input);
  exchange(frames([&](int peer) -> Pieces { return {peer == root ? input : Piece()}; }),
           frames([&](int peer) -> Pieces { return {gets ? outputs[static_cast<size_t>(peer)] : Piece()}; }));
}

void NetworkSteps::scatter(Piece output, const Pieces& inputs, int root) {
  const bool sends = root == rank();
  if (sends) copy(output.data, inputs[static_cast<size_t>(root)]);
  exchange(frames([&](int peer) -> Pieces { return {sends ? inputs[static_cast<size_t>(peer)] : Piece()}; }),
           frames([&](int peer) -> Pieces { return {peer == root ? output : Piece()}; }));
}

void NetworkSteps::all_to_all(const Pieces& outputs, const Pieces& inputs) {
  const auto self = static_cast<size_t>(rank());
  copy(outputs[self].data, inputs[self]);
  const auto output = [&](int peer) -> Pieces { return {outputs[static_cast<size_t>(peer)]}; };
  const auto input = [&](int peer) -> Pieces { return {inputs[static_cast<size_t>(peer)]}; };
  if (is_direct()) return exchange(frames(input), frames(output));
  for (int step = 1; step < size(); ++step) {
    const int to = around(step), from = around(-step);
    exchange({{to, input(to)}}, {{from, output(from)}});
  }
}

}  // namespace tl::distributed
