// SPDX-License-Identifier: Apache-2.0
//
// The clock of a run: the cheapest monotonic counter that this machine can be trusted with.
//
// x86 has the time-stamp counter, which is a clock only where the kernel found it constant (the same rate at
// every frequency) and non-stop (in every idle state); AArch64 has the generic timer; everything else, and an
// x86 without these two properties, reads CLOCK_MONOTONIC_RAW in nanoseconds.
#pragma once

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace consort::linux_port {

inline std::uint64_t clock_ns(clockid_t clock) noexcept {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

// a * b / c without an intermediate that overflows, for b and c up to 1.8e10 (a tick rate, or 1e9); a larger
// one must be a whole multiple of the other. Saturates.
constexpr std::uint64_t scale(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
    constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
    constexpr std::uint64_t widest = 18'000'000'000U;
    if (b > widest || c > widest) [[unlikely]] {
        return b < c ? a / (c / b) : a > top / (b / c) ? top : a * (b / c);
    }
    const std::uint64_t whole = a / c;
    const std::uint64_t part = a % c * b / c;
    return b != 0 && whole > (top - part) / b ? top : whole * b + part;
}

// Ticks of a clock for picoseconds, exact though the product of both is wider than a word. Rates are up to
// 1.8e10, or the one that counts picoseconds itself.
constexpr std::uint64_t ticks_of_ps(std::uint64_t ps, std::uint64_t hz) noexcept {
    constexpr std::uint64_t ns_per_second = 1'000'000'000U;
    if (hz == 1000 * ns_per_second) [[unlikely]] {
        return ps;
    }
    const std::uint64_t ns = ps / 1000;
    const std::uint64_t part = ns % ns_per_second * hz;
    const std::uint64_t rest = part % ns_per_second * 1000 + ps % 1000 * hz;
    return ns / ns_per_second * hz + part / ns_per_second + rest / (1000 * ns_per_second);
}

// Facts on the clock, with the source of its rate: they go into every run's record.
struct ClockInfo {
    std::string name;              // "tsc", "cntvct", "monotonic_raw" or "virtual time"
    std::uint64_t hz = 0;          // ticks per second
    std::uint64_t resolution = 0;  // usual step between two readings, in ticks
    std::string source;            // how hz became known
    std::string provenance = "measured";
    double disagreement_ppm = 0.0;   // between the source and our own calibration; 0 where there is only one
    std::vector<std::string> notes;  // what a reader of the figures must know
};

namespace detail {

// `driven`: the program itself says what time it is.
enum class Counter : std::uint8_t { hardware, monotonic_raw, driven };

// One reading of the counter with the kernel's clock read in its middle. The narrower the bracket, the surer
// it is that nothing came between: an interrupt or a preemption shows as a wide one.
struct Bracket {
    std::uint64_t tick = 0;
    std::uint64_t width = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t ns = 0;
};

template <class ReadCounter>
Bracket tightest_bracket(ReadCounter read) {
    Bracket best;
    for (int i = 0; i < 64; ++i) {
        const std::uint64_t before = read();
        const std::uint64_t ns = clock_ns(CLOCK_MONOTONIC_RAW);
        const std::uint64_t after = read();
        if (after >= before && after - before < best.width) {
            best = {before + (after - before) / 2, after - before, ns};
        }
    }
    return best;
}

// Least squares over the brackets that were not disturbed: a bracket over four times as wide as the narrowest
// one had something come between. Returns 0 when fewer than three are left.
inline double fitted_rate(const std::vector<Bracket>& brackets) {
    std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
    for (const Bracket& b : brackets) {
        narrowest = std::min(narrowest, b.width);
    }
    const std::uint64_t bound = std::max<std::uint64_t>(narrowest, 1) * 4;
    std::vector<std::array<double, 2>> points;
    for (const Bracket& b : brackets) {
        if (b.width <= bound && b.ns >= brackets.front().ns && b.tick >= brackets.front().tick) {
            points.push_back({static_cast<double>(b.ns - brackets.front().ns),
                              static_cast<double>(b.tick - brackets.front().tick)});
        }
    }
    if (points.size() < 3) {
        return 0.0;
    }
    double mean_ns = 0.0;
    double mean_tick = 0.0;
    for (const auto& p : points) {
        mean_ns += p[0] / static_cast<double>(points.size());
        mean_tick += p[1] / static_cast<double>(points.size());
    }
    double covariance = 0.0;
    double variance = 0.0;
    for (const auto& p : points) {
        covariance += (p[0] - mean_ns) * (p[1] - mean_tick);
        variance += (p[0] - mean_ns) * (p[0] - mean_ns);
    }
    return variance > 0.0 ? covariance / variance * 1e9 : 0.0;
}

template <class ReadCounter>
double calibrate(ReadCounter read) {
    constexpr int windows = 8;
    constexpr timespec pause{0, 5'000'000};
    for (int attempt = 0; attempt < 4; ++attempt) {
        std::vector<Bracket> brackets{tightest_bracket(read)};
        for (int i = 0; i < windows; ++i) {
            ::nanosleep(&pause, nullptr);
            brackets.push_back(tightest_bracket(read));
        }
        if (const double rate = fitted_rate(brackets); rate > 0.0) {
            return rate;
        }
    }
    return 0.0;
}

// The rate that the kernel itself uses for the time-stamp counter, from the page that it shares with perf's
// users: it was refined over seconds, or given by the hypervisor. 0 where the kernel does not say.
inline double kernel_rate() {
#if defined(__x86_64__) || defined(__i386__)
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    const int fd = static_cast<int>(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd < 0) {
        return 0.0;
    }
    double rate = 0.0;
    const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* page = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) {
        const auto* shared = static_cast<const perf_event_mmap_page*>(page);
        if (shared->cap_user_time != 0 && shared->time_mult != 0) {
            rate = 1e9 * std::ldexp(1.0, shared->time_shift) / static_cast<double>(shared->time_mult);
        }
        ::munmap(page, bytes);
    }
    ::close(fd);
    return rate;
#else
    return 0.0;
#endif
}

// True if the kernel found the counter fit to be a clock. Always true where the architecture promises it.
inline bool counter_is_a_clock([[maybe_unused]] const std::string& cpuinfo) {
#if defined(__x86_64__) || defined(__i386__)
    std::ifstream file(cpuinfo);
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("flags", 0) == 0) {
            const std::string flags = line + ' ';
            return flags.find(" constant_tsc ") != std::string::npos &&
                   flags.find(" nonstop_tsc ") != std::string::npos;
        }
    }
    return false;
#elif defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

}  // namespace detail

// The counter is read by the compilers' builtins: <x86intrin.h>, which names the same instructions, costs a
// unit half a second.
//
// The clock of this process: one per process, calibrated at first use (about 40 ms). Children made by fork()
// after that inherit the calibration, so that both sides of a run convert alike.
class Clock {
  public:
    // The counter; loads and stores around it may still be reordered by the processor.
    [[nodiscard]] static std::uint64_t now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if (counter_kind == detail::Counter::hardware) [[likely]] {
            return __builtin_ia32_rdtsc();
        }
#elif defined(__aarch64__)
        if (counter_kind == detail::Counter::hardware) [[likely]] {
            std::uint64_t value = 0;
            asm volatile("mrs %0, cntvct_el0" : "=r"(value));
            return value;
        }
#endif
        return counter_kind == detail::Counter::driven ? driven_tick : clock_ns(CLOCK_MONOTONIC_RAW);
    }

    // To open a measured section: everything before it has completed, nothing after it has begun.
    [[nodiscard]] static std::uint64_t begin() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_lfence();
        const std::uint64_t value = now();
        __builtin_ia32_lfence();
        return value;
#elif defined(__aarch64__)
        asm volatile("isb" ::: "memory");
        const std::uint64_t value = now();
        asm volatile("isb" ::: "memory");
        return value;
#else
        return now();
#endif
    }

    // To close a measured section: rdtscp waits for everything before it, the fence holds back what follows.
    [[nodiscard]] static std::uint64_t end() noexcept {
#if defined(__x86_64__) || defined(__i386__)
        if (counter_kind == detail::Counter::hardware) [[likely]] {
            unsigned cpu = 0;
            const std::uint64_t value = __builtin_ia32_rdtscp(&cpu);
            __builtin_ia32_lfence();
            return value;
        }
#endif
        return begin();
    }

    // Calling it once before the run takes the calibration out of the run.
    static const ClockInfo& info() {
        static const ClockInfo known = identify();
        return known;
    }

    // For a process that reads what another one recorded: that one's rate, so that both convert alike. A
    // calibration differs by some ticks in a million from one process to the next. Before the first use.
    static void use_rate(std::uint64_t hz) {
        recorded_hz = hz;
    }

    // For a program in virtual time: from now on the clock stands where set() puts it. Before the first use.
    static void drive(std::uint64_t hz) {
        counter_kind = detail::Counter::driven;
        recorded_hz = hz;
    }
    static void set(std::uint64_t tick) noexcept {
        driven_tick = tick;
    }

    [[nodiscard]] static std::uint64_t ticks_per_second() {
        return info().hz;
    }
    [[nodiscard]] static std::uint64_t to_ns(std::uint64_t ticks) {
        return scale(ticks, 1'000'000'000U, info().hz);
    }
    [[nodiscard]] static std::uint64_t from_ns(std::uint64_t ns) {
        return scale(ns, info().hz, 1'000'000'000U);
    }
    [[nodiscard]] static std::uint64_t from_ps(std::uint64_t ps) {
        return ticks_of_ps(ps, info().hz);
    }

  private:
    static detail::Counter initial() {
        return detail::counter_is_a_clock("/proc/cpuinfo") ? detail::Counter::hardware
                                                           : detail::Counter::monotonic_raw;
    }

    static ClockInfo identify() {
        ClockInfo info;
        if (counter_kind == detail::Counter::driven) {
            info.name = "virtual time";
            info.hz = recorded_hz;
            info.source = "the program's own clock";
            info.provenance = "simulated";
            info.resolution = 1;
            return info;
        }
        if (recorded_hz != 0) {
            info.name = "recorded";
            info.hz = recorded_hz;
            info.source = "a recording";
            info.resolution = 1;
            return info;
        }
        if (counter_kind == detail::Counter::hardware) {
            identify_hardware(info);
        } else {
            info.notes.emplace_back(
                "this machine has no counter that is constant and non-stop: the clock is "
                "CLOCK_MONOTONIC_RAW, a call "
                "of some tens of nanoseconds");
        }
        if (info.hz == 0) {
            counter_kind = detail::Counter::monotonic_raw;
            info.name = "monotonic_raw";
            info.hz = 1'000'000'000;
            info.source = "the kernel counts nanoseconds";
        }
        info.resolution = usual_step();
        return info;
    }

    static void identify_hardware(ClockInfo& info) {
#if defined(__aarch64__)
        std::uint64_t frequency = 0;
        asm volatile("mrs %0, cntfrq_el0" : "=r"(frequency));
        const double stated = static_cast<double>(frequency);
        info.name = "cntvct";
        const char* source = "cntfrq_el0";
#else
        const double stated = detail::kernel_rate();
        info.name = "tsc";
        const char* source = "the kernel's own rate (perf user page)";
#endif
        const double seen = detail::calibrate([] { return now(); });
        constexpr double tolerance_ppm = 100.0;
        const double ppm = stated > 0.0 && seen > 0.0 ? std::abs(stated - seen) / stated * 1e6 : 0.0;
        info.disagreement_ppm = ppm;
        if (stated > 0.0 && ppm <= tolerance_ppm) {
            info.hz = static_cast<std::uint64_t>(std::llround(stated));
            info.source = source;
            return;
        }
        info.hz = static_cast<std::uint64_t>(std::llround(seen));
        info.source = "calibrated against CLOCK_MONOTONIC_RAW";
        if (stated > 0.0) {
            std::ostringstream text;
            text << source << " says " << stated << " Hz but " << seen
                 << " Hz was measured: the measured rate is used";
            info.notes.push_back(text.str());
        }
        if (info.hz == 0) {
            info.notes.emplace_back("the counter could not be calibrated (every window was disturbed)");
        }
    }

    // The nonzero step that is seen most often between readings back to back: what one reading can resolve,
    // its own cost included. Not the smallest one: a scaled counter (a virtual machine's) shows a rare step
    // of 1 between its real ones.
    static std::uint64_t usual_step() {
        std::vector<std::uint64_t> ticks(20'000);
        for (std::uint64_t& tick : ticks) {
            tick = now();
        }
        std::map<std::uint64_t, std::size_t> seen;
        for (std::size_t i = 1; i < ticks.size(); ++i) {
            if (ticks[i] > ticks[i - 1]) {
                ++seen[ticks[i] - ticks[i - 1]];
            }
        }
        const auto usual = std::max_element(seen.begin(), seen.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
        return usual == seen.end() ? 1 : usual->first;
    }

    inline static detail::Counter counter_kind = initial();
    inline static std::uint64_t recorded_hz = 0;
    inline static std::uint64_t driven_tick = 0;
};

}  // namespace consort::linux_port
