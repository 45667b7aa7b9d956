// SPDX-License-Identifier: Apache-2.0
//
// A vring of two (E24, E25): a driver offers buffers, the device reads or writes them and gives them back,
// and the driver uses them again. The buffers are race-checked variables.

#include "../rpmsg/driver.hpp"
#include "explore.hpp"

namespace {

using namespace consort;
using namespace consort::exploration;

constexpr std::uint32_t entries = 2;
constexpr std::uint32_t bytes = 4;
using Device = rpmsg::VringDevice<entries, RelacyAccess>;
using Driver = rpmsg::testing::VringDriver<entries, RelacyAccess>;
using Ring = rpmsg::Vring<entries, RelacyAccess>;

// The buffers' addresses: word i stands for variable i.
alignas(16) std::byte base[entries * bytes];

struct VringTest {
    Placed<typename Ring::Shared> shared;
    std::optional<Device> device;
    std::optional<Driver> driver;
    struct Variables {
        rl::var<std::uint32_t> at[entries];
        Variables() {
            for (auto& each : at) {
                each(rl::debug_info("zero")).store(0U);
            }
        }
    };
    std::optional<Variables> variables;

    void make(Device::Use use) {
        variables.emplace();
        driver.emplace(shared.get());
        driver->begin();
        device.emplace(shared.get(), rpmsg::Buffers{base, 0, sizeof(base)}, use);
        device->begin();
    }
    rl::var<std::uint32_t>& at(const std::byte* address) {
        return variables->at[static_cast<std::uint32_t>(address - base) / bytes];
    }
    rpmsg::Offered take() {
        rpmsg::Offered offered{};
        const Status status = consort::detail::wait<Yield>([&] { return device->take(offered); });
        check(status == Status::ok && offered.bytes == bytes, "vring: what was offered is taken");
        return offered;
    }
    void reap(std::uint32_t index, std::uint32_t written) {
        std::uint32_t found = 0;
        std::uint32_t found_bytes = 0;
        while (!driver->reap(found, found_bytes)) {
            Yield::relax();
        }
        check(found == index && found_bytes == written, "vring: buffers come back in order");
    }
};

// The driver sends: one buffer more than the ring has places for.
template <std::uint32_t Rounds>
struct Sent : rl::test_suite<Sent<Rounds>, 2>, VringTest {
    void before() { this->make(Device::Use::device_reads); }
    void thread(unsigned index) {
        for (std::uint32_t i = 0; i < Rounds; ++i) {
            const std::uint32_t place = i % entries;
            if (index == 1) {
                const rpmsg::Offered offered = this->take();
                check(this->at(offered.at)(rl::debug_info("read")).load() == i + 1, "vring: the content");
                this->device->give(offered, 0);
                continue;
            }
            if (i >= entries) {
                this->reap(place, 0);
            }
            this->variables->at[place](rl::debug_info("fill")).store(i + 1);
            this->driver->post(place, place * bytes, bytes, 0);
        }
    }
};

// The driver receives.
template <std::uint32_t Rounds>
struct Received : rl::test_suite<Received<Rounds>, 2>, VringTest {
    void before() { this->make(Device::Use::device_writes); }
    void thread(unsigned index) {
        if (index == 1) {
            for (std::uint32_t i = 0; i < Rounds; ++i) {
                const rpmsg::Offered offered = this->take();
                this->at(offered.at)(rl::debug_info("write")).store(i + 1);
                this->device->give(offered, bytes);
            }
            return;
        }
        for (std::uint32_t i = 0; i < entries; ++i) {
            this->driver->post(i, i * bytes, bytes, Ring::flag_write);
        }
        for (std::uint32_t i = 0; i < Rounds; ++i) {
            const std::uint32_t place = i % entries;
            this->reap(place, bytes);
            check(this->variables->at[place](rl::debug_info("read")).load() == i + 1, "vring: the content");
            this->driver->post(place, place * bytes, bytes, Ring::flag_write);
        }
    }
};

}  // namespace

int main() {
    Report report;
    report.holds<Sent<3>>("vring of 2, the driver sends", bounded(3));
    report.holds<Received<3>>("vring of 2, the driver receives", bounded(2));
    report.found<Sent<3>>(SyncPoint::vring_post, rl::mo_relaxed, random(100000));
    report.found<Sent<3>>(SyncPoint::vring_fetch, rl::mo_relaxed, random(100000));
    report.found<Received<3>>(SyncPoint::vring_complete, rl::mo_relaxed, random(100000));
    report.found<Received<3>>(SyncPoint::vring_reap, rl::mo_relaxed, random(100000));
    return report.exit_code();
}
