// Gathers and exchanges on two levels: ranks give a lane what it has to send, and get what has come for them.
#include "group/cluster_exchange.h"

#include <utility>

namespace tl::distributed {

namespace {
constexpr int64_t kBlock = 1 << 20;
}  // namespace

// ---- gathers ----------------------------------------------------------------------------------------------

void ClusterGather::operator()() {
  const int64_t most = root_ < 0 ? longest(outputs_) : input_.bytes;
  each_ = std::clamp(whole_lines(most), int64_t{64}, kBlock);
  if (root_ >= 0 || run_.cluster.rounds() > 1)
    if (run_.lane && outputs_.empty()) room_.resize(static_cast<size_t>(each_ * run_.size()));
  for (int64_t at = 0; at == 0 || at < most; at += each_) block(at);
}

// Where a lane has the data of a rank: in its tensor, or aside.
Piece ClusterGather::buffer(int rank) {
  if (!outputs_.empty()) return output(rank);
  return room_.empty() ? Piece() : Piece{room_.data() + each_ * rank, bytes_of(rank)};
}

void ClusterGather::block(int64_t at) {
  at_ = at;
  const Cluster& cluster = run_.cluster;
  Pieces buffers(static_cast<size_t>(run_.local.size()));
  for (int i = 0; i < run_.local.size(); ++i)
    buffers[static_cast<size_t>(i)] = buffer(cluster.rank_at(cluster.machine(), i));
  const bool keeps = !outputs_.empty() || !room_.empty();
  run_.local.all_gather(keeps ? buffers : Pieces(), input_.part(at, each_), each_);
  for (int round = 0; round < cluster.rounds(); ++round) {
    if (run_.lane) between(round, buffers);
    if (root_ >= 0 && !run_.is_at(root_)) continue;
    for (int m = 0; m < cluster.machine_count(); ++m) {
      const int served = run_.lane ? run_.served(m, round) : -1;
      if (m != cluster.machine()) inside(m, round, served < 0 ? Piece() : buffer(served));
    }
  }
}

void ClusterGather::between(int round, const Pieces& buffers) {
  const Cluster& cluster = run_.cluster;
  const int own = run_.served(cluster.machine(), round);
  const Piece mine = own < 0 ? Piece() : buffers[static_cast<size_t>(cluster.position(own).number)];
  Pieces by_machine;
  for (int m = 0; m < cluster.machine_count(); ++m) {
    const int served = run_.served(m, round);
    by_machine.push_back(served < 0 ? Piece() : buffer(served));
  }
  if (root_ < 0)
    run_.lane->all_gather(by_machine, mine);
  else
    run_.lane->gather(by_machine, mine, run_.machine_of(root_));
}

// Lanes give their neighbours what has come of a machine in a round.
void ClusterGather::inside(int machine, int round, Piece own) {
  Pieces wanted;
  if (!outputs_.empty()) wanted = run_.in_round(machine, round, [this](int rank) { return output(rank); });
  int64_t most = 0;
  for (int k = 0; k < run_.cluster.lanes(); ++k)
    if (const int rank = run_.cluster.rank_at(machine, round * run_.cluster.lanes() + k); rank >= 0)
      most = std::max(most, bytes_of(rank));
  run_.local.all_gather(wanted, own, most);
}

// ---- all_to_all -------------------------------------------------------------------------------------------

void ClusterExchange::operator()() {
  compare_sizes();
  exchange_inside();
  out_.resize(static_cast<size_t>(cluster_.machine_count()));
  in_.resize(out_.size());
  for (int m = 0; m < cluster_.machine_count(); ++m)
    for (int round = 0; m != cluster_.machine() && round < cluster_.rounds(); ++round) collect(m, round);
  if (run_.lane) exchange_between();
  for (int m = 0; m < cluster_.machine_count(); ++m)
    for (int round = 1; m != cluster_.machine() && round < cluster_.rounds(); ++round) deliver(m, round);
  run_.local.step();  // no rank returns before its machine has received all
}

template <class F>
void ClusterExchange::for_each_served(int machine, F&& body) const {
  for (int round = 0; round < cluster_.rounds(); ++round)
    if (const int rank = run_.served(machine, round); rank >= 0) body(rank);
}

int64_t ClusterExchange::bytes_from(int machine, int to) const {
  int64_t bytes = 0;
  for (const int from : cluster_.ranks_of(machine)) bytes += expected(cluster_.position(to).number, from);
  return bytes;
}

void ClusterExchange::compare_sizes() {
  auto* own = reinterpret_cast<int64_t*>(run_.local.own());
  for (int i = 0; i < n(); ++i) {
    own[i] = inputs_[static_cast<size_t>(i)].bytes;
    own[n() + i] = outputs_[static_cast<size_t>(i)].bytes;
  }
  run_.local.step();
  for (int i = 0; i < run_.local.size(); ++i) {
    const auto* of = reinterpret_cast<const int64_t*>(run_.local.of(i));
    sizes_.insert(sizes_.end(), of, of + 2 * n());
  }
  compare_inside();
  if (run_.lane) compare_between();
  run_.local.step();  // no lane sends before all have compared
}

void ClusterExchange::compare_inside() const {
  const std::vector<int>& ranks = cluster_.ranks_of(cluster_.machine());
  for (size_t i = 0; i < ranks.size(); ++i)
    for (size_t j = 0; j < ranks.size(); ++j) {
      const int64_t given = sent(static_cast<int>(i), ranks[j]),
                    wanted = expected(static_cast<int>(j), ranks[i]);
      if (given != wanted) cluster_.refuse_sizes(run_.call(), ranks[i], ranks[j], given, wanted);
    }
}

// What the ranks of this machine send to the ranks that this lane serves in another one.
ClusterExchange::Sizes ClusterExchange::sizes_for(int machine) const {
  Sizes sizes;
  for_each_served(machine, [&](int to) {
    for (int i = 0; i < run_.local.size(); ++i) sizes.push_back(sent(i, to));
  });
  return sizes;
}

// Lanes tell each other what their machines send to the ranks that the other lane serves.
void ClusterExchange::compare_between() {
  const auto machines = static_cast<size_t>(cluster_.machine_count());
  std::vector<Sizes> told(machines), heard(machines);
  Pieces outgoing(machines), incoming(machines);
  int served = 0;
  for_each_served(cluster_.machine(), [&](int) { ++served; });
  for (size_t m = 0; m < machines; ++m) {
    const int machine = static_cast<int>(m);
    told[m] = sizes_for(machine);
    heard[m].resize(static_cast<size_t>(served) * cluster_.ranks_of(machine).size());
    outgoing[m] = {reinterpret_cast<char*>(told[m].data()),
                   static_cast<int64_t>(told[m].size() * sizeof(int64_t))};
    incoming[m] = {reinterpret_cast<char*>(heard[m].data()),
                   static_cast<int64_t>(heard[m].size() * sizeof(int64_t))};
  }
  run_.lane->all_to_all(incoming, outgoing);
  for (size_t m = 0; m < machines; ++m) {
    size_t at = 0;
    for_each_served(cluster_.machine(), [&](int to) {
      for (const int from : cluster_.ranks_of(static_cast<int>(m))) {
        const int64_t given = heard[m][at++], wanted = expected(cluster_.position(to).number, from);
        if (given != wanted) cluster_.refuse_sizes(run_.call(), from, to, given, wanted);
      }
    });
  }
}

void ClusterExchange::exchange_inside() {
  const std::vector<int>& ranks = cluster_.ranks_of(cluster_.machine());
  Pieces to, from;
  int64_t most = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    to.push_back(inputs_[static_cast<size_t>(ranks[i])]);
    from.push_back(outputs_[static_cast<size_t>(ranks[i])]);
    for (const int other : ranks) most = std::max(most, sent(static_cast<int>(i), other));
  }
  run_.local.all_to_all(from, to, most);
}

// Each lane receives from all neighbours what they send to the rank of a machine that it serves in a round.
void ClusterExchange::collect(int machine, int round) {
  const Pieces to =
      run_.in_round(machine, round, [&](int rank) { return inputs_[static_cast<size_t>(rank)]; });
  Pieces from(static_cast<size_t>(run_.local.size()));
  int64_t most = 0;
  for (int k = 0; k < cluster_.lanes(); ++k)
    if (const int rank = cluster_.rank_at(machine, round * cluster_.lanes() + k); rank >= 0)
      for (int i = 0; i < run_.local.size(); ++i) most = std::max(most, sent(i, rank));
  if (const int served = run_.lane ? run_.served(machine, round) : -1; served >= 0) {
    std::vector<char>& room = out_[static_cast<size_t>(machine)];
    size_t at = room.size();
    int64_t bytes = 0;
    for (int i = 0; i < run_.local.size(); ++i) bytes += sent(i, served);
    room.resize(at + static_cast<size_t>(bytes));
    for (int i = 0; i < run_.local.size(); ++i) {
      from[static_cast<size_t>(i)] = {room.data() + at, sent(i, served)};
      at += static_cast<size_t>(sent(i, served));
    }
  }
  run_.local.all_to_all(from, to, most);
}

void ClusterExchange::exchange_between() {
  const auto machines = static_cast<size_t>(cluster_.machine_count());
  Pieces outgoing(machines), incoming(machines);
  for (size_t m = 0; m < machines; ++m) {
    int64_t bytes = 0;
    const int machine = static_cast<int>(m);
    if (machine == cluster_.machine()) continue;
    for_each_served(cluster_.machine(), [&](int to) { bytes += bytes_from(machine, to); });
    in_[m].resize(static_cast<size_t>(bytes));
    outgoing[m] = {out_[m].data(), static_cast<int64_t>(out_[m].size())};
    incoming[m] = {in_[m].data(), bytes};
  }
  run_.lane->all_to_all(incoming, outgoing);
  for (size_t m = 0; m < machines; ++m) {  // a lane is the first rank that it serves
    if (static_cast<int>(m) == cluster_.machine()) continue;
    int64_t at = 0;
    for (const int from : cluster_.ranks_of(static_cast<int>(m))) {
      const Piece& out = outputs_[static_cast<size_t>(from)];
      copy(out.data, {in_[m].data() + at, out.bytes});
      at += out.bytes;
    }
  }
}

void ClusterExchange::deliver(int machine, int round) {
  int64_t most = 0, before = 0;
  for (int k = 0; k < cluster_.lanes(); ++k)
    if (const int to = cluster_.rank_at(cluster_.machine(), round * cluster_.lanes() + k); to >= 0)
      most = std::max(most, bytes_from(machine, to));
  Piece from;
  if (run_.lane) {
    for (int r = 0; r < round; ++r) before += bytes_from(machine, run_.served(cluster_.machine(), r));
    const int to = run_.served(cluster_.machine(), round);
    if (to >= 0) from = {in_[static_cast<size_t>(machine)].data() + before, bytes_from(machine, to)};
  }
  const bool gets = cluster_.number() / cluster_.lanes() == round;
  std::vector<char> room(static_cast<size_t>(gets ? bytes_from(machine, cluster_.rank()) : 0));
  run_.deliver(round, from, {room.data(), static_cast<int64_t>(room.size())}, most);
  int64_t at = 0;
  for (const int rank : cluster_.ranks_of(machine)) {
    if (!gets) break;
    const Piece& out = outputs_[static_cast<size_t>(rank)];
    copy(out.data, {room.data() + at, out.bytes});
    at += out.bytes;
  }
}

}  // namespace tl::distributed
