// SPDX-License-Identifier: Apache-2.0
//
// A process that runs jobs of one step and hands them on: requests on standard input, answers on standard
// output. It is built for any instruction set; `consort migrate --hop` moves jobs between such processes.
//
// A request and an answer: two words, its kind and the length of what follows. All words are little-endian.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "consort/linux/guarded.hpp"
#include "consort/migrate/job.hpp"

extern "C" const consort_migrate_module consort_migrate_job;

namespace {

using consort::linux_port::Guarded;
using consort::migrate::Job;
using consort::migrate::Refusal;
namespace image = consort::migrate::image;
using Bytes = std::vector<unsigned char>;

enum Request : std::uint32_t {
    start = 1,   // word: safepoints to pass, `never`; input; state
    resume = 2,  // word: the same; an image
    hops =
        3,  // word: safepoints to pass; input; state: through images, between two instances of this process
    takes = 4,  // the same, each taking the live bytes from the other
};
enum Answer : std::uint32_t { done = 0, left = 1, refused = 2, trapped = 3 };
constexpr std::uint32_t never = ~std::uint32_t{0};

bool read_all(unsigned char* to, std::size_t bytes) {
    while (bytes != 0) {
        const ssize_t got = read(0, to, bytes);
        if (got <= 0) {
            return false;
        }
        to += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

void answer(Answer kind, const unsigned char* bytes, std::size_t length) {
    Bytes all(8 + length);
    image::store(all.data(), kind);
    image::store(all.data() + 4, static_cast<std::uint32_t>(length));
    if (length != 0) {
        std::memcpy(all.data() + 8, bytes, length);
    }
    for (std::size_t at = 0; at < all.size();) {
        const ssize_t put = write(1, all.data() + at, all.size() - at);
        if (put <= 0) {
            std::_Exit(1);
        }
        at += static_cast<std::size_t>(put);
    }
}

void refuse(const char* why) {
    answer(refused, reinterpret_cast<const unsigned char*>(why), std::strlen(why));
}

// Its state and output, and how often it moved.
void finished(const Job& job, std::uint32_t moves) {
    const consort_migrate_module& module = job.module();
    Bytes said(4 + module.state.bytes + module.out.bytes);
    image::store(said.data(), moves);
    job.get_state(said.data() + 4);
    job.get_out(said.data() + 4 + module.state.bytes);
    answer(done, said.data(), said.size());
}

// Goes on until the job is done or leaves, and says which.
void go_on(Job& job, std::uint32_t others) {
    if (others != never) {
        job.ask(others);
    }
    if (job.run() == Job::End::done) {
        finished(job, 0);
        return;
    }
    Bytes live(job.longest());
    answer(left, live.data(), job.save(live.data(), job.longest()));
}

void between(Job& one, Job& other, std::uint32_t others, bool images) {
    Job* here = &one;
    Job* there = &other;
    Bytes live(one.longest());
    std::uint32_t moves = 0;
    for (;; ++moves) {
        here->ask(others);
        if (here->run() == Job::End::done) {
            finished(*here, moves);
            return;
        }
        const Refusal why =
            images ? there->load(live.data(), here->save(live.data(), here->longest())) : there->take(*here);
        if (why != Refusal::none) {
            refuse(name(why));
            return;
        }
        Job* const next = there;
        there = here;
        here = next;
    }
}

void serve(Request kind, const Bytes& said) {
    const consort_migrate_module& module = consort_migrate_job;
    // A fresh one each time: a job that does not end leaves nothing behind.
    const Guarded memory(module.instance_bytes, module.guarded != 0);
    const Guarded memory_there(module.instance_bytes, module.guarded != 0);
    Job job(module, memory.instance());
    if (said.size() < 4) {
        refuse("too short");
        return;
    }
    const std::uint32_t others = image::load(said.data());
    const unsigned char* more = said.data() + 4;
    const auto length = static_cast<std::uint32_t>(said.size() - 4);
    if (kind == resume) {
        if (const Refusal why = job.load(more, length); why != Refusal::none) {
            refuse(name(why));
            return;
        }
        go_on(job, others);
        return;
    }
    if (length != module.in.bytes + module.state.bytes) {
        refuse("input and state have another length");
        return;
    }
    job.begin(more, more + module.in.bytes);
    if (kind == start) {
        go_on(job, others);
        return;
    }
    Job there(module, memory_there.instance());
    between(job, there, others, kind == hops);
}

}  // namespace

extern "C" void consort_migrate_trap(std::uint32_t code) {
    unsigned char said[4];
    image::store(said, code);
    answer(trapped, said, sizeof said);
    std::_Exit(0);
}

int main() {
    for (;;) {
        unsigned char head[8];
        if (!read_all(head, sizeof head)) {
            return 0;
        }
        const std::uint32_t kind = image::load(head);
        const std::uint32_t length = image::load(head + 4);
        constexpr std::uint32_t most = 64U << 20U;
        if (kind < start || kind > takes || length > most) {
            refuse("no such request");
            return 1;
        }
        Bytes said(length);
        if (!read_all(said.data(), length)) {
            return 1;
        }
        serve(static_cast<Request>(kind), said);
    }
}
