// SPDX-License-Identifier: Apache-2.0
//
// DoubleBuffer<T>: sporadic communication as the paper has it (Coppik et al., NG-RES 2025, 4.2), with its
// limit.
//
// Neither side ever waits. A read is torn if two updates fall into it: the second writes the buffer being
// read. It is safe only while the writer's period is longer than every read takes (section 4.2, last
// paragraph); where that cannot be guaranteed use Snapshot, which costs memory instead.
#pragma once

#include <cstdint>

#include "consort/icc/access.hpp"
#include "consort/icc/form.hpp"
#include "consort/icc/status.hpp"
#include "consort/icc/wire.hpp"

namespace consort {

template <class T, class A = access::Coherent>
class DoubleBuffer {
  public:
    using Value = T;
    using Access = A;
    static constexpr std::uint32_t kind = 2;
    static constexpr std::uint32_t parameter = 0;
    static constexpr Form form = Form::whole_lines;

    struct alignas(line_bytes) Buffer {
        typename A::template Cell<T> value;
    };
    struct Shared {
        struct alignas(line_bytes) WriterLine {
            // 0: nothing published yet; else 1 + the index of the buffer to read.
            typename A::Word active;
            typename A::Word epoch;
        } writer;
        Buffer buffers[2];
    };

    class Writer {
      public:
        explicit Writer(Shared& shared) noexcept
            : shared_(&shared), active_(A::template load<SyncPoint::own>(shared.writer.active)) {
            require_plain_data<T>();
            A::template store<SyncPoint::epoch_publish>(
                shared.writer.epoch, A::template load<SyncPoint::own>(shared.writer.epoch) + 1);
        }
        Writer(const Writer&) = delete;
        Writer& operator=(const Writer&) = delete;
        Writer(Writer&&) noexcept = default;
        Writer& operator=(Writer&&) noexcept = default;
        ~Writer() = default;

        // Publishes a value. One copy and one word store; never waits.
        void update(const T& value) noexcept {
            active_ = active_ == 1 ? 2 : 1;
            shared_->buffers[active_ - 1].value.put(value);
            A::template store<SyncPoint::buffer_publish>(shared_->writer.active, active_);
        }

      private:
        Shared* shared_;
        std::uint32_t active_;
    };

    // Any number of readers: reading changes nothing in the region.
    class Reader {
      public:
        explicit Reader(const Shared& shared) noexcept : shared_(&shared) { require_plain_data<T>(); }

        // Copies the latest value: ok, would_block (nothing published yet) or peer_fault. One word load and
        // one copy.
        [[nodiscard]] Status read_latest(T& value) const noexcept {
            const std::uint32_t active = A::template load<SyncPoint::buffer_observe>(shared_->writer.active);
            if (active == 0) {
                return Status::would_block;
            }
            if (active > 2) {
                return Status::peer_fault;
            }
            shared_->buffers[active - 1].value.get(value);
            return Status::ok;
        }

        [[nodiscard]] std::uint32_t peer_epoch() const noexcept {
            return A::template load<SyncPoint::epoch_observe>(shared_->writer.epoch);
        }

      private:
        const Shared* shared_;
    };
};

}  // namespace consort
