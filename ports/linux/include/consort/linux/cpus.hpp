// SPDX-License-Identifier: Apache-2.0
//
// Which processors this process may use, and which of them a real-time application should take.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace consort::linux_port {

using CpuList = std::vector<int>;

// The kernel's list form: "0-3,8". Empty text is an empty list; malformed text throws std::invalid_argument.
inline CpuList parse_cpu_list(const std::string& text) {
    std::set<int> cpus;
    std::size_t at = 0;
    const auto number = [&] {
        std::size_t used = 0;
        const int value = at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0
                              ? std::stoi(text.substr(at), &used)
                              : -1;
        if (value < 0 || value > 65'535) {
            throw std::invalid_argument("'" + text + "' is not a list of processors such as 0-3,8");
        }
        at += used;
        return value;
    };
    while (at < text.size() && text[at] != '\n') {
        const int first = number();
        int last = first;
        if (at < text.size() && text[at] == '-') {
            ++at;
            last = number();
        }
        if (last < first || (at < text.size() && text[at] != ',' && text[at] != '\n')) {
            throw std::invalid_argument("'" + text + "' is not a list of processors such as 0-3,8");
        }
        for (int cpu = first; cpu <= last; ++cpu) {
            cpus.insert(cpu);
        }
        if (at < text.size() && text[at] == ',') {
            ++at;
        }
    }
    return {cpus.begin(), cpus.end()};
}

// A set of processors in the form of the system calls, for machines of any size.
class CpuMask {
  public:
    explicit CpuMask(int cpus = 8192) : cpus_(cpus), set_(CPU_ALLOC(static_cast<std::size_t>(cpus))) {
        if (set_ == nullptr) {
            throw std::bad_alloc();
        }
        CPU_ZERO_S(bytes(), set_);
    }
    CpuMask(const CpuMask&) = delete;
    CpuMask& operator=(const CpuMask&) = delete;
    ~CpuMask() { CPU_FREE(set_); }

    [[nodiscard]] std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus_)); }
    void add(int cpu) {
        if (cpu >= 0 && cpu < cpus_) {
            CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), set_);
        }
    }
    [[nodiscard]] CpuList list() const {
        CpuList cpus;
        for (int cpu = 0; cpu < cpus_; ++cpu) {
            if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes(), set_)) {
                cpus.push_back(cpu);
            }
        }
        return cpus;
    }
    cpu_set_t* get() { return set_; }

  private:
    int cpus_;
    cpu_set_t* set_;
};

inline bool set_affinity(const CpuList& cpus) {
    CpuMask mask;
    for (const int cpu : cpus) {
        mask.add(cpu);
    }
    return ::sched_setaffinity(0, mask.bytes(), mask.get()) == 0;
}

// The affinity mask of the calling thread; the kernel has narrowed it by the control group's set already.
inline CpuList available_cpus() {
    CpuMask mask;
    if (::sched_getaffinity(0, mask.bytes(), mask.get()) != 0) {
        return {0};
    }
    return mask.list();
}

struct CpuTopology {
    CpuList usable;                   // where this thread may be put
    CpuList isolated;                 // kept free of other work by the kernel
    std::map<int, CpuList> siblings;  // hardware threads that share a core with each, itself included
};

namespace detail {

inline CpuList cpu_list_file(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    try {
        return parse_cpu_list(line);
    } catch (const std::invalid_argument&) {
        return {};
    }
}

inline bool contains(const CpuList& cpus, int cpu) {
    return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end();
}

}  // namespace detail

// `root` stands for /sys/devices/system/cpu.
inline CpuTopology read_topology(const std::filesystem::path& root = "/sys/devices/system/cpu") {
    CpuTopology topology;
    topology.isolated = detail::cpu_list_file(root / "isolated");
    topology.usable = available_cpus();
    // isolcpus= takes the isolated processors out of every task's mask, yet a task may still ask for them. A
    // mask that lacks nothing else was not narrowed by the user, so they may be asked for.
    if (!topology.isolated.empty()) {
        const CpuList before = topology.usable;
        set_affinity(detail::cpu_list_file(root / "online"));
        const CpuList widest = available_cpus();
        set_affinity(before);
        CpuList ordinary;
        std::copy_if(widest.begin(), widest.end(), std::back_inserter(ordinary),
                     [&](int cpu) { return !detail::contains(topology.isolated, cpu); });
        topology.usable = before == ordinary ? widest : before;
    }
    for (const int cpu : topology.usable) {
        const auto folder = root / ("cpu" + std::to_string(cpu)) / "topology";
        CpuList shared = detail::cpu_list_file(folder / "thread_siblings_list");
        topology.siblings[cpu] = shared.empty() ? CpuList{cpu} : shared;
    }
    return topology;
}

struct CpuChoice {
    CpuList cpus;  // as many as were asked for, or fewer where the machine has fewer
    std::vector<std::string> notes;
};

// Isolated before ordinary, cpu0 last (it takes the interrupts nobody placed), one hardware thread of each
// core before any second one.
inline CpuChoice pick_cpus(std::size_t wanted, const CpuTopology& topology) {
    CpuList order = topology.usable;
    const auto rank = [&](int cpu) {
        return (detail::contains(topology.isolated, cpu) ? 0 : 2) + (cpu == 0 ? 1 : 0);
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    CpuChoice choice;
    for (const bool allow_shared_core : {false, true}) {
        for (const int cpu : order) {
            if (choice.cpus.size() == wanted) {
                break;
            }
            const auto known = topology.siblings.find(cpu);
            const CpuList siblings = known == topology.siblings.end() ? CpuList{cpu} : known->second;
            const bool core_taken = std::any_of(choice.cpus.begin(), choice.cpus.end(),
                                                [&](int taken) { return detail::contains(siblings, taken); });
            if (detail::contains(choice.cpus, cpu) || (core_taken && !allow_shared_core)) {
                continue;
            }
            if (core_taken) {
                choice.notes.push_back(
                    "processor " + std::to_string(cpu) +
                    " shares a core with another one of this run: each slows the other down");
            }
            choice.cpus.push_back(cpu);
        }
    }
    if (choice.cpus.size() < wanted) {
        choice.notes.push_back(std::to_string(wanted) + " processors wanted, " +
                               std::to_string(choice.cpus.size()) + " usable");
    }
    for (const int cpu : choice.cpus) {
        if (!detail::contains(topology.isolated, cpu)) {
            choice.notes.push_back("processor " + std::to_string(cpu) +
                                   " is not isolated: the kernel may run other work on it");
        }
    }
    return choice;
}

inline CpuChoice pick_cpus(std::size_t wanted) {
    return pick_cpus(wanted, read_topology());
}

}  // namespace consort::linux_port
