// SPDX-License-Identifier: Apache-2.0
//
// The lemmas' lengths for one share of the DMA, and the jobs of a busy period sorted by them.
#pragma once

#include "spm/bound.hpp"

namespace consort::engine::spm {

// The lemmas' lengths in ticks.
struct Lengths {
    Time after_cpu;  // L: DMA work of an interval that follows one which wasted a slot
    Time after_io;   // S: of any other
    Time threshold;  // executions longer than this can waste a slot
    Time extra_waste;
    Time final_long;
    Time final_short;
    Time blocking_sub;  // u's load ended this long before x's did …
    Time blocking_min;  // … so its interval lasts at least this long, counted from u's
    Time window_sub;
    Time others;  // round robin: what one request waits for the other cores
    bool early_return;

    Lengths(Tdma t, const Options& options) {
        const Lemmas& lemma = options.lemmas;
        early_return = lemma.early_return;
        others = t.round - t.slot;
        if (options.method == Method::round_robin) {
            // Nothing is ever wasted: a request that becomes possible is served after at most one operation
            // of each other core. These lengths are those of the longest operations; what an interval's own
            // take is found by SizedOperations.
            after_cpu = after_io = threshold = lemma.interval_rounds * t.round;
            extra_waste = 0;
            final_long = 2 * others;
            final_short = 3 * others;
            blocking_sub = 0;
            blocking_min = 0;
            window_sub = 0;
            return;
        }
        after_io = lemma.interval_rounds * t.round;
        after_cpu = after_io + lemma.interval_slots * t.slot;
        threshold = lemma.threshold_rounds * t.round;
        extra_waste = lemma.extra_waste;
        final_long = lemma.final_rounds * t.round + lemma.final_slots * t.slot;
        final_short = lemma.final_short_rounds * t.round + lemma.final_short_slots * t.slot;
        const Time before = lemma.blocking_rounds * t.round;
        blocking_min = before;
        blocking_sub = before - t.slot + lemma.blocking_slots * t.slot;
        window_sub = options.method == Method::literal ? 0 : lemma.window_slots * t.slot;
    }
};

// The jobs of a busy period by class: executions longer than L are counted whole, those not above the
// threshold never exceed their interval's DMA work, and only those in between have to be looked at one by
// one.
struct Jobs {
    Time count = 0;
    Time long_count = 0;
    Time long_sum = 0;
    Time middle_count = 0;
    Time middle_sum = 0;

    void add(Time execution, Time n, const Lengths& l) {
        count += n;
        if (execution > l.after_cpu) {
            long_count += n;
            long_sum += n * execution;
        } else if (execution > l.threshold) {
            middle_count += n;
            middle_sum += n * execution;
        }
    }
};

}  // namespace consort::engine::spm
