// SPDX-License-Identifier: Apache-2.0
//
// The only process of a Linux that serves an application on a board: started by the kernel as /init from an
// initial RAM file system that holds it and /program.
//
//   init OFFSET BYTES PLACE CRL     (from the kernel's command line, after "--")
//
// It tells the host that Linux is up, waits until the host has put the other core's image where the boot stub
// was, releases that core by writing 0 to the register CRL, and starts /program as a real-time process on the
// window of physical memory. Its own control block is the last one: role 1 = the image
// is there, 2 = there is none to release.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "consort/bare/control_block.hpp"

namespace {

[[noreturn]] void stay() {
    // The kernel panics when its first process ends; the host ends the board.
    for (;;) {
        ::pause();
    }
}

void* map(off_t offset, std::size_t bytes) {
    const int file = ::open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    void* at =
        file < 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    if (at == MAP_FAILED) {
        std::perror("/dev/mem");
        stay();
    }
    ::close(file);
    return at;
}

bool is_preempt_rt() {
    int value = 0;
    if (std::FILE* file = std::fopen("/sys/kernel/realtime", "r"); file != nullptr) {
        if (std::fscanf(file, "%d", &value) != 1) {
            value = 0;
        }
        std::fclose(file);
    }
    return value == 1;
}

}  // namespace

int main(int argc, char** argv) {
    for (const char* folder : {"/dev", "/proc", "/sys"}) {
        ::mkdir(folder, 0755);
    }
    if (::mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr) != 0 ||
        ::mount("proc", "/proc", "proc", 0, nullptr) != 0 ||
        ::mount("sysfs", "/sys", "sysfs", 0, nullptr) != 0) {
        std::perror("mount");
        stay();
    }
    if (argc != 5) {
        std::fprintf(stderr, "init: %d arguments, OFFSET BYTES PLACE CRL are needed\n", argc - 1);
        stay();
    }
    const auto offset = static_cast<off_t>(std::strtoull(argv[1], nullptr, 0));
    const auto bytes = static_cast<std::size_t>(std::strtoull(argv[2], nullptr, 0));
    const auto crl = static_cast<off_t>(std::strtoull(argv[4], nullptr, 0));
    utsname name{};
    ::uname(&name);
    const bool realtime = is_preempt_rt();
    std::printf("init: Linux %s, %s\n", name.release, realtime ? "PREEMPT_RT" : "not PREEMPT_RT");
    std::fflush(stdout);

    using namespace consort::bare;
    auto* window = static_cast<unsigned char*>(map(offset, bytes));
    ControlBlock block(window + (control_blocks - 1) * ControlBlock::bytes);
    block.result(0, realtime ? 1 : 0);
    block.text(name.release);
    block.state(State::running);
    while (block.role() == 0) {
        ::usleep(1000);
    }
    if (block.role() == 1) {
        constexpr off_t page = 4096;
        auto* registers = static_cast<volatile std::uint32_t*>(map(crl / page * page, page));
        registers[crl % page / 4] = 0;
    }

    const pid_t child = ::fork();
    if (child == 0) {
        sched_param priority{};
        priority.sched_priority = 80;
        if (::sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
            std::perror("init: SCHED_FIFO");
        }
        ::execl("/program", "/program", "/dev/mem", argv[1], argv[2], argv[3], nullptr);
        std::perror("/program");
        ::_exit(127);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::printf("init: the program ended with status %d\n", status);
    std::fflush(stdout);
    block.result(1, static_cast<std::uint32_t>(status));
    block.state(status == 0 ? State::done : State::failed);
    stay();
}
