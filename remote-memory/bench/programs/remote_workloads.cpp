// SPDX-License-Identifier: Apache-2.0
//
// Ordinary programs' work with much memory, for consort_remote_bench/remote_workloads.py: it knows nothing of
// remote memory. Prints one JSON object: figures, the bytes of its working set, and whether the result is
// right.
//
//   stream N THREADS PASSES   copy, scale, add and triad over three arrays of N doubles: the best pass each
//
//   random BYTES ACCESSES     64-byte lines of a block at random, some of them written to
//
//   sort N                    N random 64-bit numbers
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

double seconds(const std::function<void()>& body) {
    const auto begun = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

int stream(std::size_t n, std::size_t threads, int passes) {
    const auto array = [&] { return std::unique_ptr<double[]>(new double[n]); };
    const auto a = array();
    const auto b = array();
    const auto c = array();
    const auto range = [&](auto body) {
        return seconds([&] {
            std::vector<std::thread> all;
            for (std::size_t t = 0; t < threads; ++t) {
                all.emplace_back([&, t] { body(n * t / threads, n * (t + 1) / threads); });
            }
            for (std::thread& each : all) {
                each.join();
            }
        });
    };
    range([&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) {
            a[i] = 1;
            b[i] = 2;
            c[i] = 0;
        }
    });
    constexpr double scalar = 3;
    double best[4] = {0, 0, 0, 0};
    double expected_a = 1;
    double expected_b = 2;
    double expected_c = 0;
    for (int pass = 0; pass < passes; ++pass) {
        const double times[4] = {range([&](std::size_t i, std::size_t end) {
                                     for (; i < end; ++i) {
                                         c[i] = a[i];
                                     }
                                 }),
                                 range([&](std::size_t i, std::size_t end) {
                                     for (; i < end; ++i) {
                                         b[i] = scalar * c[i];
                                     }
                                 }),
                                 range([&](std::size_t i, std::size_t end) {
                                     for (; i < end; ++i) {
                                         c[i] = a[i] + b[i];
                                     }
                                 }),
                                 range([&](std::size_t i, std::size_t end) {
                                     for (; i < end; ++i) {
                                         a[i] = b[i] + scalar * c[i];
                                     }
                                 })};
        expected_c = expected_a;
        expected_b = scalar * expected_c;
        expected_c = expected_a + expected_b;
        expected_a = expected_b + scalar * expected_c;
        for (std::size_t k = 0; k < 4; ++k) {
            const double moved = static_cast<double>(n * sizeof(double) * (k < 2 ? 2 : 3));
            best[k] = std::max(best[k], moved / times[k] / 1e6);
        }
    }
    bool right = true;
    for (std::size_t i = 0; i < n; ++i) {
        right = right && a[i] == expected_a && b[i] == expected_b && c[i] == expected_c;
    }
    std::printf("{\"set\": %zu, \"right\": %s, \"copy\": %f, \"scale\": %f, \"add\": %f, \"triad\": %f}\n",
                3 * n * sizeof(double), right ? "true" : "false", best[0], best[1], best[2], best[3]);
    return right ? 0 : 1;
}

int random_lines(std::size_t bytes, std::size_t accesses) {
    constexpr std::size_t words = 8;  // of a line of 64 bytes
    const std::size_t lines = bytes / 64;
    std::vector<std::uint64_t> block(lines * words);
    for (std::size_t i = 0; i < lines; ++i) {
        block[i * words] = i;
    }
    std::mt19937_64 random(1);
    std::uint64_t sum = 0;
    std::uint64_t expected = 0;
    // Latencies are taken of a sixteenth of the accesses: a reading of the clock costs more than a cached
    // line.
    std::vector<double> times;
    times.reserve(accesses / 16 + 1);
    const double took = seconds([&] {
        for (std::size_t k = 0; k < accesses; ++k) {
            const std::size_t line = random() % lines;
            if (k % 16 == 0) {
                times.push_back(seconds([&] { sum += block[line * words]; }) * 1e6);
                expected += line;
                continue;
            }
            sum += block[line * words];
            expected += line;
            if (k % 4 == 0) {
                ++block[line * words + 1];
            }
        }
    });
    std::uint64_t written = 0;
    for (std::size_t i = 0; i < lines; ++i) {
        written += block[i * words + 1];
    }
    std::size_t writes = 0;
    for (std::size_t k = 0; k < accesses; ++k) {
        writes += k % 4 == 0 && k % 16 != 0 ? 1 : 0;
    }
    const bool right = sum == expected && written == writes;
    std::sort(times.begin(), times.end());
    std::printf("{\"set\": %zu, \"right\": %s, \"accesses\": %f, \"access_p50\": %f, \"access_p99\": %f}\n",
                bytes, right ? "true" : "false", static_cast<double>(accesses) / took,
                times[times.size() / 2], times[times.size() * 99 / 100]);
    return right ? 0 : 1;
}

int sort(std::size_t n) {
    std::vector<std::uint64_t> numbers(n);
    std::mt19937_64 random(2);
    std::uint64_t sum = 0;
    for (std::uint64_t& each : numbers) {
        each = random();
        sum += each;
    }
    const double took = seconds([&] { std::sort(numbers.begin(), numbers.end()); });
    for (const std::uint64_t each : numbers) {
        sum -= each;
    }
    const bool right = sum == 0 && std::is_sorted(numbers.begin(), numbers.end());
    std::printf("{\"set\": %zu, \"right\": %s, \"numbers\": %f}\n", n * sizeof(std::uint64_t),
                right ? "true" : "false", static_cast<double>(n) / took);
    return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int i) { return static_cast<std::size_t>(std::strtoull(argv[i], nullptr, 10)); };
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "stream" && argc == 5) {
        return stream(number(2), number(3), static_cast<int>(number(4)));
    }
    if (what == "random" && argc == 4) {
        return random_lines(number(2), number(3));
    }
    if (what == "sort" && argc == 3) {
        return sort(number(2));
    }
    std::fputs("usage: remote_workloads stream N THREADS PASSES | random BYTES ACCESSES | sort N\n", stderr);
    return 2;
}
