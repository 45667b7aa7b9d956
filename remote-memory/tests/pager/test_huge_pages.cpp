// SPDX-License-Identifier: Apache-2.0
//
// Segments of pages of 2 MiB: they read as what was written to them, parts of a page are given back, and each
// failure has its outcome.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <tuple>

#include "huge_pages.hpp"
#include "remote_support.hpp"

namespace of_huge_pages {

using namespace remote_test;

constexpr std::size_t cache = 16 * mib;
constexpr std::size_t size = 48 * mib;

// Huge pages for the tests of this program, where it may reserve them: by one process of this machine at a
// time.
class Reserved {
  public:
    explicit Reserved(int wanted) : lock_(::open(file, O_RDONLY | O_CLOEXEC)) {
        while (lock_ >= 0 && ::flock(lock_, LOCK_EX) != 0 && errno == EINTR) {
        }
        std::ifstream(file) >> before_;
        int more = 0;
        std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> more;
        if (more < wanted) {
            std::ofstream(file) << before_ + wanted - more;
        }
    }
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;
    ~Reserved() {
        std::ofstream(file) << before_;
        ::close(lock_);
    }

  private:
    static constexpr const char* file = "/proc/sys/vm/nr_hugepages";
    int lock_;
    int before_ = 0;
};

enum class Way { shared, tcp, mapped };

class HugePages : public Remote {
  protected:
    void SetUp() override {
        // Tests of one program share what is reserved. More than these need: other programs of this machine
        // may take some.
        static const Reserved reserved{16 + static_cast<int>((cache + 2 * size) / huge_page)};
        Remote::SetUp();
        std::string why;
        if (!can_page(Faults::in_thread, why)) {
            GTEST_SKIP() << why;
        }
        try {
            expect_huge_pages((cache + 2 * size) / huge_page);
        } catch (const std::system_error& error) {
            GTEST_SKIP() << "huge pages: " << error.what();
        }
    }
    void serve(bool huge) {
        ServerOptions wanted;
        wanted.bytes = 2 * size;  // a segment that was refused may not have been given back yet
        wanted.path = path;
        wanted.huge_pages = huge;
        only_server.start(wanted, key);
        port = only_server.port;
    }
    [[nodiscard]] SegmentOptions huge(const std::string& where) const {
        SegmentOptions made = options(where, size, cache);
        made.page = huge_page;
        return made;
    }
};

class EachHugeWay : public HugePages, public testing::WithParamInterface<std::tuple<Faults, Way>> {
  protected:
    void SetUp() override {
        HugePages::SetUp();
        std::string why;
        if (!IsSkipped() && !can_page(std::get<0>(GetParam()), why)) {
            GTEST_SKIP() << why;
        }
        if (!IsSkipped()) {
            serve(way() == Way::mapped);
        }
    }
    [[nodiscard]] static Way way() { return std::get<1>(GetParam()); }
    [[nodiscard]] SegmentOptions chosen() const {
        SegmentOptions made = huge(way() == Way::tcp ? tcp() : path);
        made.pages = way() == Way::mapped ? Pages::mapped : Pages::copied;
        made.faults = std::get<0>(GetParam());
        return made;
    }
};

TEST_P(EachHugeWay, RandomAccessEqualsAnArray) {
    const std::size_t count = size / sizeof(std::uint32_t);
    const Segment segment(chosen());
    ASSERT_EQ(segment.page(), huge_page);
    auto* remote = static_cast<std::uint32_t*>(segment.data());
    std::vector<std::uint32_t> array(count, 0);
    std::mt19937 random(7);
    for (int i = 0; i < 400; ++i) {
        const std::size_t at = random() % count;
        if (random() % 2 == 0) {
            array[at] = remote[at] = random();
        } else {
            ASSERT_EQ(remote[at], array[at]) << i;
        }
    }
    EXPECT_TRUE(std::equal(array.begin(), array.end(), remote));
    const Counters counted = segment.counters();
    EXPECT_GT(counted.evicted, 0U);
    EXPECT_GT(counted.fetched, 0U);
    // A fault brought one page of 2 MiB, not one for each small one.
    EXPECT_LT(counted.faults, 1000U);
}

TEST_P(EachHugeWay, NoWriteIsLostWhilePagesAreEvicted) {
    constexpr std::size_t threads = 3;
    constexpr std::size_t passes = 3;
    constexpr std::size_t stride = 64 * 1024;
    const Segment segment(chosen());
    auto* counters = static_cast<std::uint64_t*>(segment.data());
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            std::mt19937 random(static_cast<unsigned>(t));
            std::vector<std::size_t> pages(size / huge_page);
            for (std::size_t i = 0; i < pages.size(); ++i) {
                pages[i] = i;
            }
            for (std::size_t pass = 0; pass < passes; ++pass) {
                std::shuffle(pages.begin(), pages.end(), random);
                for (const std::size_t page : pages) {
                    for (std::size_t at = 0; at < huge_page; at += stride) {
                        ++counters[(page * huge_page + at) / 8 + t];
                    }
                }
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    for (std::size_t at = 0; at < size; at += stride) {
        for (std::size_t t = 0; t < threads; ++t) {
            ASSERT_EQ(counters[at / 8 + t], passes) << at;
        }
    }
}

// Blocks of a program are of small pages: what lies beside a discarded part of a huge page stays.
TEST_P(EachHugeWay, PartsOfAPageAreDiscarded) {
    Segment segment(chosen());
    auto* bytes = static_cast<char*>(segment.data());
    std::memset(bytes, 'x', size);
    const auto zeros = [&](std::size_t from, std::size_t to) {
        return std::all_of(bytes + from, bytes + to, [](char c) { return c == 0; });
    };
    const std::size_t small = page_bytes;
    segment.discard(small, small);                          // within a page, which is away by now
    segment.discard(3 * huge_page - small, 2 * small);      // over a border, no whole page
    segment.discard(5 * huge_page + small, 2 * huge_page);  // one whole page, and parts of two
    segment.discard(10 * huge_page, 2 * huge_page);         // whole ones
    segment.discard(12 * huge_page + 1, small);             // no whole small page
    EXPECT_EQ(bytes[small - 1], 'x');
    EXPECT_TRUE(zeros(small, 2 * small));
    EXPECT_EQ(bytes[2 * small], 'x');
    EXPECT_EQ(bytes[3 * huge_page - small - 1], 'x');
    EXPECT_TRUE(zeros(3 * huge_page - small, 3 * huge_page + small));
    EXPECT_EQ(bytes[3 * huge_page + small], 'x');
    EXPECT_EQ(bytes[5 * huge_page + small - 1], 'x');
    EXPECT_TRUE(zeros(5 * huge_page + small, 7 * huge_page + small));
    EXPECT_EQ(bytes[7 * huge_page + small], 'x');
    EXPECT_TRUE(zeros(10 * huge_page, 12 * huge_page));
    EXPECT_EQ(bytes[12 * huge_page + small], 'x');
}

TEST_P(EachHugeWay, WholePagesMayOnlyBeRead) {
    EXPECT_EXIT(
        {
            Segment mine(chosen());
            auto* first = static_cast<char*>(mine.data());
            std::memset(first, 'x', size);
            static_cast<void>(mine.protect(huge_page, huge_page, Rights::read));
            first[huge_page - 1] = 'y';
            first[huge_page] = 'y';
        },
        testing::KilledBySignal(SIGSEGV), "");
    Segment segment(chosen());
    EXPECT_FALSE(segment.protect(page_bytes, huge_page, Rights::read));
    EXPECT_FALSE(segment.protect(0, page_bytes, Rights::read));
    EXPECT_TRUE(segment.protect(0, 2 * huge_page, Rights::read));
    auto* bytes = static_cast<char*>(segment.data());
    EXPECT_EQ(bytes[0], 0);
    ASSERT_TRUE(segment.protect(0, size, Rights::read_write));
    bytes[0] = 'y';
}

TEST_P(EachHugeWay, PagesComeHomeAndStay) {
    Segment segment(chosen());
    auto* bytes = static_cast<unsigned char*>(segment.data());
    for (std::size_t at = 0; at < size; at += page_bytes) {
        bytes[at] = static_cast<unsigned char>(at / page_bytes % 251);
    }
    ASSERT_TRUE(segment.settle({{page_bytes, size - page_bytes}}));
    only_server.stop();
    for (std::size_t at = 0; at < size; at += page_bytes) {
        ASSERT_EQ(bytes[at], at / page_bytes % 251) << at;
    }
    // It is ordinary memory now, and the tests that follow need its pages.
    ::munmap(bytes, size);
}

std::string name_of(const testing::TestParamInfo<std::tuple<Faults, Way>>& info) {
    const std::string who = std::get<0>(info.param) == Faults::in_thread ? "InThread" : "Handler";
    const Way way = std::get<1>(info.param);
    return who + (way == Way::tcp ? "Tcp" : way == Way::mapped ? "Mapped" : "Shared");
}

INSTANTIATE_TEST_SUITE_P(All, EachHugeWay,
                         testing::Combine(testing::Values(Faults::in_thread, Faults::handler),
                                          testing::Values(Way::shared, Way::tcp, Way::mapped)),
                         name_of);

// One bit of a huge page, in the middle of it: each of its small pages has a CRC of its own.
TEST_F(HugePages, ACorruptedPageIsFound) {
    ASSERT_NO_FATAL_FAILURE(serve(false));
    EXPECT_EXIT(
        {
            std::atomic<bool> spoils{false};
            const Link link(tcp(), [&](std::uint64_t, char* bytes, std::size_t& length) {
                if (spoils && length > page_bytes) {
                    bytes[length / 2] = static_cast<char>(bytes[length / 2] ^ 4);
                }
                return true;
            });
            const Segment segment(huge(link.address()));
            auto* bytes = static_cast<volatile char*>(segment.data());
            for (std::size_t at = 0; at < size; at += page_bytes) {
                bytes[at] = 'x';
            }
            spoils = true;
            static_cast<void>(bytes[0]);
            ::_exit(0);
        },
        testing::KilledBySignal(SIGBUS), "SIGBUS at");
}

TEST_F(HugePages, AServerThatDiesEndsTheAccess) {
    serve(false);
    const std::string where = tcp();
    EXPECT_EXIT(
        {
            const Segment segment(huge(where));
            auto* bytes = static_cast<volatile char*>(segment.data());
            for (std::size_t at = 0; at < size; at += page_bytes) {
                bytes[at] = 'x';
            }
            ::kill(only_server.process, SIGKILL);
            for (std::size_t at = 0; at < size; at += huge_page) {
                static_cast<void>(bytes[at]);
            }
            ::_exit(0);
        },
        testing::KilledBySignal(SIGBUS), "SIGBUS at");
}

template <class Exception>
std::string refusal(const SegmentOptions& wanted) {
    try {
        const Segment segment(wanted);
    } catch (const Exception& error) {
        return error.what();
    }
    return "nothing was refused";
}

TEST_F(HugePages, SizesThatAreNoMultiples) {
    serve(true);
    SegmentOptions odd = huge(path);
    odd.bytes += page_bytes;
    EXPECT_NE(refusal<std::invalid_argument>(odd).find("multiple of 2 MiB"), std::string::npos);
    odd.page = small_page;
    EXPECT_NE(refusal<std::invalid_argument>(odd).find("the size has to be a multiple of 2 MiB"),
              std::string::npos);
    SegmentOptions narrow = huge(path);
    narrow.cache_bytes = 8 * mib;
    EXPECT_NE(refusal<std::invalid_argument>(narrow).find("at least 16 MiB"), std::string::npos);
    SegmentOptions other = huge(path);
    other.page = 64 * 1024;
    EXPECT_NE(refusal<std::invalid_argument>(other).find("4 KiB or 2 MiB"), std::string::npos);
}

TEST_F(HugePages, PagesAreMappedInTheSizeThatTheServerHas) {
    serve(true);
    SegmentOptions small = huge(path);
    small.page = small_page;
    small.pages = Pages::mapped;
    EXPECT_NE(refusal<std::invalid_argument>(small).find("of huge pages: page=2MiB"), std::string::npos);
    // Copied ones may have any size.
    small.pages = Pages::copied;
    {
        const Segment segment(small);
        static_cast<char*>(segment.data())[size - 1] = 'x';
    }
    stop();
    serve(false);
    SegmentOptions mapped = huge(path);
    mapped.pages = Pages::mapped;
    EXPECT_NE(refusal<std::invalid_argument>(mapped).find("--huge-pages"), std::string::npos);
}

TEST_F(HugePages, MoreThanTheMachineHasReserved) {
    serve(false);
    SegmentOptions large = huge(path);
    large.cache_bytes = std::size_t{1} << 40U;
    EXPECT_NE(refusal<std::system_error>(large).find("vm.nr_hugepages"), std::string::npos);
}

// Another program took them after the start: a fault that finds none ends as where memory is short.
TEST_F(HugePages, PagesThatAnotherProgramTook) {
    serve(false);
    EXPECT_EXIT(
        {
            const Segment segment(huge(path));
            std::vector<void*> taken;
            for (;;) {
                void* one = ::mmap(nullptr, huge_page, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
                if (one == MAP_FAILED) {
                    break;
                }
                taken.push_back(one);
            }
            *static_cast<volatile char*>(segment.data()) = 'x';
            ::_exit(0);
        },
        testing::KilledBySignal(SIGBUS), "out of memory");
}

}  // namespace of_huge_pages
