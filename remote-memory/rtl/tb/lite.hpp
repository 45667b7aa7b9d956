// SPDX-License-Identifier: Apache-2.0
// An AXI-Lite master for one access after another, at ports of lite_req_t and lite_resp_t
// (consort_remote_pkg).
#pragma once

#include <cstdint>

namespace sim {

// Places of what is used of the two structs.
struct LiteRequest {
    static constexpr unsigned kReadReady = 0, kReadValid = 1, kReadAddress = 5, kWrittenReady = 17,
                              kDataValid = 18;
    static constexpr unsigned kStrobes = 19, kData = 23, kWriteValid = 55, kWriteAddress = 59;
};
struct LiteResponse {
    static constexpr unsigned kReadValid = 0, kReadResp = 1, kData = 3, kReadTaken = 35, kWrittenValid = 36,
                              kWrittenResp = 37;
    static constexpr unsigned kWriteTaken = 40;
};

// `cycle` goes on by a cycle and `eval` shows what follows of the port's new value before its edge.
template <class Request, class Response, class Eval, class Cycle>
class LiteMaster {
  public:
    LiteMaster(Request& request, const Response& response, Eval eval, Cycle cycle)
        : request_(request), response_(response), eval_(eval), cycle_(cycle) {}

    // False where the answer is an error.
    bool read(std::uint32_t address, std::uint32_t& value) {
        put(at(address, LiteRequest::kReadAddress) | at(1, LiteRequest::kReadValid) |
            at(1, LiteRequest::kReadReady));
        wait(LiteResponse::kReadTaken);
        put(at(1, LiteRequest::kReadReady));
        while (bits(LiteResponse::kReadValid, 1) == 0) cycle_();
        const bool good = bits(LiteResponse::kReadResp, 3) == 0;
        value = static_cast<std::uint32_t>(bits(LiteResponse::kData, 0xFFFF'FFFFU));
        cycle_();
        return good;
    }
    bool write(std::uint32_t address, std::uint32_t value, std::uint32_t strobes = 0xF) {
        put(at(address, LiteRequest::kWriteAddress) | at(1, LiteRequest::kWriteValid) |
            at(value, LiteRequest::kData) | at(strobes, LiteRequest::kStrobes) |
            at(1, LiteRequest::kDataValid) | at(1, LiteRequest::kWrittenReady));
        wait(LiteResponse::kWriteTaken);
        put(at(1, LiteRequest::kWrittenReady));
        while (bits(LiteResponse::kWrittenValid, 1) == 0) cycle_();
        const bool good = bits(LiteResponse::kWrittenResp, 3) == 0;
        cycle_();
        return good;
    }

  private:
    __extension__ using Wide = unsigned __int128;
    static Wide at(std::uint32_t value, unsigned place) { return static_cast<Wide>(value) << place; }
    void put(Wide value) {
        for (int i = 0; i < 3; ++i) request_[i] = static_cast<std::uint32_t>(value >> (32 * i));
        eval_();
    }
    [[nodiscard]] std::uint64_t bits(unsigned place, std::uint64_t mask) const {
        return response_ >> place & mask;
    }
    void wait(unsigned taken) {
        for (bool is = false; !is; cycle_()) {
            eval_();
            is = bits(taken, 1) != 0;
        }
    }

    Request& request_;
    const Response& response_;
    Eval eval_;
    Cycle cycle_;
};

}  // namespace sim
