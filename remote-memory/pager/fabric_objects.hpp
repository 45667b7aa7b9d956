// SPDX-License-Identifier: Apache-2.0
//
// libfabric's objects, owned; for the sources that are built with its headers.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <memory>
#include <string>

#include "protocol.hpp"

namespace consort::remote::fabric {

struct Close {
    template <class Object>
    void operator()(Object* object) const noexcept {
        ::fi_close(&object->fid);
    }
};
struct FreeInfo {
    void operator()(fi_info* info) const noexcept;
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;
using Info = std::unique_ptr<fi_info, FreeInfo>;

// Both sides have these: one endpoint of one domain, and its objects. Closed from the end.
struct Objects {
    Info info;
    Owned<fid_fabric> fabric;
    Owned<fid_domain> domain;
    Owned<fid_av> addresses;
    Owned<fid_cq> completions;
    Owned<fid_ep> endpoint;
    bool waits = false;  // whether `fi_cq_sread` sleeps

    // Throws std::system_error that names the provider.
    void open(const std::string& provider, std::uint64_t capabilities, const std::string& source,
              const FabricTarget* target);
    // Registers memory under a key that nobody guesses.
    [[nodiscard]] Owned<fid_mr> enrol(void* memory, std::size_t bytes, std::uint64_t access) const;
    [[nodiscard]] bool needs(int mode) const noexcept { return (info->domain_attr->mr_mode & mode) != 0; }
};

// Throws std::system_error for a result of libfabric below 0.
void check(const std::string& provider, const char* what, long result);

}  // namespace consort::remote::fabric
