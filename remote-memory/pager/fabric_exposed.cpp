// SPDX-License-Identifier: Apache-2.0
#include "fabric.hpp"

#if defined(CONSORT_LIBFABRIC)

#include <ctime>

#include "fabric_objects.hpp"
#include "waiting.hpp"

namespace consort::remote::fabric {

struct Exposed::Registered {
    Objects objects;
    Owned<fid_mr> memory;
};

Exposed::Exposed(const std::string& provider, const std::string& host, void* memory, std::size_t bytes)
    : registered_(new Registered) {
    Objects& objects = registered_->objects;
    objects.open(provider, FI_RMA | FI_REMOTE_READ | FI_REMOTE_WRITE, host, nullptr);
    registered_->memory = objects.enrol(memory, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE);
    target_.provider = name_of(provider);
    target_.format = objects.info->addr_format;
    std::size_t size = target_.address.size();
    check(provider, "address", ::fi_getname(&objects.endpoint->fid, target_.address.data(), &size));
    target_.address_bytes = static_cast<std::uint32_t>(size);
    target_.key = ::fi_mr_key(registered_->memory.get());
    target_.base = objects.needs(FI_MR_VIRT_ADDR) ? reinterpret_cast<std::uintptr_t>(memory) : 0;
    // Providers without hardware serve what comes only while somebody asks for completions.
    thread_ = quiet_thread([this] {
        Objects& served = registered_->objects;
        unsigned idle = 0;
        while (!ending_.load(std::memory_order_relaxed)) {
            fi_cq_entry entry{};
            const long got = served.waits ? ::fi_cq_sread(served.completions.get(), &entry, 1, nullptr, 50)
                                          : ::fi_cq_read(served.completions.get(), &entry, 1);
            if (got == -FI_EAVAIL) {
                fi_cq_err_entry error{};
                ::fi_cq_readerr(served.completions.get(), &error, 0);
            }
            if (!served.waits && ++idle % 64 == 0) {
                const timespec moment{0, 50'000};
                ::nanosleep(&moment, nullptr);
            }
        }
    });
}

Exposed::~Exposed() {
    registered_->memory.reset();  // what still comes is refused
    ending_ = true;
    if (thread_.joinable()) {
        thread_.join();
    }
}

}  // namespace consort::remote::fabric

#endif
