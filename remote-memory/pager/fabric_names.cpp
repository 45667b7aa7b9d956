// SPDX-License-Identifier: Apache-2.0
//
// Names of providers; and what is there of a fabric where this is built without libfabric's headers.
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "fabric.hpp"

namespace consort::remote::fabric {

FabricName name_of(const std::string& provider) {
    FabricName name{};
    if (provider.empty() || provider.size() >= name.size()) {
        throw std::invalid_argument("fabric=" + provider + ": no name of a provider");
    }
    std::memcpy(name.data(), provider.data(), provider.size());
    return name;
}

std::string text_of(const FabricName& name) {
    return {name.data(), ::strnlen(name.data(), name.size())};
}

#if !defined(CONSORT_LIBFABRIC)

namespace {

[[noreturn]] void refuse() {
    throw std::system_error(ENOSYS, std::generic_category(),
                            "fabric: built without libfabric: apt-get install libfabric-dev");
}

}  // namespace

struct Exposed::Registered {};

void expect(const std::string& /*provider*/) {
    refuse();
}
Exposed::Exposed(const std::string& /*provider*/, const std::string& /*host*/, void* /*memory*/,
                 std::size_t /*bytes*/) {
    refuse();
}
Exposed::~Exposed() = default;
Access::Access(const FabricTarget& /*target*/, const Options& options) : options_(options) {
    refuse();
}
Access::~Access() = default;
void Access::begin(bool /*writes*/, const Piece* /*pieces*/, std::size_t /*count*/) noexcept {}
Outcome Access::end() noexcept {
    return Outcome::closed;
}

#endif

}  // namespace consort::remote::fabric
