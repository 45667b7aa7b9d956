// SPDX-License-Identifier: Apache-2.0
//
// Segments of a program: those that the environment names, and those that come and go while it runs.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "pager.hpp"
#include "preload_areas.hpp"

namespace consort::remote::preloaded {

namespace {

Faults faults_of(const std::string& text) {
    if (text == "in-thread") {
        return Faults::in_thread;
    }
    if (text == "handler" || text == "polling") {
        return text == "handler" ? Faults::handler : Faults::polling;
    }
    throw std::invalid_argument("CONSORT_REMOTE_FAULTS: " + text + " is none of in-thread, handler, polling");
}

SegmentOptions options_of(const std::string& line) {
    std::istringstream fields(line);
    SegmentOptions options;
    const auto next = [&] {
        std::string field;
        std::getline(fields, field, '\t');
        return field;
    };
    options.key_file = next();
    options.bytes = std::stoull(next());
    options.cache_bytes = std::stoull(next());
    options.pages = next() == "mapped" ? Pages::mapped : Pages::copied;
    options.replicas = static_cast<std::uint32_t>(std::stoul(next()));
    options.encrypt = next() == "encrypted";
    options.fabric = next();
    options.page = std::stoull(next());
    options.server = next();
    for (std::string server = next(); !server.empty(); server = next()) {
        options.more_servers.push_back(server);
    }
    options.faults = faults_of(setting("CONSORT_REMOTE_FAULTS", "handler"));
    options.prefetch = static_cast<std::uint32_t>(std::stoul(setting("CONSORT_REMOTE_PREFETCH", "64")));
    options.patience = std::chrono::milliseconds(std::stoul(setting("CONSORT_REMOTE_PATIENCE_MS", "5000")));
    options.reconnect = std::chrono::milliseconds(std::stoul(setting("CONSORT_REMOTE_RECONNECT_MS", "0")));
    options.record = std::getenv("CONSORT_REMOTE_RECORD_SET") != nullptr;
    return options;
}

// No fork() meanwhile, which copies what is attached.
class Changing {
  public:
    Changing() { ::pthread_mutex_lock(&changing); }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;
    ~Changing() { ::pthread_mutex_unlock(&changing); }
};

Area& area_numbered(std::size_t place) {
    Area* area = areas.at(place);
    if (area == nullptr || area->ordinary) {
        throw std::invalid_argument("there is no segment " + std::to_string(place));
    }
    return *area;
}

void remove(std::size_t place, Area& area) {
    areas.remove(place);
    summarize(area);
    delete area.segment;  // NOLINT(cppcoreguidelines-owning-memory): its area goes on without it
    area.segment = nullptr;
}

// Blocks that stayed when their segment was detached have been freed since: the place is for another segment,
// and the addresses are the program's. A thread that frees a block touches its memory no more once it is not
// a block.
void forget_empty() {
    areas.each([](std::size_t place, Area& each) {
        {
            const Held held;
            if (!each.ordinary || used_in(each) != 0) {
                return;
            }
        }
        remove(place, each);
        ::syscall(SYS_munmap, each.base, each.bytes);
    });
}

}  // namespace

std::string heading(const Segment& segment) {
    return segment.page() == small_page ? "segment" : "segment of huge pages";
}

std::string setting(const char* name, const char* otherwise) {
    const char* found = std::getenv(name);
    return found == nullptr ? otherwise : found;
}

bool serves_in_thread() {
    return faults_of(setting("CONSORT_REMOTE_FAULTS", "handler")) == Faults::in_thread;
}

void prefetch_set(const char* path) {
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(std::string(path) + ": the working set cannot be read");
    }
    std::vector<std::string> texts;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("segment", 0) == 0) {
            // Pages of another size have other numbers.
            const Area* area = areas.at(texts.size());
            if (area != nullptr && line != heading(*area->segment)) {
                throw std::invalid_argument(
                    std::string(path) + ": '" + line + "' is of other pages than the " +
                    "segment attached, whose heading is '" + heading(*area->segment) + "'");
            }
            texts.emplace_back();
        } else if (!texts.empty()) {
            texts.back() += line + "\n";
        } else {
            throw std::invalid_argument(std::string(path) + ": its first line has to be 'segment'");
        }
    }
    if (texts.size() != areas.size()) {
        throw std::invalid_argument(std::string(path) + ": it is of " + std::to_string(texts.size()) +
                                    " segments, and " + std::to_string(areas.size()) + " are attached");
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        Area& area = *areas.at(i);
        area.segment->prefetch(
            read_pages(texts[i], static_cast<std::uint32_t>(area.bytes / area.segment->page())));
    }
}

std::size_t add_segment(const std::string& line) {
    auto segment = std::make_unique<Segment>(options_of(line));
    const auto base = reinterpret_cast<std::uintptr_t>(segment->data());
    auto area = std::make_unique<Area>(segment.get(), base, segment->bytes());
    const std::size_t place = areas.add(area.get());
    static_cast<void>(segment.release());
    static_cast<void>(area.release());
    return place;
}

std::size_t attach(const std::string& line) {
    const Changing alone;
    forget_empty();
    const std::size_t place = add_segment(line);
    const Held held;
    set_threshold();
    return place;
}

std::string detach(std::size_t place, bool stays) {
    const Changing alone;
    forget_empty();
    Area& area = area_numbered(place);
    std::vector<Segment::Block> blocks;
    std::size_t used = 0;
    {
        const Held held;
        used = used_in(area);
        blocks = blocks_in(area);
        if (used != 0 && !stays) {
            throw std::invalid_argument(std::to_string(used) + " bytes lie there, in " +
                                        std::to_string(blocks.size()) +
                                        " blocks; let their pages come home: --home");
        }
        area.closing = true;
        set_threshold();
    }
    if (used == 0) {
        remove(place, area);
        return "detached";
    }
    if (!area.segment->settle(blocks)) {
        const Held held;
        area.closing = false;
        set_threshold();
        throw std::system_error(EIO, std::generic_category(), "not all pages can be had; it stays attached");
    }
    area.ordinary.store(true, std::memory_order_release);
    return "detached; " + std::to_string(used) + " bytes came home";
}

std::string listing() {
    std::string text;
    areas.each([&](std::size_t place, const Area& each) {
        if (each.ordinary || each.segment == nullptr) {
            return;
        }
        const Held held;
        text += std::to_string(place) + "\t" + std::to_string(each.bytes) + "\t" +
                std::to_string(used_in(each)) + "\t" + (each.segment->lost() ? "lost" : "attached") + "\n";
    });
    return text;
}

}  // namespace consort::remote::preloaded
