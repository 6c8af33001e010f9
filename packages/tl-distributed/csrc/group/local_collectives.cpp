// Collectives in shared memory: ranks copy through slots in steps; each reduces its share in rank order.
#include "group/local_collectives.h"

#include "group/local_run.h"
#include "group/reduction.h"

namespace tl::distributed {

namespace {
constexpr int64_t kBlock = 128 << 10;  // of the arena: what is written to all ranks while it is in the cache

// ---- reductions -------------------------------------------------------------------------------------------

class AllReduce {
 public:
  AllReduce(LocalRun& run, Piece data, Reduction reduction, int root)
      : run_(run),
        data_(data),
        root_(root),
        size_(size_of_dtype(run.call().dtype)),
        combiner_(reduction, run.call().dtype) {}

  void operator()() {
    const bool in_arena = run_.call().arena_offset >= 0;
    const bool direct = run_.size() == 2 || root_ >= 0 || data_.bytes <= kDirectBytes;
    const int64_t chunk = kPart;
    if (!in_arena) copy(run_.own(), data_.part(0, chunk));
    run_.step();
    bool all = root_ < 0, any = false;
    for (int i = 0; i < run_.size(); ++i) {
      const int64_t offset = run_.segment().posted(i).arena_offset;
      all = all && offset >= 0 && offset == run_.call().arena_offset;
      any = any || offset >= 0;
    }
    if (all) return arena();
    if (any) {  // some have not written their first part
      copy(run_.own(), data_.part(0, chunk));
      run_.step();
    }
    if (direct) return every_rank_reduces(chunk);
    each_rank_reduces_a_share(chunk);
  }

 private:
  // The first part stands in the slots.
  void every_rank_reduces(int64_t chunk) {
    for (int64_t at = 0; at == 0 || at < data_.bytes; at += chunk) {
      const Piece part = data_.part(at, chunk);
      if (at > 0) {
        copy(run_.own(), part);
        run_.step();
      }
      if (root_ >= 0 && root_ != run_.rank()) continue;
      const int64_t count = part.bytes / size_;
      if (run_.size() > 2)
        combiner_.runs(part.data, run_.of(0), Segment::slot_pitch(), run_.size(), count);
      else if (run_.rank() == 0)
        combiner_.pair(part.data, part.data, run_.of(1), count);
      else
        combiner_.pair(part.data, run_.of(0), part.data, count);
    }
  }

  // A slot holds a part of the tensor, and behind it this rank's share of the result of the part before.
  void each_rank_reduces_a_share(int64_t chunk) {
    for (int64_t at = 0; at - chunk < data_.bytes; at += chunk) {
      const Piece part = data_.part(at, chunk);
      if (at > 0) {
        copy(run_.own(), part);
        run_.step();
      }
      if (at > 0) collect(data_.part(at - chunk, chunk), chunk);
      const Piece mine = share(part, run_.rank());
      const int64_t inside = mine.data - part.data;
      combiner_.runs(run_.own() + chunk, run_.of(0) + inside, Segment::slot_pitch(), run_.size(),
                     mine.bytes / size_);
    }
  }

  void collect(Piece part, int64_t chunk) {
    for (int i = 0; i < run_.size(); ++i) {
      const Piece theirs = share(part, i);
      copy(theirs.data, {run_.of(i) + chunk, theirs.bytes});
    }
  }

  Piece share(Piece whole, int rank) const {
    const int64_t lines = (whole.bytes + 63) / 64, each = (lines + run_.size() - 1) / run_.size() * 64;
    return whole.part(each * rank, each);
  }

  // Every rank reduces its share, and writes the result to all ranks' tensors.
  void arena() {
    auto arena = run_.segment().arena();
    const Piece mine = share(data_, run_.rank());
    const int64_t begin = run_.call().arena_offset + (mine.data - data_.data);
    std::vector<char> room(static_cast<size_t>(run_.size() > 2 ? std::min(kBlock, mine.bytes) : 0));
    for (int64_t at = 0; at < mine.bytes; at += kBlock) {
      const Piece part = mine.part(at, kBlock);
      const int64_t offset = begin + at;
      char* out = room.empty() ? part.data : room.data();
      if (run_.size() == 2)
        combiner_.pair(out, arena->of(0) + offset, arena->of(1) + offset, part.bytes / size_);
      else
        combiner_.runs(out, arena->of(0) + offset, arena->pitch(), run_.size(), part.bytes / size_);
      for (int i = 0; i < run_.size(); ++i)
        copy(i == run_.rank() ? part.data : arena->of(i) + offset, {out, part.bytes});
    }
    run_.step();
  }

  LocalRun& run_;
  Piece data_;
  int root_;
  int64_t size_;
  Combiner combiner_;
};

}  // namespace

void LocalCollectives::all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                                  const Deadline& deadline) {
  Call call = next_call(root < 0 ? Kind::kAllReduce : Kind::kReduce, dtype, data.bytes);
  call.reduction = reduction;
  call.root = root;
  if (root < 0) call.arena_offset = segment_.arena_offset(data.data, data.bytes);
  LocalRun run(segment_, call, deadline);
  AllReduce(run, data, reduction, root)();
}

void LocalCollectives::reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype, Reduction reduction,
                                      const Deadline& deadline) {
  Call call = next_call(Kind::kReduceScatter, dtype, total(inputs), inputs);
  call.reduction = reduction;
  LocalRun run(segment_, call, deadline);
  run.reduce_scatter(output, inputs, Combiner(reduction, dtype), longest(inputs));
}

// ---- copies -----------------------------------------------------------------------------------------------

void LocalCollectives::broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) {
  Call call = next_call(Kind::kBroadcast, dtype, total(data), data);
  call.root = root;
  LocalRun run(segment_, call, deadline);
  run.broadcast(data, root);
}

void LocalCollectives::all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                                  const Deadline& deadline) {
  const Kind kind = root < 0 ? Kind::kAllGather : Kind::kGather;
  Call call =
      root < 0 ? next_call(kind, dtype, total(outputs), outputs) : next_call(kind, dtype, input.bytes);
  call.root = root;
  LocalRun run(segment_, call, deadline);
  run.all_gather(outputs, input, root < 0 ? longest(outputs) : input.bytes);
}

void LocalCollectives::scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
                               const Deadline& deadline) {
  Call call = next_call(Kind::kScatter, dtype, output.bytes);
  call.root = root;
  LocalRun run(segment_, call, deadline);
  run.scatter(output, inputs, root, output.bytes);
}

void LocalCollectives::all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                                  const Deadline& deadline) {
  LocalRun run(segment_, next_call(Kind::kAllToAll, dtype, 0), deadline);
  const int n = run.size();
  auto* sizes = reinterpret_cast<int64_t*>(run.own());  // what is sent to each, then what is expected of each
  for (int i = 0; i < n; ++i) {
    sizes[i] = inputs[static_cast<size_t>(i)].bytes;
    sizes[n + i] = outputs[static_cast<size_t>(i)].bytes;
  }
  run.step();
  int64_t most = 0;
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      const int64_t sent = reinterpret_cast<const int64_t*>(run.of(from))[to];
      const int64_t expected = reinterpret_cast<const int64_t*>(run.of(to))[n + from];
      if (sent != expected) segment_.refuse_sizes(run.call(), from, to, sent, expected);
      most = std::max(most, sent);
    }
  run.all_to_all(outputs, inputs, most);
}

void LocalCollectives::barrier(const Deadline& deadline) {
  LocalRun run(segment_, next_call(Kind::kBarrier, 0, 0), deadline);
  run.step();
}

}  // namespace tl::distributed
