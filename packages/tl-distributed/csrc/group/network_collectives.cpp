// Collectives over TCP: reduce-scatter and all-gather by direct exchange, sums in rank order.
// In each of them every rank receives a frame from every other rank, of some only the fingerprint of the
// call. A rank that only sends, or receives from the root alone, would not notice another rank's different
// call.
#include "group/network_collectives.h"

#include "group/reduction.h"
#include "group/run.h"

namespace tl::distributed {

namespace {
constexpr int64_t kShare = 4 << 20;  // of a rank in a block of a larger tensor, at most
constexpr int64_t kLine = 64;

int64_t whole_lines(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

// The part of some pieces from `offset` on.
Pieces range(const Pieces& pieces, int64_t offset, int64_t bytes) {
  Pieces found;
  for (const Piece& piece : pieces) {
    const Piece part = piece.part(offset, bytes);
    offset = std::max<int64_t>(offset - piece.bytes, 0);
    bytes -= part.bytes;
    if (part.bytes > 0) found.push_back(part);
  }
  return found;
}

// The part of `whole` that one of n ranks cares for: whole cache lines.
std::pair<int64_t, int64_t> share_of(int64_t whole, int rank, int n) {
  const int64_t each = whole_lines((whole + n - 1) / n), begin = std::min(each * rank, whole);
  return {begin, std::min(each, whole - begin)};
}
Piece share_of(Piece whole, int rank, int n) {
  const auto [begin, bytes] = share_of(whole.bytes, rank, n);
  return whole.part(begin, bytes);
}
}  // namespace

// A collective over the network: its exchanges, and the rows in which the operands of a sum arrive.
class NetworkCollectives::NetworkRun : public Run {
 public:
  NetworkRun(NetworkCollectives& owner, const Call& call, const Deadline& deadline)
      : Run(owner.mesh_, call, deadline), owner_(owner) {
    if (owner_.compares_all_) barrier();
  }

  void exchange(const Frames& outgoing, const Frames& incoming) {
    owner_.mesh_.exchange(outgoing, incoming, call(), deadline());
  }
  void barrier() {
    const auto nothing = [](int) { return Pieces(); };
    exchange(frames(nothing), frames(nothing));
  }

  // A frame for, or from, each other rank.
  template <class F>
  Frames frames(F&& pieces_of) const {
    Frames every;
    for (int k = 1; k < size(); ++k) {  // each rank begins with its neighbour
      const int peer = (rank() + k) % size();
      every.push_back({peer, pieces_of(peer)});
    }
    return every;
  }

  // What comes of `own` and the same of all others, received by `receive(peer)`'s rows, is reduced into
  // `out`.
  char* row(int rank, int64_t pitch) {
    if (static_cast<int64_t>(owner_.table_.size()) < pitch * size())
      owner_.table_.resize(static_cast<size_t>(pitch * size()));
    return owner_.table_.data() + pitch * rank;
  }
  void reduce_rows(const Combiner& combiner, Piece own, Piece out, int64_t pitch) {
    const int64_t count = out.bytes / size_of_dtype(call().dtype);
    if (size() == 2) {
      char* other = row(1 - rank(), pitch);
      return rank() == 0 ? combiner.pair(out.data, own.data, other, count)
                         : combiner.pair(out.data, other, own.data, count);
    }
    copy(row(rank(), pitch), own);
    combiner.runs(out.data, row(0, pitch), pitch, size(), count);
  }

 private:
  NetworkCollectives& owner_;
};

// ---- reductions -------------------------------------------------------------------------------------------

void NetworkCollectives::all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                                    const Deadline& deadline) {
  Call call = next_call(root < 0 ? Kind::kAllReduce : Kind::kReduce, dtype, data.bytes);
  call.reduction = reduction;
  call.root = root;
  NetworkRun run(*this, call, deadline);
  const Combiner combiner(reduction, dtype);
  const int n = run.size();
  const bool gets = root < 0 || root == run.rank();
  if (data.bytes <= kDirectBytes) {  // all to everybody who wants the result
    const int64_t pitch = whole_lines(data.bytes);
    run.exchange(run.frames([&](int peer) -> Pieces { return {root < 0 || peer == root ? data : Piece()}; }),
                 run.frames([&](int peer) -> Pieces {
                   return {gets ? Piece{run.row(peer, pitch), data.bytes} : Piece()};
                 }));
    if (gets) run.reduce_rows(combiner, data, data, pitch);
    return;
  }
  // Block by block, each rank receives all numbers of its share, and sends the result with the next block.
  const int64_t each = std::min(kShare, whole_lines((data.bytes + n - 1) / n)), block = each * n;
  std::vector<char> result(
      static_cast<size_t>(gets ? 0 : each));  // a result that is not for this rank's tensor
  Piece share_result;
  for (int64_t at = 0; at - block < data.bytes; at += block) {
    const Piece before = at == 0 ? Piece() : data.part(at - block, block), now = data.part(at, block);
    const Piece mine = share_of(now, run.rank(), n);
    const Frames outgoing = run.frames([&](int peer) -> Pieces {
      return {root < 0 || peer == root ? share_result : Piece(), share_of(now, peer, n)};
    });
    const Frames incoming = run.frames([&](int peer) -> Pieces {
      return {gets ? share_of(before, peer, n) : Piece(), {run.row(peer, each), mine.bytes}};
    });
    run.exchange(outgoing, incoming);
    share_result = gets ? mine : Piece{result.data(), mine.bytes};
    run.reduce_rows(combiner, mine, share_result, each);
  }
}

void NetworkCollectives::reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype,
                                        Reduction reduction, const Deadline& deadline) {
  Call call = next_call(Kind::kReduceScatter, dtype, total(inputs), inputs);
  call.reduction = reduction;
  NetworkRun run(*this, call, deadline);
  const Combiner combiner(reduction, dtype);
  const Piece own = inputs[static_cast<size_t>(run.rank())];
  const int64_t most = longest(inputs);
  const int64_t each = std::clamp(whole_lines(most), kLine, kShare);
  for (int64_t at = 0; at == 0 || at < most; at += each) {
    const Piece out = output.part(at, each);
    run.exchange(
        run.frames([&](int peer) -> Pieces { return {inputs[static_cast<size_t>(peer)].part(at, each)}; }),
        run.frames([&](int peer) -> Pieces { return {{run.row(peer, each), out.bytes}}; }));
    run.reduce_rows(combiner, own.part(at, each), out, each);
  }
}

// ---- copies -----------------------------------------------------------------------------------------------

void NetworkCollectives::broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) {
  Call call = next_call(Kind::kBroadcast, dtype, total(data), data);
  call.root = root;
  NetworkRun run(*this, call, deadline);
  const int n = run.size();
  const int64_t bytes = total(data);
  const bool sends = run.rank() == root;
  const bool direct = n == 2 || bytes <= kDirectBytes;
  // Root gives each rank its share, and the ranks give each other theirs: no connection carries more than
  // two.
  const auto share = [&](int rank) {
    const auto [begin, count] = share_of(bytes, rank, n);
    return range(data, begin, count);
  };
  run.exchange(run.frames([&](int peer) { return !sends   ? Pieces()
                                                 : direct ? data
                                                          : share(peer); }),
               run.frames([&](int peer) {
                 return peer != root ? Pieces() : direct ? data : share(run.rank());
               }));
  if (direct) return;
  const Pieces mine = share(run.rank());
  run.exchange(run.frames([&](int peer) { return peer == root ? Pieces() : mine; }),
               run.frames([&](int peer) { return sends ? Pieces() : share(peer); }));
}

void NetworkCollectives::all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                                    const Deadline& deadline) {
  Call call = root < 0 ? next_call(Kind::kAllGather, dtype, total(outputs), outputs)
                       : next_call(Kind::kGather, dtype, input.bytes);
  call.root = root;
  NetworkRun run(*this, call, deadline);
  if (!outputs.empty()) copy(outputs[static_cast<size_t>(run.rank())].data, input);
  const bool gets = root < 0 || root == run.rank();
  run.exchange(
      run.frames([&](int peer) -> Pieces { return {root < 0 || peer == root ? input : Piece()}; }),
      run.frames([&](int peer) -> Pieces { return {gets ? outputs[static_cast<size_t>(peer)] : Piece()}; }));
}

void NetworkCollectives::scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
                                 const Deadline& deadline) {
  Call call = next_call(Kind::kScatter, dtype, output.bytes);
  call.root = root;
  NetworkRun run(*this, call, deadline);
  const bool sends = root == run.rank();
  if (sends) copy(output.data, inputs[static_cast<size_t>(root)]);
  run.exchange(
      run.frames([&](int peer) -> Pieces { return {sends ? inputs[static_cast<size_t>(peer)] : Piece()}; }),
      run.frames([&](int peer) -> Pieces { return {peer == root ? output : Piece()}; }));
}

void NetworkCollectives::all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                                    const Deadline& deadline) {
  NetworkRun run(*this, next_call(Kind::kAllToAll, dtype, 0), deadline);
  const auto self = static_cast<size_t>(run.rank());
  copy(outputs[self].data, inputs[self]);
  run.exchange(run.frames([&](int peer) -> Pieces { return {inputs[static_cast<size_t>(peer)]}; }),
               run.frames([&](int peer) -> Pieces { return {outputs[static_cast<size_t>(peer)]}; }));
  run.barrier();  // only the receiver notices a part that doesn't fit: no rank returns before all have
                  // checked
}

void NetworkCollectives::barrier(const Deadline& deadline) {
  NetworkRun run(*this, next_call(Kind::kBarrier, 0, 0), deadline);
  run.barrier();
}

}  // namespace tl::distributed
