// SPDX-License-Identifier: Apache-2.0
//
// consort-remote-serve: offers this machine's memory; `consort remote serve` starts it.
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <string>
#include <system_error>

#include "consort/linux/program.hpp"
#include "huge_pages.hpp"
#include "server.hpp"

namespace {

using namespace consort;

constexpr const char* help =
    R"(usage: consort-remote-serve --bytes N --key FILE --socket PATH [--listen HOST:PORT] [--spin-us N]
       [--encrypt 1] [--huge-pages 1] [--fabric PROVIDER]...

Offers N bytes of memory until it is interrupted. Prints "ready PORT" once it listens (PORT 0: not over TCP).

  --key FILE        what clients must know: at least 32 bytes, readable by its owner alone
  --socket PATH     where programs of this machine attach, through shared memory
  --listen          where those of others attach (TCP); port 0: a free one
  --spin-us N       how long a wait for the next request polls before it sleeps (default 0)
  --encrypt 1       refuse connections over TCP that are not encrypted
  --huge-pages 1    segments lie in the huge pages of 2 MiB that this machine has reserved
  --fabric NAME     a provider of libfabric (tcp, shm, ...) through which clients may reach their pages
)";

std::uint64_t number(const std::string& name, const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::invalid_argument(name + " " + text + ": not a number");
    }
    return value;
}

int run(int argc, char** argv) {
    remote::ServerOptions options;
    std::string key;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help") {
            std::fputs(help, stdout);
            return linux_port::good;
        }
        if (i + 1 == argc) {
            throw std::invalid_argument(name + ": not an option, or without its value; see --help");
        }
        const std::string value = argv[++i];
        if (name == "--bytes") {
            options.bytes = number(name, value);
        } else if (name == "--spin-us") {
            options.spin = std::chrono::microseconds(number(name, value));
        } else if (name == "--encrypt") {
            options.must_encrypt = number(name, value) != 0;
        } else if (name == "--huge-pages") {
            options.huge_pages = number(name, value) != 0;
        } else if (name == "--fabric") {
            options.fabrics.push_back(value);
        } else if (name == "--key") {
            key = value;
        } else if (name == "--socket") {
            options.path = value;
        } else if (name == "--listen") {
            options.listen = value;
        } else {
            throw std::invalid_argument("'" + name + "' is not an option; see --help");
        }
    }
    if (options.bytes == 0 || key.empty() || (options.path.empty() && options.listen.empty())) {
        throw std::invalid_argument("--bytes, --key, and --socket or --listen are needed; see --help");
    }
    if (options.huge_pages) {
        remote::expect_huge_pages(1);
    }
    options.key = remote::read_key(key);
    sigset_t ends;
    ::sigemptyset(&ends);
    ::sigaddset(&ends, SIGINT);
    ::sigaddset(&ends, SIGTERM);
    ::sigaddset(&ends, SIGHUP);
    ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    const remote::Server server(options);
    std::printf("ready %u\n", static_cast<unsigned>(server.port()));
    std::fflush(stdout);
    int got = 0;
    ::sigwait(&ends, &got);
    return linux_port::good;
}

}  // namespace

int main(int argc, char** argv) {
    return consort::linux_port::run_program("consort-remote-serve", [&] { return run(argc, argv); });
}
