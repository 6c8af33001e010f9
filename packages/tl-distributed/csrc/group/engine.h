// The engine of a group: memory that its ranks share, a network between them, or both.
#pragma once

#include <memory>

#include "group/cluster.h"
#include "group/collectives.h"
#include "group/mail.h"
#include "local/segment.h"
#include "network/mesh.h"

namespace tl::distributed {

struct Engine {
  std::unique_ptr<Membership> members;  // the others refer to it
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Mail> mail;
  Segment* memory = nullptr;   // that the ranks of this machine share; none over a network
  const Mesh* mesh = nullptr;  // none on one machine
};

Engine local_engine(std::unique_ptr<Segment> segment);
Engine network_engine(std::unique_ptr<Mesh> mesh, bool compares_all);
Engine cluster_engine(std::unique_ptr<Cluster> cluster, bool compares_all);

}  // namespace tl::distributed
