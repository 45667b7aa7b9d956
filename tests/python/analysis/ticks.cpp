// SPDX-License-Identifier: Apache-2.0
//
// The simulators of locks.py, caches.py and regulated.py once more, for campaigns: the same ticks, the same
// choices of chance, some hundred times as fast. test_ticks.py holds them equal; the Python ones say what is
// simulated and why.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

// Draws as Python's `random.Random` does, from its state: 624 words and the place in them.
class Chance {
  public:
    explicit Chance(std::uint32_t* state) : words_(state), place_(state[624]) {}
    ~Chance() { words_[624] = place_; }
    Chance(const Chance&) = delete;
    Chance& operator=(const Chance&) = delete;

    double random() {
        const std::uint32_t a = word() >> 5, b = word() >> 6;
        return (a * 67108864.0 + b) * (1.0 / 9007199254740992.0);
    }
    int below(int n) {
        const int bits = 32 - __builtin_clz(static_cast<unsigned>(n));
        std::uint32_t found;
        do {
            found = word() >> (32 - bits);
        } while (found >= static_cast<std::uint32_t>(n));
        return static_cast<int>(found);
    }
    int between(int least, int most) { return least + below(most - least + 1); }

  private:
    std::uint32_t word() {
        if (place_ >= 624) {
            for (int k = 0; k < 624; ++k) {
                const std::uint32_t y = (words_[k] & 0x80000000U) | (words_[(k + 1) % 624] & 0x7fffffffU);
                words_[k] = words_[(k + 397) % 624] ^ (y >> 1) ^ ((y & 1U) != 0 ? 0x9908b0dfU : 0U);
            }
            place_ = 0;
        }
        std::uint32_t y = words_[place_++];
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680U;
        y ^= (y << 15) & 0xefc60000U;
        return y ^ (y >> 18);
    }

    std::uint32_t* words_;
    std::uint32_t place_;
};

// Programs come one behind another in one array.
struct Programs {
    std::vector<const int*> of;
    std::vector<int> lengths;

    Programs(const int* flat, const int* given, int count) : lengths(given, given + count) {
        for (const int length : lengths) {
            of.push_back(flat);
            flat += length;
        }
    }
};

struct Job {
    int task;
    int due;
    int done;
    int left;
    int id;

    bool operator<(const Job& other) const {
        return task != other.task ? task < other.task : due < other.due;
    }
};

using Jobs = std::vector<Job>;

Job* find(Jobs& jobs, int id) {
    const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.id == id; });
    return found == jobs.end() ? nullptr : &*found;
}

void remove(Jobs& jobs, int id) {
    jobs.erase(std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.id == id; }));
}

bool due_at(int now, int offset, int period, int until) {
    return offset <= now && now < until && (now - offset) % period == 0;
}

// The sets of caches.py.
class Cache {
  public:
    Cache(int sets, int ways)
        : ways_(static_cast<std::size_t>(ways)), held_(static_cast<std::size_t>(sets)) {}

    bool touch(int owner, int block) {
        auto& lines = held_[static_cast<std::size_t>(block) % held_.size()];
        const Line line{owner, block};
        const auto found = std::find(lines.begin(), lines.end(), line);
        const bool hit = found != lines.end();
        if (hit) {
            lines.erase(found);
        }
        lines.push_back(line);
        if (lines.size() > ways_) {
            lines.erase(lines.begin());
        }
        return hit;
    }
    template <class Each>
    void each(Each&& each) const {
        for (const auto& lines : held_) {
            for (const Line& line : lines) {
                each(line.block);
            }
        }
    }

  private:
    struct Line {
        int owner;
        int block;
        bool operator==(const Line& other) const { return owner == other.owner && block == other.block; }
    };
    std::size_t ways_;
    std::vector<std::vector<Line>> held_;
};

constexpr int none = -1;

struct Locks {
    const Programs& programs;
    std::vector<int> ceilings;
    std::vector<int> owner;
    bool ceiling;
    bool inherits;
    bool taken_twice = false;

    int took(const Job& job) const {
        const auto found = std::find(owner.begin(), owner.end(), job.id);
        return found == owner.end() ? none : static_cast<int>(found - owner.begin());
    }
    int wanted(const Job& job) const {
        const auto task = static_cast<std::size_t>(job.task);
        return job.done < programs.lengths[task] ? programs.of[task][job.done] : none;
    }
    int urgency(const Job& job) const {
        const int held = took(job);
        const bool raised = held != none && ceiling && !inherits;
        const int own = raised ? std::min(job.task, ceilings[static_cast<std::size_t>(held)]) : job.task;
        return 2 * own + (job.done != 0 ? 0 : 1);
    }
    void take(const Job& job) {
        const int wants = wanted(job), held = took(job);
        if (held != none && held != wants) {
            owner[static_cast<std::size_t>(held)] = none;
        }
        if (wants != none && held != wants) {
            taken_twice = taken_twice || owner[static_cast<std::size_t>(wants)] != none;
            owner[static_cast<std::size_t>(wants)] = job.id;
        }
    }
    int holder_before(const Job& job) const {
        const int wants = wanted(job);
        const int holder = wants == none ? none : owner[static_cast<std::size_t>(wants)];
        return holder == job.id ? none : holder;
    }
    Job* goes_on(Jobs& jobs) const {
        Job* job = &*std::min_element(jobs.begin(), jobs.end(),
                                      [&](const Job& a, const Job& b) { return urgency(a) < urgency(b); });
        while (inherits) {
            const int holder = holder_before(*job);
            if (holder == none) {
                break;
            }
            job = find(jobs, holder);
        }
        return job;
    }
};

struct Port {
    int budget;  // none: not regulated
    int period;
    int phase;
    bool late;
    int ended = 0;
    bool asking = false;

    bool stalled() const { return budget != none && ended >= budget; }
    bool begins(int now) const { return (now - phase) % period == 0; }
};

}  // namespace

extern "C" {

// 0, or 1 where two jobs took one resource.
int with_locks(const int* flat, const int* lengths, int count, const int* periods, const int* offsets,
               int until, int resources, int eager, int ceiling, int inherits, int* longest) {
    const Programs programs(flat, lengths, count);
    const auto held_by = static_cast<std::size_t>(resources);
    Locks locks{programs, std::vector<int>(held_by, count), std::vector<int>(held_by, none), ceiling != 0,
                inherits != 0};
    for (int task = count - 1; task >= 0; --task) {
        const auto here = static_cast<std::size_t>(task);
        for (int k = 0; k < programs.lengths[here]; ++k) {
            if (programs.of[here][k] != none) {
                locks.ceilings[static_cast<std::size_t>(programs.of[here][k])] = task;
            }
        }
    }
    Jobs jobs;
    int number = 0;
    for (int now = 0; now < until || !jobs.empty(); ++now) {
        for (int task = 0; task < count; ++task) {
            if (due_at(now, offsets[task], periods[task], until)) {
                jobs.push_back({task, now, 0, 0, number++});
            }
        }
        if (jobs.empty()) {
            continue;
        }
        Job& job = *locks.goes_on(jobs);
        locks.take(job);
        if (locks.taken_twice) {
            return 1;
        }
        ++job.done;
        const bool finished = job.done == programs.lengths[static_cast<std::size_t>(job.task)];
        const int held = locks.took(job);
        const bool gives_back = held != none && (finished || locks.wanted(job) != held);
        if (gives_back) {
            locks.owner[static_cast<std::size_t>(held)] = none;
        }
        if (finished) {
            longest[job.task] = std::max(longest[job.task], now + 1 - job.due);
            remove(jobs, job.id);
        } else if (eager != 0 && !gives_back && locks.holder_before(job) == none) {
            locks.take(job);
            if (locks.taken_twice) {
                return 1;
            }
        }
    }
    return 0;
}

void with_a_cache(const int* flat, const int* lengths, int count, const int* periods, const int* offsets,
                  int until, int sets, int ways, int reload, int* longest) {
    const Programs programs(flat, lengths, count);
    Cache cache(sets, ways);
    Jobs jobs;
    int number = 0;
    for (int now = 0; now < until || !jobs.empty(); ++now) {
        for (int task = 0; task < count; ++task) {
            if (due_at(now, offsets[task], periods[task], until)) {
                jobs.push_back({task, now, 0, 0, number++});
            }
        }
        if (jobs.empty()) {
            continue;
        }
        Job& job = *std::min_element(jobs.begin(), jobs.end());
        const auto task = static_cast<std::size_t>(job.task);
        if (job.left == 0) {
            job.left = cache.touch(job.task, programs.of[task][job.done]) ? 1 : 1 + reload;
            ++job.done;
        }
        --job.left;
        if (job.left == 0 && job.done == programs.lengths[task]) {
            longest[job.task] = std::max(longest[job.task], now + 1 - job.due);
            remove(jobs, job.id);
        }
    }
}

// For each point of a program and each set: how many blocks that are in the cache will be hit there.
void useful(const int* program, int length, int sets, int ways, int* counts) {
    const auto blocks = static_cast<std::size_t>(1 + *std::max_element(program, program + length));
    for (int point = 1; point < length; ++point, counts += sets) {
        Cache cache(sets, ways);
        for (int k = 0; k < point; ++k) {
            cache.touch(0, program[k]);
        }
        std::vector<bool> there(blocks), hit(blocks);
        cache.each([&](int block) { there[static_cast<std::size_t>(block)] = true; });
        for (int k = point; k < length; ++k) {
            const auto block = static_cast<std::size_t>(program[k]);
            const bool found = cache.touch(0, program[k]);
            if (found && there[block]) {
                hit[block] = true;
            } else if (there[block]) {
                there[block] = false;
            }
        }
        for (std::size_t block = 0; block < blocks; ++block) {
            counts[block % static_cast<std::size_t>(sets)] += hit[block] ? 1 : 0;
        }
    }
}

// A program says 1 for an access and 0 for a tick of computing; a port has budget, period, phase, late.
void regulated(const int* flat, const int* lengths, int count, const int* periods, const int* offsets,
               int until, const int* described, int port_count, const int* access, std::uint32_t* state,
               int* longest) {
    const Programs programs(flat, lengths, count);
    Chance chance(state);
    std::vector<Port> ports;
    for (int k = 0; k < port_count; ++k, described += 4) {
        ports.push_back({described[0], described[1], described[2], described[3] != 0});
    }
    Port& own = ports[0];
    Jobs jobs;
    int holder = none, turn = 0, left = 0, now = 0, asked = none, number = 0;
    const auto finish = [&](int id, int at) {
        Job& job = *find(jobs, id);
        if (++job.done == programs.lengths[static_cast<std::size_t>(job.task)]) {
            longest[job.task] = std::max(longest[job.task], at - job.due);
            remove(jobs, id);
        }
    };
    const double greedy = chance.below(3) == 2 ? 0.5 : 1.0;
    const int until_then = std::max(0, offsets[count - 1] + chance.between(-1, 2));
    const int quiet = chance.below(2) == 0 ? 0 : until_then;
    while (now < until || !jobs.empty()) {
        for (Port& port : ports) {
            if (port.late && port.begins(now)) {
                port.ended = 0;
            }
        }
        if (holder >= 0 && left == 0) {
            Port& served = ports[static_cast<std::size_t>(holder)];
            ++served.ended;
            served.asking = false;
            if (holder == 0) {
                finish(asked, now);
                asked = none;
            }
            turn = holder + 1;
            holder = none;
        }
        for (Port& port : ports) {
            if (!port.late && port.begins(now)) {
                port.ended = 0;
            }
        }
        for (int task = 0; task < count; ++task) {
            if (due_at(now, offsets[task], periods[task], until)) {
                jobs.push_back({task, now, 0, 0, number++});
            }
        }
        int computes = none;
        if (!jobs.empty() && asked == none && !own.stalled()) {
            const Job& job = *std::min_element(jobs.begin(), jobs.end());
            if (programs.of[static_cast<std::size_t>(job.task)][job.done] == 1) {
                asked = job.id;
                own.asking = true;
            } else {
                computes = job.id;
            }
        }
        for (std::size_t k = 1; k < ports.size(); ++k) {
            Port& port = ports[k];
            if (now >= quiet && !port.stalled() && !port.asking && chance.random() < greedy) {
                port.asking = true;
            }
        }
        if (holder < 0) {
            for (int k = 0; k < port_count && holder < 0; ++k) {
                const int next = (turn + k) % port_count;
                holder = ports[static_cast<std::size_t>(next)].asking ? next : none;
            }
            const int between = chance.between(access[0], access[1]);
            const int choice = chance.below(3);
            left = choice == 2 ? between : access[choice];
        }
        ++now;
        --left;
        if (computes != none) {
            finish(computes, now);
        }
    }
}
}
