// SPDX-License-Identifier: Apache-2.0
// A master at a memory, with nothing between them.
#pragma once

#include <deque>
#include <memory>

#include "axi.hpp"

namespace sim {

// A master at the memory itself.
class Direct {
  public:
    struct Wires {
        VlWide<3> s_aw_i[1], s_ar_i[1], m_aw_o[1], m_ar_o[1];
        VlWide<5> s_w_i[1], m_w_o[1], s_r_o[1], m_r_i[1];
        std::uint32_t s_b_o[1], m_b_i[1];
        std::uint8_t s_aw_valid_i[1], s_aw_ready_o[1], s_w_valid_i[1], s_w_ready_o[1], s_b_valid_o[1],
            s_b_ready_i[1];
        std::uint8_t s_ar_valid_i[1], s_ar_ready_o[1], s_r_valid_o[1], s_r_ready_i[1];
        std::uint8_t m_aw_valid_o[1], m_aw_ready_i[1], m_w_valid_o[1], m_w_ready_i[1], m_b_valid_i[1],
            m_b_ready_o[1];
        std::uint8_t m_ar_valid_o[1], m_ar_ready_i[1], m_r_valid_i[1], m_r_ready_o[1];
    };

    explicit Direct(const MemoryBehaviour& behaviour) : wires_(std::make_unique<Wires>()) {
        masters.emplace_back(*wires_, 0, 0, 1);
        memories.emplace_back(*wires_, 0, behaviour, 1);
    }
    void cycle() {
        Wires& w = *wires_;
        masters[0].drive();
        memories[0].drive();
        w.m_aw_o[0] = w.s_aw_i[0];
        w.m_ar_o[0] = w.s_ar_i[0];
        w.m_w_o[0] = w.s_w_i[0];
        w.s_r_o[0] = w.m_r_i[0];
        w.s_b_o[0] = w.m_b_i[0];
        w.m_aw_valid_o[0] = w.s_aw_valid_i[0];
        w.m_ar_valid_o[0] = w.s_ar_valid_i[0];
        w.m_w_valid_o[0] = w.s_w_valid_i[0];
        w.m_r_ready_o[0] = w.s_r_ready_i[0];
        w.m_b_ready_o[0] = w.s_b_ready_i[0];
        w.s_aw_ready_o[0] = w.m_aw_ready_i[0];
        w.s_ar_ready_o[0] = w.m_ar_ready_i[0];
        w.s_w_ready_o[0] = w.m_w_ready_i[0];
        w.s_r_valid_o[0] = w.m_r_valid_i[0];
        w.s_b_valid_o[0] = w.m_b_valid_i[0];
        masters[0].sample();
        memories[0].sample();
        ++now;
    }
    std::uint64_t now = 0;

  private:
    std::unique_ptr<Wires> wires_;

  public:
    std::deque<Master<Wires>> masters;
    std::deque<Memory<Wires>> memories;
};

}  // namespace sim
