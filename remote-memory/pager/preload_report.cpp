// SPDX-License-Identifier: Apache-2.0
//
// The report at a program's end: what its segments did, and which pages came.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "pager.hpp"
#include "preload_areas.hpp"

namespace consort::remote::preloaded {

void write_report(const char* path) {
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) {
        say({"consort remote: the report cannot be written to ", path, ": ", std::strerror(errno), "\n"});
        return;
    }
    std::fprintf(file, "{\"segments\": [");
    const char* before = "";
    areas.each([&](std::size_t, const Area& each) {
        if (each.segment == nullptr) {
            return;
        }
        const Counters c = each.segment->counters();
        std::fprintf(file,
                     "%s{\"faults\": %ju, \"write_faults\": %ju, \"fetched\": %ju, \"zeroed\": %ju, "
                     "\"evicted\": %ju, \"stored\": %ju, \"rescued\": %ju, \"waits\": %ju, "
                     "\"prefetched\": %ju, \"corrected\": %ju, \"reconnected\": %ju, "
                     "\"replicas_lost\": %ju}",
                     before, c.faults, c.write_faults, c.fetched, c.zeroed, c.evicted, c.stored, c.rescued,
                     c.waits, c.prefetched, c.corrected, c.reconnected, c.replicas_lost);
        before = ", ";
    });
    std::fprintf(file, "]}\n");
    if (std::fclose(file) != 0) {
        say({"consort remote: the report in ", path, " is not whole: ", std::strerror(errno), "\n"});
    }
}

namespace {

// Counts of the segments that are gone, and, at the end, of all.
struct Summary {
    std::size_t attached_bytes = 0;
    std::size_t most = 0;
    std::uint64_t faults = 0;
    std::uint64_t fetched = 0;
};
Summary summary;

}  // namespace

void summarize(const Area& area) {
    if (area.segment == nullptr) {
        return;
    }
    const Counters c = area.segment->counters();
    summary.attached_bytes += area.bytes;
    summary.most += area.blocks.most();
    summary.faults += c.faults + c.write_faults;
    summary.fetched += c.fetched;
}

void say_summary() {
    areas.each([](std::size_t, const Area& each) { summarize(each); });
    constexpr double mib = 1024.0 * 1024.0;
    std::array<char, 200> line{};
    std::snprintf(line.data(), line.size(),
                  "consort remote: at most %.1f MiB of %.1f MiB attached were in use; %ju faults, "
                  "%ju pages fetched\n",
                  static_cast<double>(summary.most) / mib, static_cast<double>(summary.attached_bytes) / mib,
                  summary.faults, summary.fetched);
    say({line.data()});
}

// A working set that was cut off would be taken for a whole one: it is written beside, and then renamed.
void write_record(const char* path) {
    const std::string beside = std::string(path) + ".new";
    std::ofstream file(beside, std::ios::trunc);
    areas.each([&](std::size_t, const Area& each) {
        if (each.segment != nullptr && !each.ordinary) {
            file << heading(*each.segment) << "\n" << write_pages(each.segment->recorded());
        }
    });
    file.close();
    if (!file || std::rename(beside.c_str(), path) != 0) {
        say({"consort remote: the working set cannot be written to ", path, ": ", std::strerror(errno),
             "\n"});
        std::remove(beside.c_str());
    }
}

}  // namespace consort::remote::preloaded
