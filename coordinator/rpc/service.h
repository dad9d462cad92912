// The parts that the coordinator's services share.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "model/page.h"

namespace assay::coordinator::rpc {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// Returns the page size and page token of a list request (see Google's AIP-158). A page size of 0
// means `normal`, and sizes above 10,000 are capped at 10,000. Returns INVALID_ARGUMENT if the size
// is negative or the token is very long. Does not check the token's content.
template <typename Request>
Result<PageRequest> PageOf(const Request& request, int normal) {
  constexpr int kMost = 10'000;
  constexpr size_t kMaxTokenBytes = 4096;
  const int size = request.page_size();
  if (size < 0) {
    return InvalidArgument("page_size is " + std::to_string(size) +
                           "; it must be 0 or from 1 to 10000");
  }
  if (request.page_token().size() > kMaxTokenBytes) return InvalidArgument("invalid page_token");
  return PageRequest{size == 0 ? normal : std::min(size, kMost), request.page_token()};
}

// Moves a page into the fields of a response.
template <typename Item, typename Items>
void FillPage(Page<Item> page, Items* items, std::string* next_token) {
  items->Assign(std::make_move_iterator(page.items.begin()),
                std::make_move_iterator(page.items.end()));
  *next_token = std::move(page.next_token);
}

// Checks the id or name in a request. Returns an error if it is empty or very long.
inline Status CheckReference(const std::string& field, const std::string& value) {
  constexpr size_t kMaxBytes = 512;
  if (value.empty()) return InvalidArgument(field + " is missing; give an id or a name");
  if (value.size() > kMaxBytes) return InvalidArgument(field + " is longer than any id or name");
  return Status::Ok();
}

// A service that calls the coordinator. Both arguments must outlive the service.
template <typename Callbacks>
class CoordinatorService : public Callbacks {
 public:
  CoordinatorService(Coordinator& coordinator, const Calls& calls)
      : coordinator_(coordinator), calls_(calls) {}

 protected:
  Coordinator& coordinator_;
  const Calls& calls_;
};

}  // namespace assay::coordinator::rpc
