// Collectives on two levels. A lane serves the ranks of its number in all machines, and, where machines have
// more ranks than there are lanes, further ranks in further rounds.
#include "group/cluster_collectives.h"

#include "group/cluster_exchange.h"
#include "group/cluster_reduce.h"
#include "group/cluster_run.h"

namespace tl::distributed {

namespace {
constexpr int64_t kBlock = 1 << 20;  // of a tensor, for a lane

int64_t block_of(int64_t most, int parts) {
  return std::clamp(whole_lines(most), int64_t{64}, std::max<int64_t>(kBlock / parts / 64 * 64, 64 << 10));
}
Piece in(std::vector<char>& room, int64_t at, int64_t bytes) { return {room.data() + at, bytes}; }
}  // namespace

void ClusterRun::deliver(int round, Piece from, Piece to, int64_t most) {
  if (round == 0) {  // a lane serves itself
    if (lane) copy(to.data, from);
    return;
  }
  Pieces outputs(static_cast<size_t>(local.size()));
  const int number = cluster.number() - round * cluster.lanes();
  if (number >= 0 && number < cluster.lanes()) outputs[static_cast<size_t>(number)] = to;
  local.all_gather(cluster.number() < cluster.lanes() ? Pieces() : outputs, from, most);
}

void ClusterCollectives::all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                                    const Deadline& deadline) {
  Call call = next_call(root < 0 ? Kind::kAllReduce : Kind::kReduce, dtype, data.bytes);
  call.reduction = reduction;
  call.root = root;
  if (root < 0) call.arena_offset = cluster_.segment().arena_offset(data.data, data.bytes);
  ClusterRun run(cluster_, call, deadline, compares_all_, table_);
  ClusterReduce(run, data, reduction, root)();
}

// A lane sums the parts of the ranks that it serves on all machines, then exchanges the sums.
void ClusterCollectives::reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype,
                                        Reduction reduction, const Deadline& deadline) {
  Call call = next_call(Kind::kReduceScatter, dtype, total(inputs), inputs);
  call.reduction = reduction;
  ClusterRun run(cluster_, call, deadline, compares_all_, table_);
  const ClusterSum sum(run, reduction);
  const int machines = cluster_.machine_count();
  const int64_t most = longest(inputs), each = block_of(most, machines);
  std::vector<char> room(static_cast<size_t>(run.lane ? each * (machines + 1) : 0));
  for (int64_t at = 0; at == 0 || at < most; at += each) {
    const auto input = [&](int rank) { return inputs[static_cast<size_t>(rank)].part(at, each); };
    for (int round = 0; round < cluster_.rounds(); ++round) {
      Pieces sums;
      for (int m = 0; m < machines; ++m) {
        const int served = run.lane ? run.served(m, round) : -1;
        sums.push_back(in(room, each * m, served < 0 ? 0 : input(served).bytes));
        run.local.reduce_scatter(sums.back(), run.in_round(m, round, input), sum.inside, each);
      }
      const Piece own = in(room, each * machines, sums[static_cast<size_t>(cluster_.machine())].bytes);
      if (run.lane) run.lane->reduce_scatter(own, sums, sum.between);
      sum.finish(own);
      run.deliver(round, own, output.part(at, each), each);
    }
  }
}

void ClusterCollectives::broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) {
  Call call = next_call(Kind::kBroadcast, dtype, total(data), data);
  call.root = root;
  ClusterRun run(cluster_, call, deadline, compares_all_, table_);
  const int lanes = cluster_.lanes();
  const int64_t bytes = total(data), each = block_of((bytes + lanes - 1) / lanes, 1), block = each * lanes;
  const bool is_here = run.is_at(root);
  const Cluster::Position& source = cluster_.position(root);
  std::vector<char> flat(static_cast<size_t>(is_here ? 0 : std::min(bytes, block)));
  for (int64_t at = 0; at == 0 || at < bytes; at += block) {
    const int64_t now = std::min(block, bytes - at);
    if (is_here) run.local.broadcast(range(data, at, now), source.number);
    const auto share = [&](int lane) {
      return range(data, at + lane * each, std::min(each, now - lane * each));
    };
    if (run.lane) run.lane->broadcast(share(cluster_.number()), source.machine);
    if (is_here) continue;
    // Pieces may end anywhere in a share, so the shares pass one after the other.
    for (int lane = 0; lane < lanes; ++lane) run.local.broadcast(share(lane), lane);
  }
}

void ClusterCollectives::all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                                    const Deadline& deadline) {
  Call call = root < 0 ? next_call(Kind::kAllGather, dtype, total(outputs), outputs)
                       : next_call(Kind::kGather, dtype, input.bytes);
  call.root = root;
  ClusterRun run(cluster_, call, deadline, compares_all_, table_);
  ClusterGather(run, outputs, input, root)();
}

// The lanes of the root's machine take the parts of the ranks that they serve on all machines.
void ClusterCollectives::scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
                                 const Deadline& deadline) {
  Call call = next_call(Kind::kScatter, dtype, output.bytes);
  call.root = root;
  ClusterRun run(cluster_, call, deadline, compares_all_, table_);
  const int machines = cluster_.machine_count();
  const int64_t each = block_of(output.bytes, machines);
  std::vector<char> room(static_cast<size_t>(run.lane ? each * (machines + 1) : 0));
  const bool is_here = run.is_at(root), sends = root == run.rank();
  for (int64_t at = 0; at == 0 || at < output.bytes; at += each) {
    const Piece out = output.part(at, each);
    for (int round = 0; round < cluster_.rounds(); ++round) {
      Pieces parts(static_cast<size_t>(machines));
      for (int m = 0; m < machines; ++m) {
        const bool is_served = run.lane && run.served(m, round) >= 0;
        Piece& part = parts[static_cast<size_t>(m)] = in(room, each * m, is_served ? out.bytes : 0);
        if (!is_here) continue;
        const Pieces given = run.in_round(m, round, [&](int rank) {
          return sends ? inputs[static_cast<size_t>(rank)].part(at, each) : Piece();
        });
        run.local.scatter(part, sends ? given : Pieces(), cluster_.position(root).number, out.bytes);
      }
      const Piece own = in(room, each * machines, parts[static_cast<size_t>(cluster_.machine())].bytes);
      if (run.lane) run.lane->scatter(own, parts, run.machine_of(root));
      run.deliver(round, own, out, out.bytes);
    }
  }
}

void ClusterCollectives::all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                                    const Deadline& deadline) {
  ClusterRun run(cluster_, next_call(Kind::kAllToAll, dtype, 0), deadline, compares_all_, table_);
  ClusterExchange(run, outputs, inputs)();
}

void ClusterCollectives::barrier(const Deadline& deadline) {
  ClusterRun run(cluster_, next_call(Kind::kBarrier, 0, 0), deadline, false, table_);
  run.local.step();
  if (run.lane && cluster_.number() == 0) run.lane->barrier();
  run.local.step();
}

}  // namespace tl::distributed
