// The engine of a group: memory that its ranks share, or a network between them.
#pragma once

#include <memory>

#include "group/collectives.h"
#include "group/mail.h"
#include "local/segment.h"
#include "network/mesh.h"

namespace tl::distributed {

struct Engine {
  std::unique_ptr<Membership> members;  // the others refer to it
  std::unique_ptr<Collectives> collectives;
  std::unique_ptr<Mail> mail;
  Segment* memory = nullptr;  // that ranks share; none over a network
};

Engine local_engine(std::unique_ptr<Segment> segment);
Engine network_engine(std::unique_ptr<Mesh> mesh, bool compares_all);

}  // namespace tl::distributed
