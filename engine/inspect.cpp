// SPDX-License-Identifier: Apache-2.0
//
// Looks into a shared-memory region with the target library's own code, so that what is shown is what a peer
// would see.

#include <fcntl.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "bindings.hpp"
#include "consort/icc.hpp"
#include "consort/icc/control.hpp"
#include "consort/link.hpp"
#include "consort/linux/link_engine.hpp"

namespace nb = nanobind;

namespace {

const char* kind_name(consort::Kind kind) {
    switch (kind) {
        case consort::Kind::unsigned_integer:
            return "unsigned";
        case consort::Kind::signed_integer:
            return "signed";
        case consort::Kind::floating:
            return "float";
        case consort::Kind::boolean:
            return "bool";
        case consort::Kind::character:
            return "char";
        case consort::Kind::enumeration:
            return "enum";
    }
    return "unknown";
}

const char* channel_name(std::uint32_t kind) {
    switch (kind) {
        case consort::Mailbox<int>::kind:
            return "mailbox";
        case consort::DoubleBuffer<int>::kind:
            return "double buffer";
        case consort::Snapshot<int>::kind:
            return "snapshot";
        case consort::Queue<int, 2>::kind:
            return "queue";
        case consort::WorkerControl<>::kind:
            return "worker control";
        case consort::Versions<int, 2>::kind:
            return "versions";
        case consort::Duplex<int, int>::kind:
            return "duplex";
        case consort::link::Ring<2>::kind:
            return "link ring";
        case consort::link::BlockQueue<int, 1>::kind:
            return "queue over a link";
        case consort::linux_port::LinkBell::kind:
            return "bell";
        default:
            return "unknown";
    }
}

nb::dict object_dict(const consort::Region<>& region, const consort::ObjectEntry& entry) {
    nb::dict object;
    const auto name = consort::detail::entry_name(entry);
    // Bytes that are not UTF-8 are shown, not trusted.
    object["name"] = nb::steal<nb::str>(
        PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "backslashreplace"));
    object["kind"] = channel_name(entry.kind);
    object["parameter"] = entry.parameter;
    object["offset"] = entry.offset;
    object["bytes"] = entry.bytes;
    object["payload_bytes"] = entry.type_bytes;
    object["fingerprint"] =
        std::uint64_t{entry.fingerprint_high} << 32U | std::uint64_t{entry.fingerprint_low};
    nb::list leaves;
    for (std::uint32_t i = 0; i < entry.leaf_count; ++i) {
        const consort::Leaf leaf = region.leaf(entry.first_leaf + i).value();
        nb::dict one;
        one["offset"] = leaf.offset;
        one["count"] = leaf.count;
        one["kind"] = kind_name(leaf.kind);
        one["bytes"] = leaf.size;
        leaves.append(one);
    }
    object["leaves"] = leaves;
    return object;
}

// The bytes that attach reads of a file of `size` bytes: all that a region's tables can take, in private
// memory. A copy, because a file that its owner shortens ends a process that has it mapped with SIGBUS.
class Copy {
  public:
    explicit Copy(const std::string& path) {
        const File file(path);
        struct stat info {};
        checked(::fstat(file.fd, &info), "fstat");
        bytes_ = static_cast<std::size_t>(info.st_size);
        if (bytes_ == 0) {
            throw std::system_error(EINVAL, std::generic_category(), "a region in 0 bytes");
        }
        // Pages that nobody touches cost nothing, whatever size the file claims.
        void* made = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (made == MAP_FAILED) {
            throw std::system_error(errno, std::generic_category(), "mmap of " + std::to_string(bytes_));
        }
        base_ = static_cast<unsigned char*>(made);
        using Header = consort::detail::PrivateHeader;
        constexpr std::size_t tables =
            consort::detail::RegionMap::objects_offset(Header::max_capacity, Header::max_capacity);
        const std::size_t wanted = bytes_ < tables ? bytes_ : tables;
        for (std::size_t at = 0; at < wanted;) {
            const ssize_t got = ::pread(file.fd, base_ + at, wanted - at, static_cast<off_t>(at));
            if (got < 0) {
                const int error = errno;
                ::munmap(base_, bytes_);
                throw std::system_error(error, std::generic_category(), "read");
            }
            if (got == 0) {
                break;
            }
            at += static_cast<std::size_t>(got);
        }
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    Copy(Copy&&) = delete;
    Copy& operator=(Copy&&) = delete;
    ~Copy() { ::munmap(base_, bytes_); }

    [[nodiscard]] void* base() const { return base_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    static int checked(int result, const std::string& what) {
        if (result < 0) {
            throw std::system_error(errno, std::generic_category(), what);
        }
        return result;
    }
    struct File {
        // O_NONBLOCK: a FIFO that nobody writes must not hold the command up.
        explicit File(const std::string& path)
            : fd(checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), "open " + path)) {}
        File(const File&) = delete;
        File& operator=(const File&) = delete;
        File(File&&) = delete;
        File& operator=(File&&) = delete;
        ~File() { ::close(fd); }
        const int fd;
    };

    unsigned char* base_ = nullptr;
    std::size_t bytes_ = 0;
};

// Looks at the region in a file (also /dev/shm/NAME and /proc/PID/fd/N). `refused` is the reason, or None.
nb::dict inspect_region(const std::string& path) {
    nb::dict result;
    const Copy memory(path);
    const auto attached = consort::Region<>::attach(memory.base(), memory.bytes());
    result["mapped_bytes"] = memory.bytes();
    if (!attached) {
        const consort::Refusal& why = attached.refusal();
        result["refused"] = std::string(consort::to_string(why.reason));
        result["expected"] = why.expected;
        result["found"] = why.found;
        return result;
    }
    const consort::Region<>& region = attached.value();
    const consort::RegionHeader& header = region.header();
    result["refused"] = nb::none();
    result["version"] = header.version;
    result["line_bytes"] = header.line;
    result["bytes"] = header.bytes;
    result["pointer_bits"] = header.pointer_bits;
    result["creator"] = header.creator;
    result["generation"] = header.generation;
    nb::list objects;
    for (std::uint32_t i = 0; i < header.object_count; ++i) {
        // The memory is this process's own: what attach found sound is so.
        objects.append(object_dict(region, region.object(i).value()));
    }
    result["objects"] = objects;
    return result;
}

}  // namespace

void consort::engine::bind_inspect(nb::module_& module) {
    module.def("inspect_region", &inspect_region, nb::arg("path"),
               "Says what the region in a file holds, as a peer would see it. OSError if it cannot be read.");
}
