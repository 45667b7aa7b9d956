// SPDX-License-Identifier: Apache-2.0
//
// The hand-over, and jobs that move at safepoints, compile for bare cores.
#include "consort/migrate/hand_over.hpp"
#include "consort/migrate/job.hpp"
#include "consort/migrate/safepoint.hpp"

namespace {

alignas(64) std::uint32_t shared[consort::migrate::shared_words(43)];
consort::migrate::HandOver<43> side(1);

}  // namespace

extern "C" bool may_run() {
    consort::migrate::WordsAt words(shared);
    return side.poll(words);
}

extern "C" bool job_ended(bool move) {
    consort::migrate::WordsAt words(shared);
    if (!side.save(words)) {
        return false;
    }
    if (move) {
        side.give(words);
    }
    return true;
}

extern "C" bool other_died() {
    consort::migrate::WordsAt words(shared);
    return side.take_over(words);
}

extern "C" const consort_migrate_module consort_migrate_job;

extern "C" std::uint32_t leave(void* storage, const void* in, const void* state, unsigned char* image,
                               std::uint32_t room) {
    consort::migrate::Job job(consort_migrate_job, storage);
    job.begin(in, state);
    job.ask();
    consort::safepoint();
    return job.run() == consort::migrate::Job::End::left ? job.save(image, room) : 0;
}

extern "C" bool arrive(void* storage, const unsigned char* image, std::uint32_t bytes) {
    consort::migrate::Job job(consort_migrate_job, storage);
    return job.load(image, bytes) == consort::migrate::Refusal::none &&
           job.run() == consort::migrate::Job::End::done;
}
