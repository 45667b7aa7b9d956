// SPDX-License-Identifier: Apache-2.0
//
// Both sides compile for bare cores.
#include "consort/accel.hpp"

namespace {

struct Port {
    static consort::Ticks now() noexcept { return 0; }
    static consort::Ticks ticks_per_second() noexcept { return 1; }
    static void relax() noexcept {}
    static void clean(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static void invalidate(const void* /*begin*/, std::size_t /*bytes*/) noexcept {}
    static std::uint32_t core_id() noexcept { return 0; }
};

struct Tile {
    std::int32_t pixels[16];
};

using TileServer = consort::accel::Server<Tile, Tile, Port, 2, 1>;
using TileClient = consort::accel::Client<Tile, Tile, Port>;

TileServer::Box::Shared boxes[2];

}  // namespace

extern "C" std::uint32_t both_sides() {
    using namespace consort::accel;
    TileServer server(Arbitration::tdma, 20, 0, {{10, sizeof(Tile)}},
                      {{{1, 0, 10, 0, 0}, 1}, {{0, 10, 10, 0, 0}, 1}}, {&boxes[0], &boxes[1]});
    TileClient client(boxes[0]);
    Tile out{};
    const Outcome outcome = client.request(0, Tile{}, sizeof(Tile), out, 0);
    return server.poll([](std::uint32_t, const Tile& in, std::uint32_t, Tile& to) { to = in; }) +
           static_cast<std::uint32_t>(outcome);
}
