// SPDX-License-Identifier: Apache-2.0
#include "fabric.hpp"

#if defined(CONSORT_LIBFABRIC)

#include <dlfcn.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <system_error>

#include "fabric_objects.hpp"

namespace consort::remote::fabric {

namespace {

// The library is loaded when the first fabric is asked for: programs without one do not need it.
struct Library {
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
    decltype(&::fi_strerror) strerror;
};

template <class Function>
void find(void* loaded, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(loaded, name));
    if (function == nullptr) {
        throw std::system_error(ENOSYS, std::generic_category(), std::string("libfabric lacks ") + name);
    }
}

// A provider (shm) puts handlers of its own in place when the library begins; the program, and the pager's
// own handler of SIGBUS, keep theirs.
class SameHandlers {
  public:
    SameHandlers() noexcept {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            ::sigaction(signals[i], nullptr, &before_[i]);
        }
    }
    SameHandlers(const SameHandlers&) = delete;
    SameHandlers& operator=(const SameHandlers&) = delete;
    ~SameHandlers() {
        for (std::size_t i = 0; i < signals.size(); ++i) {
            ::sigaction(signals[i], &before_[i], nullptr);
        }
    }

  private:
    static constexpr std::array<int, 5> signals{SIGBUS, SIGSEGV, SIGTERM, SIGINT, SIGABRT};
    std::array<struct sigaction, signals.size()> before_{};
};

const Library& library() {
    static const Library loaded = [] {
        const SameHandlers kept;
        void* file = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (file == nullptr) {
            throw std::system_error(
                ENOSYS, std::generic_category(),
                std::string("fabric: libfabric cannot be loaded: apt-get install libfabric1: ") +
                    ::dlerror());
        }
        Library made{};
        find(file, "fi_getinfo", made.getinfo);
        find(file, "fi_freeinfo", made.freeinfo);
        find(file, "fi_dupinfo", made.dupinfo);
        find(file, "fi_fabric", made.fabric);
        find(file, "fi_strerror", made.strerror);
        // The providers begin with the first question.
        fi_info* found = nullptr;
        if (made.getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found) == 0) {
            made.freeinfo(found);
        }
        return made;
    }();
    return loaded;
}

Info hints_for(std::uint64_t capabilities) {
    // libfabric's fi_allocinfo.
    Info hints(library().dupinfo(nullptr));
    if (hints == nullptr) {
        throw std::bad_alloc();
    }
    hints->caps = capabilities;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = FI_THREAD_SAFE;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_VIRT_ADDR;
    return hints;
}

std::vector<std::string> providers() {
    std::vector<std::string> names;
    const Info hints = hints_for(FI_RMA);
    fi_info* found = nullptr;
    if (library().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) == 0) {
        const Info all(found);
        for (const fi_info* each = found; each != nullptr; each = each->next) {
            names.emplace_back(each->fabric_attr->prov_name);
        }
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

// The provider shm names its memory by the process.
void remove_memory_of_this_number() {
    const std::string own = std::to_string(::getpid()) + ":";
    std::error_code failed;
    // Nothing may be thrown where a program ends.
    std::filesystem::directory_iterator each("/dev/shm", failed);
    for (; !failed && each != std::filesystem::directory_iterator(); each.increment(failed)) {
        if (each->path().filename().string().starts_with(own)) {
            std::error_code removed_already;
            std::filesystem::remove(each->path(), removed_already);
        }
    }
}

// A process that is killed leaves its memory: the next one of that number would be refused. Before its first
// endpoint a process has none of its own. One that ends with endpoints open, as a program does whose memory
// is paged, would leave it too; whoever has it mapped keeps it.
void remove_what_a_namesake_left() {
    static std::mutex mutex;
    static pid_t looked = 0;
    const std::scoped_lock lock(mutex);
    if (looked == ::getpid()) {
        return;
    }
    if (looked == 0) {
        std::atexit(remove_memory_of_this_number);
    }
    looked = ::getpid();
    remove_memory_of_this_number();
}

}  // namespace

void FreeInfo::operator()(fi_info* info) const noexcept {
    library().freeinfo(info);
}

void check(const std::string& provider, const char* what, long result) {
    if (result < 0) {
        throw std::system_error(
            EIO, std::generic_category(),
            "fabric=" + provider + ": " + what + ": " + library().strerror(static_cast<int>(-result)));
    }
}

void expect(const std::string& provider) {
    const std::vector<std::string> names = providers();
    const auto is_it = [&](const std::string& name) {
        return name == provider || name.rfind(provider + ";", 0) == 0;
    };
    if (std::none_of(names.begin(), names.end(), is_it)) {
        std::string text;
        for (const std::string& each : names) {
            text += (text.empty() ? "" : ", ") + each;
        }
        throw std::invalid_argument("fabric=" + provider +
                                    ": no provider of libfabric here; there are: " + text);
    }
}

void Objects::open(const std::string& provider, std::uint64_t capabilities, const std::string& source,
                   const FabricTarget* target) {
    const Info hints = hints_for(capabilities);
    hints->fabric_attr->prov_name = ::strdup(provider.c_str());
    if (provider == "shm") {
        remove_what_a_namesake_left();
        // With virtual addresses this provider's client reaches into the server without asking for the key.
        hints->domain_attr->mr_mode &= ~FI_MR_VIRT_ADDR;
    }
    const bool socket_address = target != nullptr && target->format <= FI_SOCKADDR_IN6;
    if (socket_address && target->address_bytes <= target->address.size()) {
        hints->addr_format = target->format;
        hints->dest_addr = std::malloc(target->address_bytes);  // NOLINT: libfabric frees it
        hints->dest_addrlen = target->address_bytes;
        std::memcpy(hints->dest_addr, target->address.data(), target->address_bytes);
    }
    fi_info* found = nullptr;
    int result = -FI_ENODATA;
    // The names of this one's endpoints have the process in them, unless they are given another.
    if (!source.empty() && provider != "shm") {
        result =
            library().getinfo(FI_VERSION(1, 17), source.c_str(), nullptr, FI_SOURCE, hints.get(), &found);
    }
    if (result != 0) {  // its addresses are none of the Internet's
        result = library().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found);
    }
    check(provider, "no endpoint", result);
    info.reset(found);
    fid_fabric* made_fabric = nullptr;
    check(provider, "fabric", library().fabric(info->fabric_attr, &made_fabric, nullptr));
    fabric.reset(made_fabric);
    fid_domain* made_domain = nullptr;
    check(provider, "domain", ::fi_domain(fabric.get(), info.get(), &made_domain, nullptr));
    domain.reset(made_domain);
    fi_av_attr wanted_addresses{};
    fid_av* made_addresses = nullptr;
    check(provider, "address vector",
          ::fi_av_open(domain.get(), &wanted_addresses, &made_addresses, nullptr));
    addresses.reset(made_addresses);
    fi_cq_attr wanted_completions{};
    wanted_completions.format = FI_CQ_FORMAT_CONTEXT;
    wanted_completions.size = std::size_t{2} * most_pages;
    // A provider that cannot sleep on a descriptor (shm) may wait beyond the time-out: it is polled.
    wanted_completions.wait_obj = target == nullptr ? FI_WAIT_FD : FI_WAIT_NONE;
    fid_cq* made_completions = nullptr;
    result = ::fi_cq_open(domain.get(), &wanted_completions, &made_completions, nullptr);
    waits = result == 0 && target == nullptr;
    if (result != 0) {
        wanted_completions.wait_obj = FI_WAIT_NONE;
        result = ::fi_cq_open(domain.get(), &wanted_completions, &made_completions, nullptr);
    }
    check(provider, "completion queue", result);
    completions.reset(made_completions);
    fid_ep* made_endpoint = nullptr;
    check(provider, "endpoint", ::fi_endpoint(domain.get(), info.get(), &made_endpoint, nullptr));
    endpoint.reset(made_endpoint);
    check(provider, "address vector", ::fi_ep_bind(endpoint.get(), &addresses->fid, 0));
    check(provider, "completion queue",
          ::fi_ep_bind(endpoint.get(), &completions->fid, FI_TRANSMIT | FI_RECV));
    check(provider, "endpoint", ::fi_enable(endpoint.get()));
}

Owned<fid_mr> Objects::enrol(void* memory, std::size_t bytes, std::uint64_t access) const {
    std::uint64_t key = 0;
    ::randombytes_buf(&key, sizeof key);
    if (info->domain_attr->mr_key_size < sizeof key) {
        key &= (std::uint64_t{1} << (8 * info->domain_attr->mr_key_size)) - 1;
    }
    fid_mr* made = nullptr;
    const std::string provider = info->fabric_attr->prov_name;
    check(provider, "registering memory",
          ::fi_mr_reg(domain.get(), memory, bytes, access, 0, key, 0, &made, nullptr));
    Owned<fid_mr> owned(made);
    if (needs(FI_MR_ENDPOINT)) {
        check(provider, "registering memory", ::fi_mr_bind(made, &endpoint->fid, 0));
        check(provider, "registering memory", ::fi_mr_enable(made));
    }
    return owned;
}

}  // namespace consort::remote::fabric

#endif
