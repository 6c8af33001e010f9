// The process that holds the values of a store: a thread that answers all clients. Nobody's name is looked
// up.
#pragma once

#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/socket.h"
#include "store/table.h"

namespace tl::distributed {

class StoreServer {
 public:
  explicit StoreServer(Descriptor listening);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;

  const std::string& host() const { return host_; }  // for clients on this machine
  int port() const { return port_; }

 private:
  struct Client : Session {
    Descriptor link;
    bool awaits_room = false;
  };
  void work();
  void accept_all();
  void serve(Client& client, uint32_t events);
  bool receive(Client& client);
  void send(Client& client);
  void drop(Client& client);

  Descriptor listening_, events_, wake_;
  std::string host_;
  int port_;
  int forks_;
  std::vector<char> room_;  // for what a client says
  Table table_;
  std::unordered_map<Session*, std::unique_ptr<Client>> clients_;
  std::thread thread_;
};

}  // namespace tl::distributed
