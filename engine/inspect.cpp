// SPDX-License-Identifier: Apache-2.0
//
// Looks into a shared-memory region with the target library's own code, so that what is shown is what a peer
// would see.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>
#include <system_error>

#include "bindings.hpp"
#include "consort/icc.hpp"
#include "consort/icc/control.hpp"
#include "consort/linux/shared_memory.hpp"

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
        default:
            return "unknown";
    }
}

nb::dict object_dict(const consort::Region<>& region, const consort::ObjectEntry& entry) {
    nb::dict object;
    const auto name = consort::detail::entry_name(entry);
    object["name"] = std::string(name);
    object["kind"] = channel_name(entry.kind);
    object["parameter"] = entry.parameter;
    object["offset"] = entry.offset;
    object["bytes"] = entry.bytes;
    object["payload_bytes"] = entry.type_bytes;
    object["fingerprint"] =
        std::uint64_t{entry.fingerprint_high} << 32U | std::uint64_t{entry.fingerprint_low};
    nb::list leaves;
    for (std::uint32_t i = 0; i < entry.leaf_count; ++i) {
        const consort::Leaf& leaf = region.leaf(entry.first_leaf + i);
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

// Attaches read-only to a file (also /dev/shm/NAME and /proc/PID/fd/N). `refused` is the reason, or None.
nb::dict inspect_region(const std::string& path) {
    nb::dict result;
    const auto memory = consort::linux_port::SharedMemory::open_file(path, false);
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
        objects.append(object_dict(region, region.object(i)));
    }
    result["objects"] = objects;
    return result;
}

}  // namespace

void consort::engine::bind_inspect(nb::module_& module) {
    module.def("inspect_region", &inspect_region, nb::arg("path"),
               "Attaches read-only to the region in a file and tells what it holds. OSError if it cannot be "
               "mapped.");
}
