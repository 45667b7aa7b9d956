// SPDX-License-Identifier: Apache-2.0
//
// The hand-over compiles for bare cores.
#include "consort/migrate/hand_over.hpp"

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
