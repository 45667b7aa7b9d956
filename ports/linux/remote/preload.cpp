// SPDX-License-Identifier: Apache-2.0
//
// What `consort remote run` preloads into a program: large allocations, and large anonymous mappings, come
// from attached segments; small ones stay with the C library. docs/how-to/remote-pager.md says what it takes
// over.
//
// CONSORT_REMOTE_SEGMENTS holds a line for each segment: key, bytes, bytes of cache, `copied` or `mapped`,
// replicas, `plain` or `encrypted`, and servers, with tabs between. CONSORT_REMOTE_THRESHOLD [bytes],
// CONSORT_REMOTE_FAULTS (in-thread, handler, polling), CONSORT_REMOTE_PREFETCH [pages],
// CONSORT_REMOTE_PATIENCE_MS, CONSORT_REMOTE_RECONNECT_MS; and files: CONSORT_REMOTE_REPORT,
// CONSORT_REMOTE_RECORD_SET, CONSORT_REMOTE_PREFETCH_SET, and the socket CONSORT_REMOTE_CONTROL, by which
// segments are attached and detached while the program runs (preload_control.cpp).
#include "preload.hpp"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "blocks.hpp"
#include "consort/linux/program.hpp"
#include "consort/linux/remote_segment.hpp"
#include "pager.hpp"

extern "C" {
// The C library's own, which calls that come from here go to.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): its names
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* block);
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace consort::remote::preloaded {

__attribute__((tls_model("initial-exec"))) thread_local bool inside = false;
bool in_thread = false;
bool attached = false;

void say_once(std::atomic_flag& said, const char* words) {
    if (!said.test_and_set()) {
        [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words, std::strlen(words));
    }
}

}  // namespace consort::remote::preloaded

namespace {

using namespace consort::remote;
using namespace consort::remote::preloaded;

// An area is never freed: threads of the program may look at it until the process is gone.
struct Area {
    Segment* segment;  // null once it was detached
    std::uintptr_t base;
    std::size_t bytes;
    Blocks blocks;
    bool has_rights = false;  // a program took the right to write from some pages
    bool closing = false;     // nothing comes to lie there any more
    // Its pages stayed when it was detached: it is ordinary memory, for what lies there already.
    std::atomic<bool> ordinary{false};

    Area(Segment* of, std::uintptr_t at, std::size_t size)
        : segment(of), base(at), bytes(size), blocks(size) {}
};

class Areas {
  public:
    // Throws std::invalid_argument where there are as many as there can be.
    std::size_t add(Area* area) {
        for (std::size_t i = 0; i < places_.size(); ++i) {
            if (places_[i].load(std::memory_order_relaxed) == nullptr) {
                places_[i].store(area, std::memory_order_release);
                used_.store(std::max(used_.load(std::memory_order_relaxed), i + 1),
                            std::memory_order_release);
                return i;
            }
        }
        throw std::invalid_argument("a program has at most 64 segments");
    }
    void remove(std::size_t place) noexcept { places_[place].store(nullptr, std::memory_order_release); }
    [[nodiscard]] Area* at(std::size_t place) const noexcept {
        return place < places_.size() ? places_[place].load(std::memory_order_acquire) : nullptr;
    }
    [[nodiscard]] std::size_t size() const noexcept { return used_.load(std::memory_order_acquire); }
    template <class Body>
    void each(Body body) const {
        for (std::size_t i = 0; i < size(); ++i) {
            if (Area* area = at(i); area != nullptr) {
                body(i, *area);
            }
        }
    }

  private:
    std::array<std::atomic<Area*>, 64> places_{};
    std::atomic<std::size_t> used_{0};
};

Areas areas;
// What allocations from this size on are remote; none while there is no segment for them.
constexpr std::size_t never = static_cast<std::size_t>(-1);
std::atomic<std::size_t> threshold{never};
std::size_t given_threshold = never;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
bool is_child = false;
const char* report_file = nullptr;
const char* record_file = nullptr;

class Held {
  public:
    Held() : before_(inside) {
        ::pthread_mutex_lock(&lock);
        inside = true;
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
        inside = before_;
        ::pthread_mutex_unlock(&lock);
    }

  private:
    bool before_;
};

Area* area_of(const void* pointer) {
    for (std::size_t i = 0; i < areas.size(); ++i) {
        if (Area* area = areas.at(i);
            area != nullptr && reinterpret_cast<std::uintptr_t>(pointer) - area->base < area->bytes) {
            return area;
        }
    }
    return nullptr;
}

bool wanted(std::size_t bytes) {
    return bytes >= threshold.load(std::memory_order_relaxed) && !inside;
}

// A new block; null with ENOMEM where no segment has room: what is to be remote does not become local unseen.
void* allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes <= PTRDIFF_MAX) {
        const Held held;
        for (std::size_t i = 0; i < areas.size(); ++i) {
            Area* each = areas.at(i);
            if (each == nullptr || each->closing) {
                continue;
            }
            const std::size_t at = each->blocks.allocate(bytes, std::max(alignment, page_bytes), each->base);
            if (at != Blocks::none) {
                return reinterpret_cast<void*>(each->base + at);  // NOLINT: an address in a mapping
            }
        }
    }
    static std::atomic_flag said;
    say_once(said,
             "consort remote: the attached segments have no room for an allocation; it fails (ENOMEM)\n");
    errno = ENOMEM;
    return nullptr;
}

void release(Area& area, const void* pointer, std::size_t bytes) {
    if (is_child) {
        return;
    }
    const std::size_t at = reinterpret_cast<std::uintptr_t>(pointer) - area.base;
    if (area.ordinary.load(std::memory_order_acquire)) {
        ::syscall(SYS_madvise, area.base + at, bytes, MADV_DONTNEED);
        const Held held;
        area.blocks.release(at, bytes);
        return;
    }
    // Before another thread can get the block: it reads as zeros again, and can be written to.
    area.segment->discard(at, bytes);
    if (area.has_rights && !area.segment->protect(at, bytes, Rights::read_write)) {
        return;  // nobody could write to it: nobody gets it
    }
    const Held held;
    area.blocks.release(at, bytes);
}

std::size_t length_of(const Area& area, const void* pointer) {
    const Held held;
    return area.blocks.length_of(reinterpret_cast<std::uintptr_t>(pointer) - area.base);
}

// --- start and end
// -------------------------------------------------------------------------------------------

std::string setting(const char* name, const char* otherwise) {
    const char* found = std::getenv(name);
    return found == nullptr ? otherwise : found;
}

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
    options.server = next();
    for (std::string server = next(); !server.empty(); server = next()) {
        options.more_servers.push_back(server);
    }
    options.faults = faults_of(setting("CONSORT_REMOTE_FAULTS", "handler"));
    options.prefetch = static_cast<std::uint32_t>(std::stoul(setting("CONSORT_REMOTE_PREFETCH", "64")));
    options.patience = std::chrono::milliseconds(std::stoul(setting("CONSORT_REMOTE_PATIENCE_MS", "5000")));
    options.reconnect = std::chrono::milliseconds(std::stoul(setting("CONSORT_REMOTE_RECONNECT_MS", "0")));
    options.record = record_file != nullptr;
    return options;
}

// A working set has the pages of each segment in turn, each after a line `segment`.
void prefetch(const char* path) {
    std::ifstream file(path);
    if (!file) {
        throw std::invalid_argument(std::string(path) + ": the working set cannot be read");
    }
    std::vector<std::string> texts;
    for (std::string line; std::getline(file, line);) {
        if (line == "segment") {
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
        area.segment->prefetch(read_pages(texts[i], static_cast<std::uint32_t>(area.bytes / page_bytes)));
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

int start() {
    std::istringstream lines(setting("CONSORT_REMOTE_SEGMENTS", ""));
    record_file = std::getenv("CONSORT_REMOTE_RECORD_SET");
    for (std::string line; std::getline(lines, line);) {
        add_segment(line);
    }
    if (areas.size() == 0) {
        throw std::invalid_argument("CONSORT_REMOTE_SEGMENTS names no segment");
    }
    in_thread = faults_of(setting("CONSORT_REMOTE_FAULTS", "handler")) == Faults::in_thread;
    attached = true;
    report_file = std::getenv("CONSORT_REMOTE_REPORT");
    if (const char* path = std::getenv("CONSORT_REMOTE_PREFETCH_SET"); path != nullptr) {
        prefetch(path);
    }
    given_threshold = std::stoull(setting("CONSORT_REMOTE_THRESHOLD", "1048576"));
    if (const char* path = std::getenv("CONSORT_REMOTE_CONTROL"); path != nullptr) {
        listen_at(path);
    }
    threshold = given_threshold;
    return consort::linux_port::good;
}

void in_child() {
    // It has no segments: what it allocates is its own, and what it had there is not to be touched.
    is_child = true;
    attached = false;
    threshold = never;
    lock = PTHREAD_MUTEX_INITIALIZER;
    inside = false;
}

// Runs before the program's main.
__attribute__((constructor)) void begin() {
    inside = true;
    const int status = consort::linux_port::run_program("consort remote run", start);
    if (status != consort::linux_port::good) {
        ::_exit(status);
    }
    // Programs that this one starts run as ever.
    ::unsetenv("LD_PRELOAD");
    ::pthread_atfork([] { ::pthread_mutex_lock(&lock); }, [] { ::pthread_mutex_unlock(&lock); }, in_child);
    inside = false;
}

void write_report() {
    std::FILE* file = std::fopen(report_file, "w");
    if (file == nullptr) {
        say({"consort remote: the report cannot be written to ", report_file, ": ", std::strerror(errno),
             "\n"});
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
        say({"consort remote: the report in ", report_file, " is not whole: ", std::strerror(errno), "\n"});
    }
}

// A working set that was cut off would be taken for a whole one: it is written beside, and then renamed.
void write_record() {
    const std::string beside = std::string(record_file) + ".new";
    std::ofstream file(beside, std::ios::trunc);
    areas.each([&](std::size_t, const Area& each) {
        if (each.segment != nullptr && !each.ordinary) {
            file << "segment\n" << write_pages(each.segment->recorded());
        }
    });
    file.close();
    if (!file || std::rename(beside.c_str(), record_file) != 0) {
        say({"consort remote: the working set cannot be written to ", record_file, ": ", std::strerror(errno),
             "\n"});
        std::remove(beside.c_str());
    }
}

__attribute__((destructor)) void end() {
    if (!attached || is_child) {
        return;
    }
    inside = true;
    stop_listening();
    if (report_file != nullptr) {
        write_report();
    }
    if (record_file != nullptr) {
        write_record();
    }
    inside = false;
}

int fail(int error) {
    errno = error;
    return -1;
}

// Bytes of blocks that lie there.
std::size_t used_in(const Area& area) {
    std::size_t bytes = 0;
    for (const auto& [offset, length] : area.blocks.used()) {
        bytes += length;
    }
    return bytes;
}

Area& area_numbered(std::size_t place) {
    Area* area = areas.at(place);
    if (area == nullptr || area->ordinary) {
        throw std::invalid_argument("there is no segment " + std::to_string(place));
    }
    return *area;
}

// Large allocations are remote where there is a segment for them.
void set_threshold() {
    bool any = false;
    areas.each([&](std::size_t, const Area& each) { any = any || !each.closing; });
    threshold = any ? given_threshold : never;
}

}  // namespace

namespace consort::remote::preloaded {

std::size_t attach(const std::string& line) {
    const std::size_t place = add_segment(line);
    const Held held;
    set_threshold();
    return place;
}

std::string detach(std::size_t place, bool stays) {
    Area& area = area_numbered(place);
    std::vector<Segment::Block> blocks;
    std::size_t used = 0;
    {
        const Held held;
        used = used_in(area);
        if (used != 0 && !stays) {
            throw std::invalid_argument(std::to_string(used) + " bytes lie there, in " +
                                        std::to_string(area.blocks.used().size()) +
                                        " blocks; let their pages come home: --home");
        }
        area.closing = true;
        set_threshold();
        for (const auto& [offset, length] : area.blocks.used()) {
            blocks.push_back({offset, length});
        }
    }
    if (used == 0) {
        areas.remove(place);
        delete area.segment;  // NOLINT(cppcoreguidelines-owning-memory): its area goes on without it
        area.segment = nullptr;
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

// --- what programs call
// --------------------------------------------------------------------------------------

CONSORT_EXPORT void* malloc(std::size_t bytes) {
    return wanted(bytes) ? allocate(bytes, page_bytes) : __libc_malloc(bytes);
}

CONSORT_EXPORT void free(void* block) {
    if (Area* area = area_of(block); area != nullptr) {
        const std::size_t bytes = length_of(*area, block);
        if (bytes == 0) {
            static std::atomic_flag said;
            say_once(said, "consort remote: free() of what is no allocation\n");
            std::abort();
        }
        release(*area, block, bytes);
    } else {
        __libc_free(block);
    }
}

CONSORT_EXPORT void* calloc(std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    // A block is zeros: it was never used, or was discarded.
    return wanted(all) ? allocate(all, page_bytes) : __libc_calloc(count, bytes);
}

CONSORT_EXPORT void* realloc(void* block, std::size_t bytes) {
    Area* area = area_of(block);
    if (area == nullptr) {
        if (!wanted(bytes)) {
            return __libc_realloc(block, bytes);
        }
        void* made = allocate(bytes, page_bytes);
        if (made != nullptr && block != nullptr) {
            std::memcpy(made, block, std::min(bytes, ::malloc_usable_size(block)));
            __libc_free(block);
        }
        return made;
    }
    const std::size_t had = length_of(*area, block);
    if (bytes == 0) {
        release(*area, block, had);
        return nullptr;
    }
    const std::size_t keeps = Blocks::rounded(bytes);
    if (keeps <= had && wanted(bytes)) {
        if (keeps < had) {
            release(*area, static_cast<char*>(block) + keeps, had - keeps);
        }
        return block;
    }
    void* made = malloc(bytes);
    if (made != nullptr) {
        std::memcpy(made, block, std::min(bytes, had));
        release(*area, block, had);
    }
    return made;
}

CONSORT_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t bytes) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(block, all);
}

CONSORT_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
    const bool power = alignment != 0 && (alignment & (alignment - 1)) == 0;
    return power && wanted(bytes) ? allocate(bytes, alignment) : __libc_memalign(alignment, bytes);
}

CONSORT_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
    return memalign(alignment, bytes);
}

CONSORT_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
    if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    const int error = errno;
    void* made = memalign(alignment, bytes);
    const bool failed = made == nullptr && bytes != 0;
    if (!failed) {
        *block = made;
    }
    errno = error;
    return failed ? ENOMEM : 0;
}

CONSORT_EXPORT std::size_t malloc_usable_size(void* block) {
    if (const Area* area = area_of(block); area != nullptr) {
        return length_of(*area, block);
    }
    static const auto real =
        reinterpret_cast<std::size_t (*)(void*)>(::dlsym(RTLD_NEXT, "malloc_usable_size"));
    return real(block);
}

CONSORT_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                          off_t offset) {
    constexpr int kind = MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE | MAP_POPULATE;
    if (address == nullptr && wanted(bytes) && protection == (PROT_READ | PROT_WRITE) &&
        (flags & (MAP_ANONYMOUS | MAP_PRIVATE)) == (MAP_ANONYMOUS | MAP_PRIVATE) && (flags & ~kind) == 0) {
        void* made = allocate(bytes, page_bytes);
        return made == nullptr ? MAP_FAILED : made;
    }
    if ((flags & MAP_FIXED) != 0 && area_of(address) != nullptr) {
        static std::atomic_flag said;
        say_once(said, "consort remote: a mapping over part of a remote block is refused (EINVAL)\n");
        errno = EINVAL;
        return MAP_FAILED;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
    return reinterpret_cast<void*>(::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

CONSORT_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                            off_t offset) {
    return mmap(address, bytes, protection, flags, file, offset);
}

CONSORT_EXPORT int munmap(void* address, std::size_t bytes) {
    if (Area* area = area_of(address); area != nullptr) {
        if (reinterpret_cast<std::uintptr_t>(address) % page_bytes != 0 || bytes == 0) {
            return fail(EINVAL);
        }
        release(*area, address, Blocks::rounded(bytes));
        return 0;
    }
    return static_cast<int>(::syscall(SYS_munmap, address, bytes));
}

CONSORT_EXPORT void* mremap(void* old, std::size_t had, std::size_t bytes, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void* place = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void*) : nullptr;
    va_end(more);
    Area* area = area_of(old);
    if (area == nullptr) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a system call gives a number
        return reinterpret_cast<void*>(::syscall(SYS_mremap, old, had, bytes, flags, place));
    }
    if ((flags & ~MREMAP_MAYMOVE) != 0 || bytes == 0) {
        errno = EINVAL;
        return MAP_FAILED;
    }
    had = Blocks::rounded(had);
    if (Blocks::rounded(bytes) <= had) {
        if (Blocks::rounded(bytes) < had) {
            release(*area, static_cast<char*>(old) + Blocks::rounded(bytes), had - Blocks::rounded(bytes));
        }
        return old;
    }
    void* made = (flags & MREMAP_MAYMOVE) != 0 ? allocate(bytes, page_bytes) : nullptr;
    if (made == nullptr) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    std::memcpy(made, old, had);
    release(*area, old, had);
    return made;
}

CONSORT_EXPORT int madvise(void* address, std::size_t bytes, int advice) noexcept {
    Area* area = area_of(address);
    if (area == nullptr || area->ordinary.load(std::memory_order_acquire)) {
        return static_cast<int>(::syscall(SYS_madvise, address, bytes, advice));
    }
    if (advice == MADV_DONTNEED) {
        const std::size_t at = reinterpret_cast<std::uintptr_t>(address) - area->base;
        if (at % page_bytes != 0 || bytes > area->bytes - at) {
            return fail(EINVAL);
        }
        area->segment->discard(at, Blocks::rounded(bytes));
    } else if (advice == MADV_DOFORK || advice == MADV_REMOVE || advice == MADV_WIPEONFORK) {
        // What would make pages zero, or shared with a child, behind the pager's back.
        return fail(EINVAL);
    }
    // All else is advice on how memory is used: the pager finds out by itself.
    return 0;
}

CONSORT_EXPORT int mprotect(void* address, std::size_t bytes, int protection) noexcept {
    Area* area = area_of(address);
    if (area == nullptr || is_child || area->ordinary.load(std::memory_order_acquire)) {
        return static_cast<int>(::syscall(SYS_mprotect, address, bytes, protection));
    }
    const std::size_t at = reinterpret_cast<std::uintptr_t>(address) - area->base;
    if (at % page_bytes != 0 || bytes > area->bytes - at) {
        return fail(EINVAL);
    }
    if (protection != PROT_READ && protection != (PROT_READ | PROT_WRITE)) {
        static std::atomic_flag said;
        say_once(said,
                 "consort remote: rights to part of a remote block but reading, or reading and writing, are "
                 "refused (EACCES)\n");
        return fail(EACCES);
    }
    const Held held;
    area->has_rights = true;
    return area->segment->protect(at, bytes, protection == PROT_READ ? Rights::read : Rights::read_write)
               ? 0
               : fail(ENOMEM);
}
