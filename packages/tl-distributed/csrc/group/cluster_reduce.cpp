// Reductions on two levels: reduce-scatter inside the machines, all-reduce on the lanes, all-gather inside.
// A large tensor passes in blocks: while one is between the machines, the next is reduced inside, and the
// result of an earlier one is gathered.
#include "group/cluster_reduce.h"

#include "group/collectives.h"

namespace tl::distributed {

namespace {
constexpr int64_t kLaneBlock = 512 << 10;
constexpr int64_t kArenaBlock = 128 << 10;
}  // namespace

void ClusterReduce::operator()() {
  if (data_.bytes <= kDirectBytes) return small();
  large();
}

void ClusterReduce::small() {
  std::vector<char> aside(static_cast<size_t>(root_ < 0 ? 0 : data_.bytes));
  Pieces shares(static_cast<size_t>(run_.local.size()));
  for (int i = 0; i < lanes(); ++i) shares[static_cast<size_t>(i)] = share_of(data_, i, lanes());
  Piece mine = shares[static_cast<size_t>(number())];
  if (root_ >= 0) mine.data = aside.data();
  run_.local.reduce_scatter(mine, shares, sum_.inside, shares[0].bytes);
  if (run_.lane) run_.lane->all_reduce_small(mine, sum_.between, root_machine_);
  sum_.finish(mine);
  if (gets_inside())
    run_.local.all_gather(root_ < 0 || root_ == run_.rank() ? shares : Pieces(), mine, shares[0].bytes);
}

void ClusterReduce::large() {
  const bool in_arena = find_arena();
  each_ = std::min(kLaneBlock, whole_lines((data_.bytes + lanes() - 1) / lanes()));
  const int64_t blocks = (data_.bytes + each_ * lanes() - 1) / (each_ * lanes());
  buffers_.resize(static_cast<size_t>(run_.lane ? each_ * kBuffers : 0));
  if (run_.cluster.machine_count() <= kDirectRanks) {
    pipeline(blocks);
  } else {
    for (int64_t b = 0; b < blocks; ++b) {
      reduce_inside(b);
      if (run_.lane) run_.lane->all_reduce_large(own(b), sum_.between, root_machine_);
      gather_inside(b);
    }
  }
  if (in_arena) run_.local.step();
}

void ClusterReduce::pipeline(int64_t blocks) {
  const Combiner between(sum_.between, run_.call().dtype);
  reduce_inside(0);
  for (int64_t b = 0; b <= blocks; ++b) {
    std::unique_ptr<Exchange> exchange;
    if (run_.lane) {
      exchange = run_.lane->mesh().begin(outgoing(b), incoming(b), run_.call(), run_.deadline());
      exchange->pump();
      run_.local.between([&exchange] { exchange->pump(); });
    }
    if (b + 1 < blocks) reduce_inside(b + 1);
    if (b >= 2) gather_inside(b - 2);
    run_.local.between(nullptr);
    if (!run_.lane) continue;
    exchange->finish();
    if (b == blocks) break;
    const Piece share = share_of(own(b), run_.lane->rank(), run_.lane->size());
    const int64_t pitch = whole_lines((own(b).bytes + run_.lane->size() - 1) / run_.lane->size());
    run_.lane->reduce_rows(between, share, share, pitch);
  }
  if (blocks >= 1) gather_inside(blocks - 1);
}

// The result of a machine's share of the block before travels with its data for the other machines' shares.
Frames ClusterReduce::outgoing(int64_t block) {
  const int n = run_.lane->size();
  const Piece result = block > 0 ? share_of(own(block - 1), run_.lane->rank(), n) : Piece();
  const Piece now = own(block);
  return run_.lane->frames([&](int peer) -> Pieces {
    return {root_ < 0 || peer == root_machine_ ? result : Piece(), share_of(now, peer, n)};
  });
}

Frames ClusterReduce::incoming(int64_t block) {
  const int n = run_.lane->size();
  const Piece before = block > 0 ? own(block - 1) : Piece(), now = own(block);
  const Piece mine = share_of(now, run_.lane->rank(), n);
  const int64_t pitch = whole_lines((now.bytes + n - 1) / n);
  return run_.lane->frames([&](int peer) -> Pieces {
    return {gets_inside() ? share_of(before, peer, n) : Piece(), {run_.lane->row(peer, pitch), mine.bytes}};
  });
}

Piece ClusterReduce::own(int64_t block) {
  return {buffers_.data() + block % kBuffers * each_, part(block, number()).bytes};
}

// ---- inside the machine -----------------------------------------------------------------------------------

// Whether the tensors of all ranks of this machine lie at one offset of their arenas.
bool ClusterReduce::find_arena() {
  run_.local.step();
  const Segment& segment = run_.local.segment();
  const int64_t offset = run_.call().arena_offset;
  for (int i = 0; i < segment.size(); ++i)
    if (offset < 0 || segment.posted(i).arena_offset != offset) return false;
  offset_ = offset;
  return true;
}

void ClusterReduce::reduce_inside(int64_t block) {
  const int n = run_.local.size();
  if (offset_ < 0) {
    Pieces parts(static_cast<size_t>(n));
    for (int i = 0; i < lanes(); ++i) parts[static_cast<size_t>(i)] = part(block, i);
    const Piece out = run_.lane ? own(block) : Piece();
    return run_.local.reduce_scatter(out, parts, sum_.inside, parts[0].bytes);
  }
  if (!run_.lane) return;
  const auto arena = run_.local.segment().arena();
  const Piece mine = part(block, number()), out = own(block);
  const int64_t begin = offset_ + (mine.data - data_.data), element = size_of_dtype(run_.call().dtype);
  for (int64_t at = 0; at < mine.bytes; at += kArenaBlock) {
    const Piece to = out.part(at, kArenaBlock);
    const int64_t from = begin + at;
    if (n == 1)
      copy(to.data, mine.part(at, kArenaBlock));
    else if (n == 2)
      sum_.inside.pair(to.data, arena->of(0) + from, arena->of(1) + from, to.bytes / element);
    else
      sum_.inside.runs(to.data, arena->of(0) + from, arena->pitch(), n, to.bytes / element);
  }
}

void ClusterReduce::gather_inside(int64_t block) {
  if (!gets_inside()) return;
  const Piece mine = run_.lane ? own(block) : Piece();
  if (mine.bytes > 0) sum_.finish(mine);
  if (offset_ < 0) {
    Pieces parts;
    if (root_ < 0 || root_ == run_.rank()) {
      parts.resize(static_cast<size_t>(run_.local.size()));
      for (int i = 0; i < lanes(); ++i) parts[static_cast<size_t>(i)] = part(block, i);
    }
    return run_.local.all_gather(parts, mine, part(block, 0).bytes);
  }
  if (!run_.lane) return;
  const auto arena = run_.local.segment().arena();
  const int64_t begin = offset_ + (part(block, number()).data - data_.data);
  for (int i = 0; i < run_.local.size(); ++i) copy(arena->of(i) + begin, mine);
}

}  // namespace tl::distributed
