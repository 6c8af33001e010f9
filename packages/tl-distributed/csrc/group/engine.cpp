// Chooses the engine of a group: shared memory on one machine, a network between several, or both.
#include "group/engine.h"

#include "group/cluster_collectives.h"
#include "group/cluster_mail.h"
#include "group/local_collectives.h"
#include "group/local_mail.h"
#include "group/network_collectives.h"
#include "group/network_mail.h"

namespace tl::distributed {

Engine local_engine(std::unique_ptr<Segment> segment) {
  Segment* memory = segment.get();
  return {std::move(segment), std::make_unique<LocalCollectives>(*memory),
          std::make_unique<LocalMail>(*memory), memory, nullptr};
}

Engine network_engine(std::unique_ptr<Mesh> mesh, bool compares_all) {
  Mesh& links = *mesh;
  return {std::move(mesh), std::make_unique<NetworkCollectives>(links, compares_all),
          std::make_unique<NetworkMail>(links), nullptr, &links};
}

Engine cluster_engine(std::unique_ptr<Cluster> cluster, bool compares_all) {
  Cluster& ranks = *cluster;
  return {std::move(cluster), std::make_unique<ClusterCollectives>(ranks, compares_all),
          std::make_unique<ClusterMail>(ranks), &ranks.segment(), ranks.lane()};
}

}  // namespace tl::distributed
