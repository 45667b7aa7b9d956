// SPDX-License-Identifier: Apache-2.0
//
// A job that can leave at a safepoint and go on elsewhere: one instance of a step that was built to migrate.
//
//   Job job(consort_migrate_job, storage);     // instance_bytes; guarded modules: consort/linux/guarded.hpp
//   job.begin(in, state);
//   while (job.run() == Job::End::left) { bytes = job.save(buffer, size); ... other.load(buffer, bytes); }
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "consort/migrate/image.hpp"
#include "consort/migrate/module.h"

namespace consort::migrate {

class Job {
  public:
    enum class End : std::uint8_t { done = consort_migrate_done, left = consort_migrate_left };

    // `storage`: instance_bytes, aligned to 16.
    Job(const consort_migrate_module& module, void* storage) noexcept : module_(&module), instance_(storage) {
        module_->reset(instance_);
        edge_ = module_->memory(instance_, 0, 0);
    }

    [[nodiscard]] const consort_migrate_module& module() const noexcept { return *module_; }

    // Input, state and output are bytes of the step's own layout, which is little-endian. A job that was left
    // here does not go on here.
    void begin(const void* in, const void* state) noexcept {
        module_->drop(instance_);
        left_ = false;
        put(module_->in, in);
        put(module_->state, state);
    }
    void get_state(void* bytes) const noexcept { get(module_->state, bytes); }
    void get_out(void* bytes) const noexcept { get(module_->out, bytes); }

    // Runs the job that was begun, or goes on with the one that was left or loaded.
    End run() noexcept {
        left_ = module_->run(instance_) == consort_migrate_left;
        return left_ ? End::left : End::done;
    }
    // The job is to leave at the safepoint after `others` from here. From any thread.
    void ask(std::uint32_t others = 0) noexcept {
        __atomic_store_n(word(module_->words.others), others, __ATOMIC_RELAXED);
        std::uint32_t* const request = word(module_->words.request);
        __atomic_store_n(request, *request + 1, __ATOMIC_RELEASE);
    }

    // How many bytes are live, in a job that was left.
    [[nodiscard]] std::uint32_t live() const noexcept {
        const Where at = where();
        return stack(at).bytes + module_->data.bytes + frames(at).bytes;
    }
    // The longest image that this step can have.
    [[nodiscard]] std::uint32_t longest() const noexcept {
        return image::header_bytes + module_->stack.bytes + module_->data.bytes + module_->frames.bytes;
    }

    // Writes the image of a job that was left, and returns its length; 0: it was not left, or `room` is too
    // small.
    [[nodiscard]] std::uint32_t save(unsigned char* to, std::uint32_t room) const noexcept {
        if (!left_ || room < image::header_bytes + live()) {
            return 0;
        }
        const Where at = where();
        const std::uint32_t payload = live();
        unsigned char* next = to + image::header_bytes;
        for (const consort_migrate_range& range : {stack(at), module_->data, frames(at)}) {
            get(range, next);
            next += range.bytes;
        }
        const std::uint32_t words[] = {image::magic,
                                       image::version,
                                       static_cast<std::uint32_t>(module_->module_hash),
                                       static_cast<std::uint32_t>(module_->module_hash >> 32U),
                                       static_cast<std::uint32_t>(module_->layout_hash),
                                       static_cast<std::uint32_t>(module_->layout_hash >> 32U),
                                       at.stack_pointer,
                                       at.frames_end,
                                       payload,
                                       0,
                                       0};
        for (std::uint32_t i = 0; i < image::Word::sum; ++i) {
            image::store(to + std::size_t{4} * i, words[i]);
        }
        image::store(to + std::size_t{4} * image::Word::sum, image::sum_of(to, payload));
        return image::header_bytes + payload;
    }

    // The job of this image stands here, ready to go on with; nothing is changed where it is refused.
    [[nodiscard]] Refusal load(const unsigned char* from, std::uint32_t bytes) noexcept {
        if (const Refusal why = image::check(*module_, from, bytes); why != Refusal::none) {
            return why;
        }
        const Where at{image::load(from + std::size_t{4} * image::Word::stack_pointer),
                       image::load(from + std::size_t{4} * image::Word::frames_end)};
        const unsigned char* next = from + image::header_bytes;
        for (const consort_migrate_range& range : {stack(at), module_->data, frames(at)}) {
            put(range, next);
            next += range.bytes;
        }
        stand(at);
        return Refusal::none;
    }

    // The same without an image, where both memories can be addressed: the live bytes are copied once. For
    // two builds of one step for processors of one byte order.
    [[nodiscard]] Refusal take(const Job& other) noexcept {
        if (!other.left_) {
            return Refusal::not_left;
        }
        if (other.module_->module_hash != module_->module_hash) {
            return Refusal::other_module;
        }
        if (other.module_->layout_hash != module_->layout_hash) {
            return Refusal::other_layout;
        }
        const Where at = other.where();
        // Between the data and the frames lies nothing but where the frames end: one copy takes all three.
        const consort_migrate_range rest{module_->data.at, at.frames_end - module_->data.at};
        for (const consort_migrate_range& range : {stack(at), rest}) {
            __builtin_memcpy(block(range), other.block(range), range.bytes);
        }
        stand(at);
        return Refusal::none;
    }

  private:
    struct Where {
        std::uint32_t stack_pointer;
        std::uint32_t frames_end;
    };
    [[nodiscard]] Where where() const noexcept {
        return {*word(module_->words.stack_pointer), *word(module_->words.frames_end)};
    }
    void stand(const Where& at) noexcept {
        *word(module_->words.stack_pointer) = at.stack_pointer;
        *word(module_->words.frames_end) = at.frames_end;
        *word(module_->words.phase) = consort_migrate_returning;
        left_ = true;
    }
    [[nodiscard]] std::uint32_t* word(std::uint32_t offset) const noexcept {
        return reinterpret_cast<std::uint32_t*>(static_cast<unsigned char*>(instance_) + offset);
    }
    [[nodiscard]] consort_migrate_range stack(const Where& at) const noexcept {
        return {at.stack_pointer, module_->stack.at + module_->stack.bytes - at.stack_pointer};
    }
    [[nodiscard]] consort_migrate_range frames(const Where& at) const noexcept {
        return {module_->frames.at, at.frames_end - module_->frames.at};
    }
    [[nodiscard]] unsigned char* block(const consort_migrate_range& range) const noexcept {
        if constexpr (std::endian::native == std::endian::little) {
            return edge_ + range.at;
        } else {
            return edge_ - range.at - range.bytes;
        }
    }
    void put(const consort_migrate_range& range, const void* bytes) noexcept {
        copy(block(range), static_cast<const unsigned char*>(bytes), range.bytes);
    }
    void get(const consort_migrate_range& range, void* bytes) const noexcept {
        copy(static_cast<unsigned char*>(bytes), block(range), range.bytes);
    }
    // In reverse on a big-endian processor, whose memory lies so.
    static void copy(unsigned char* to, const unsigned char* from, std::uint32_t bytes) noexcept {
        if constexpr (std::endian::native == std::endian::little) {
            __builtin_memcpy(to, from, bytes);
        } else {
            for (std::uint32_t i = 0; i < bytes; ++i) {
                to[i] = from[bytes - 1 - i];
            }
        }
    }

    const consort_migrate_module* module_;
    void* instance_;
    unsigned char* edge_ = nullptr;  // address 0 of the step; the memory's end where it lies in reverse
    bool left_ = false;
};

}  // namespace consort::migrate
