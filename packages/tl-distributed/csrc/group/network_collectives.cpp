// Collectives over TCP: each call is numbered, recorded, and run by the steps of its algorithm.
#include "group/network_collectives.h"

#include "group/network_steps.h"
#include "group/run.h"

namespace tl::distributed {

class NetworkCollectives::NetworkRun : private Run, public NetworkSteps {
 public:
  NetworkRun(NetworkCollectives& owner, const Call& call, const Deadline& deadline)
      : Run(owner.mesh_, call, deadline), NetworkSteps(owner.mesh_, Run::call(), deadline, owner.table_) {
    if (owner.compares_all_) barrier();
  }
  using NetworkSteps::call;
  using NetworkSteps::deadline;
  using NetworkSteps::rank;
  using NetworkSteps::size;
};

void NetworkCollectives::all_reduce(Piece data, int64_t dtype, Reduction reduction, int root,
                                    const Deadline& deadline) {
  Call call = next_call(root < 0 ? Kind::kAllReduce : Kind::kReduce, dtype, data.bytes);
  call.reduction = reduction;
  call.root = root;
  NetworkRun run(*this, call, deadline);
  if (data.bytes <= kDirectBytes) return run.all_reduce_small(data, reduction, root);
  run.all_reduce_large(data, reduction, root);
}

void NetworkCollectives::reduce_scatter(Piece output, const Pieces& inputs, int64_t dtype,
                                        Reduction reduction, const Deadline& deadline) {
  Call call = next_call(Kind::kReduceScatter, dtype, total(inputs), inputs);
  call.reduction = reduction;
  NetworkRun(*this, call, deadline).reduce_scatter(output, inputs, reduction);
}

void NetworkCollectives::broadcast(const Pieces& data, int64_t dtype, int root, const Deadline& deadline) {
  Call call = next_call(Kind::kBroadcast, dtype, total(data), data);
  call.root = root;
  NetworkRun(*this, call, deadline).broadcast(data, root);
}

void NetworkCollectives::all_gather(const Pieces& outputs, Piece input, int64_t dtype, int root,
                                    const Deadline& deadline) {
  Call call = root < 0 ? next_call(Kind::kAllGather, dtype, total(outputs), outputs)
                       : next_call(Kind::kGather, dtype, input.bytes);
  call.root = root;
  NetworkRun run(*this, call, deadline);
  if (root < 0)
    run.all_gather(outputs, input);
  else
    run.gather(outputs, input, root);
}

void NetworkCollectives::scatter(Piece output, const Pieces& inputs, int64_t dtype, int root,
                                 const Deadline& deadline) {
  Call call = next_call(Kind::kScatter, dtype, output.bytes);
  call.root = root;
  NetworkRun(*this, call, deadline).scatter(output, inputs, root);
}

void NetworkCollectives::all_to_all(const Pieces& outputs, const Pieces& inputs, int64_t dtype,
                                    const Deadline& deadline) {
  NetworkRun run(*this, next_call(Kind::kAllToAll, dtype, 0), deadline);
  run.all_to_all(outputs, inputs);
  run.barrier();  // only the receiver notices a part that doesn't fit: no rank returns before all have
                  // checked
}

void NetworkCollectives::barrier(const Deadline& deadline) {
  NetworkRun(*this, next_call(Kind::kBarrier, 0, 0), deadline).barrier();
}

}  // namespace tl::distributed
