// Chooses the engine of a group: shared memory on one machine, a network between several.
#include "group/engine.h"

#include "group/local_collectives.h"
#include "group/local_mail.h"
#include "group/network_collectives.h"
#include "group/network_mail.h"

namespace tl::distributed {

Engine local_engine(std::unique_ptr<Segment> segment) {
  Segment* memory = segment.get();
  return {std::move(segment), std::make_unique<LocalCollectives>(*memory),
          std::make_unique<LocalMail>(*memory), memory};
}

Engine network_engine(std::unique_ptr<Mesh> mesh, bool compares_all) {
  Mesh& links = *mesh;
  return {std::move(mesh), std::make_unique<NetworkCollectives>(links, compares_all),
          std::make_unique<NetworkMail>(links), nullptr};
}

}  // namespace tl::distributed
