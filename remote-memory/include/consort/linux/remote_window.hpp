// SPDX-License-Identifier: Apache-2.0
//
// A window of remote memory in a process: its plain loads and stores there travel through the simulated
// hardware that `consort remote attach` started. For x86-64; needs Zydis (-lZydis).
//
// No page of the window is ever accessible. Each access faults; the instruction is decoded, what it reads is
// fetched through the hardware, the instruction itself runs on a copy of those bytes with its memory operand
// turned there, and what it wrote is stored through the hardware. So it works for whatever names one memory
// operand of up to 64 bytes in its ModRM byte: moves, arithmetic and comparisons, SSE, AVX and AVX-512
// without masks; from several threads. Anything else ends the process with SIGILL and the instruction's name:
// locked and exchanging instructions (no atomics over the link), string instructions, push, pop, call and
// jump through the window, gathers, masked moves, FS and GS. Buffers of system calls cannot lie in the window
// (EFAULT). An access that the hardware answers with an error ends with SIGBUS.
#pragma once

#if !defined(__x86_64__) || !defined(__linux__)
#error "remote windows of processes are for Linux on x86-64"
#endif

#include <Zydis/Zydis.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

#include "consort/linux/runtime_folder.hpp"

namespace consort::linux_port {

namespace remote_detail {

// Used by the handlers: fixed places, no allocation.
struct Window {
    std::atomic<std::uintptr_t> begin{0};  // 0: free
    std::size_t size = 0;
    std::uint64_t address = 0;  // in the simulated processor's address space
    int socket = -1;
};
inline Window windows[8];
inline std::atomic_flag socket_busy = ATOMIC_FLAG_INIT;
inline struct sigaction before_segv, before_trap;

// A thread's place to run one instruction: its code, and the bytes that stand for the remote ones.
struct Slot {
    unsigned char* code = nullptr;
    unsigned char* bytes = nullptr;
    bool running = false;
    bool writes = false;
    std::uint64_t resume = 0, restart = 0, end = 0;
    const Window* window = nullptr;
    std::uintptr_t at = 0;
    std::size_t size = 0, shift = 0;
    sigset_t mask{};
};
inline thread_local Slot slot;

[[noreturn]] inline void end_process(int signal_number, const char* what, std::uintptr_t at) {
    char text[256];
    const int length = std::snprintf(text, sizeof text, "consort remote window: %s at %#lx\n", what,
                                     static_cast<unsigned long>(at));
    if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(3);
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(signal_number, &plain, nullptr);
    sigset_t open;
    sigemptyset(&open);
    sigaddset(&open, signal_number);
    sigprocmask(SIG_UNBLOCK, &open, nullptr);
    raise(signal_number);
    _exit(128 + signal_number);
}

// One order, one answer; the length of the answer, or -1 where the hardware is gone.
inline ssize_t ask(int socket, const char* order, std::size_t length, char* answer, std::size_t room) {
    while (socket_busy.test_and_set(std::memory_order_acquire)) {
    }
    ssize_t got = send(socket, order, length, MSG_NOSIGNAL);
    if (got >= 0) {
        do got = recv(socket, answer, room - 1, 0);
        while (got < 0 && errno == EINTR);
    }
    socket_busy.clear(std::memory_order_release);
    if (got <= 0) return -1;
    answer[got] = '\0';
    return got;
}

// Bytes of one access, at most 64; in two bursts where it crosses 4 KiB.
inline void transfer(const Window& window, bool store, std::uintptr_t at, unsigned char* bytes,
                     std::size_t size) {
    while (size > 0) {
        const std::uint64_t address = window.address + (at - window.begin.load(std::memory_order_relaxed));
        const std::size_t now = size < 4096 - address % 4096 ? size : 4096 - address % 4096;
        char order[256];
        char answer[256];
        int length = std::snprintf(order, sizeof order, store ? "store %llu " : "load %llu %zu",
                                   static_cast<unsigned long long>(address), now);
        for (std::size_t i = 0; store && i < now; ++i)
            length += std::snprintf(order + length, sizeof order - static_cast<std::size_t>(length), "%02x",
                                    bytes[i]);
        if (ask(window.socket, order, static_cast<std::size_t>(length), answer, sizeof answer) < 0)
            end_process(SIGBUS, "the hardware is gone; consort remote list says more", at);
        if (std::strncmp(answer, "ok", 2) != 0) {
            char text[128];
            std::snprintf(text, sizeof text, "%s answered %.60s", store ? "a store was" : "a load was",
                          answer);
            end_process(SIGBUS, text, at);
        }
        for (std::size_t i = 0; !store && i < now; ++i) {
            unsigned value = 0;
            if (std::sscanf(answer + 3 + 2 * i, "%2x", &value) != 1)
                end_process(SIGBUS, "an answer too short", at);
            bytes[i] = static_cast<unsigned char>(value);
        }
        bytes += now;
        at += now;
        size -= now;
    }
}

inline void pass_on(const struct sigaction& before, int number, siginfo_t* info, void* context) {
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
        before.sa_sigaction(number, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(number, &before, nullptr);  // happens again, by the default
}

struct Access {
    std::uintptr_t at = 0;
    std::size_t size = 0;
    bool reads = false, writes = false;
};

// The instruction's only memory operand; otherwise why it cannot be carried out.
inline const char* only_access(const ZydisDecodedInstruction& instruction,
                               const ZydisDecodedOperand* operands, const greg_t* registers, Access& access) {
    if ((instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK) != 0 || instruction.mnemonic == ZYDIS_MNEMONIC_XCHG)
        return "no atomic instructions in a remote window";
    if (instruction.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        return "no jumps or calls through a remote window";
    if (instruction.address_width != 64) return "no 32-bit addressing in a remote window";
    if (instruction.avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
        instruction.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED)
        return "no masked vector instructions in a remote window";
    const ZydisDecodedOperand* found = nullptr;
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
        const auto& operand = operands[i];
        if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
        if (found != nullptr || operand.mem.type != ZYDIS_MEMOP_TYPE_MEM ||
            operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
            return "this instruction is not supported in a remote window";
        found = &operand;
    }
    if (found == nullptr || (instruction.attributes & ZYDIS_ATTRIB_HAS_MODRM) == 0 || found->size == 0 ||
        found->size % 8 != 0 || found->size > 512 || (found->actions & ZYDIS_OPERAND_ACTION_CONDWRITE) != 0 ||
        found->mem.segment == ZYDIS_REGISTER_FS || found->mem.segment == ZYDIS_REGISTER_GS)
        return "this instruction is not supported in a remote window";
    constexpr int kOrder[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const auto value = [&](ZydisRegister name, bool& known) -> std::uint64_t {
        if (name == ZYDIS_REGISTER_NONE) return 0;
        if (name == ZYDIS_REGISTER_RIP)
            return static_cast<std::uint64_t>(registers[REG_RIP]) + instruction.length;
        if (name < ZYDIS_REGISTER_RAX || name > ZYDIS_REGISTER_R15) {
            known = false;
            return 0;
        }
        return static_cast<std::uint64_t>(registers[kOrder[name - ZYDIS_REGISTER_RAX]]);
    };
    bool known = true;
    access.at = value(found->mem.base, known) + value(found->mem.index, known) * found->mem.scale +
                static_cast<std::uint64_t>(found->mem.disp.has_displacement ? found->mem.disp.value : 0);
    if (!known) return "this instruction is not supported in a remote window";
    access.size = found->size / 8U;
    access.reads = (found->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    access.writes = (found->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    return nullptr;
}

// Writes the instruction into the slot with its memory operand at `target`, and a breakpoint behind it.
inline void redirect(const ZydisDecodedInstruction& instruction, const unsigned char* from, Slot& at,
                     const unsigned char* target) {
    const std::size_t modrm = instruction.raw.modrm.offset;
    const std::size_t sib = instruction.raw.modrm.rm == 4 ? 1 : 0;
    const std::size_t rest = modrm + 1 + sib + instruction.raw.disp.size / 8U;
    std::memcpy(at.code, from, modrm);
    at.code[modrm] =
        static_cast<unsigned char>((from[modrm] & 0x38) | 0x05);  // relative to the next instruction
    const std::size_t behind = instruction.length - rest;
    std::memcpy(at.code + modrm + 5, from + rest, behind);
    const std::size_t end = modrm + 5 + behind;
    const auto distance = static_cast<std::int32_t>(target - (at.code + end));
    std::memcpy(at.code + modrm + 1, &distance, sizeof distance);
    at.code[end] = 0xCC;
    at.end = reinterpret_cast<std::uint64_t>(at.code + end + 1);
}

inline void on_segv(int number, siginfo_t* info, void* raw) {
    const int kept = errno;
    auto* context = static_cast<ucontext_t*>(raw);
    greg_t* registers = context->uc_mcontext.gregs;
    const auto fault = reinterpret_cast<std::uintptr_t>(info->si_addr);
    const Window* window = nullptr;
    for (const auto& candidate : windows) {
        const auto begin = candidate.begin.load(std::memory_order_acquire);
        if (begin != 0 && fault >= begin && fault - begin < candidate.size) window = &candidate;
    }
    if (slot.running) {  // the instruction failed by itself: show where it came from
        slot.running = false;
        registers[REG_RIP] = static_cast<greg_t>(slot.restart);
        context->uc_sigmask = slot.mask;
        end_process(SIGSEGV, "an instruction failed on its operands", slot.at);
    }
    if (window == nullptr) return pass_on(before_segv, number, info, raw);

    const auto* from = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (from == info->si_addr) end_process(SIGILL, "no code is executed in a remote window", fault);
    if (ZYAN_FAILED(
            ZydisDecoderDecodeFull(&decoder, from, ZYDIS_MAX_INSTRUCTION_LENGTH, &instruction, operands)))
        end_process(SIGILL, "an unknown instruction used the window", fault);
    Access access;
    if (const char* why = only_access(instruction, operands, registers, access); why != nullptr) {
        char text[160];
        std::snprintf(text, sizeof text, "'%s': %s; access", ZydisMnemonicGetString(instruction.mnemonic),
                      why);
        end_process(SIGILL, text, fault);
    }
    const auto begin = window->begin.load(std::memory_order_relaxed);
    if (access.at < begin || access.at - begin > window->size - access.size)
        end_process(SIGBUS, "an access reaches over the window's edge", fault);

    if (slot.code == nullptr) {
        void* made =
            mmap(nullptr, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (made == MAP_FAILED) end_process(SIGBUS, "no memory for the emulation", fault);
        slot.code = static_cast<unsigned char*>(made);
        slot.bytes = slot.code + 4096;
    }
    slot.shift = access.at % 64;  // instructions that need alignment find what they would have found
    if (access.reads) transfer(*window, false, access.at, slot.bytes + slot.shift, access.size);
    redirect(instruction, from, slot, slot.bytes + slot.shift);
    slot.window = window;
    slot.at = access.at;
    slot.size = access.size;
    slot.writes = access.writes;
    slot.restart = reinterpret_cast<std::uint64_t>(from);
    slot.resume = slot.restart + instruction.length;
    slot.mask = context->uc_sigmask;
    slot.running = true;
    // Another handler must not use the slot before this instruction is done.
    sigfillset(&context->uc_sigmask);
    for (const int own : {SIGSEGV, SIGTRAP, SIGBUS, SIGFPE, SIGILL}) sigdelset(&context->uc_sigmask, own);
    registers[REG_RIP] = reinterpret_cast<greg_t>(slot.code);
    errno = kept;
}

inline void on_trap(int number, siginfo_t* info, void* raw) {
    const int kept = errno;
    auto* context = static_cast<ucontext_t*>(raw);
    greg_t* registers = context->uc_mcontext.gregs;
    if (!slot.running || static_cast<std::uint64_t>(registers[REG_RIP]) != slot.end)
        return pass_on(before_trap, number, info, raw);
    if (slot.writes) transfer(*slot.window, true, slot.at, slot.bytes + slot.shift, slot.size);
    slot.running = false;
    registers[REG_RIP] = static_cast<greg_t>(slot.resume);
    context->uc_sigmask = slot.mask;
    errno = kept;
}

inline void install() {
    static const bool done = [] {
        struct sigaction action {};
        action.sa_flags = SA_SIGINFO;
        sigfillset(&action.sa_mask);
        action.sa_sigaction = on_segv;
        sigaction(SIGSEGV, &action, &before_segv);
        action.sa_sigaction = on_trap;
        sigaction(SIGTRAP, &action, &before_trap);
        return true;
    }();
    static_cast<void>(done);
}

// As `consort remote attach` takes them: an order is a line of words.
inline bool is_name(const std::string& name) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    if (name.empty() || name.size() > 31 || !plain(name.front())) return false;
    for (const char c : name)
        if (!plain(c) && c != '_' && c != '.' && c != '-') return false;
    return true;
}

}  // namespace remote_detail

// A window by the name that it was attached under. Throws std::system_error or std::runtime_error where it
// cannot be had.
class RemoteWindow {
  public:
    // `at` is where it lies in the process, in place of what is mapped there; the kernel chooses without it.
    explicit RemoteWindow(const std::string& name, void* at = nullptr) {
        namespace detail = remote_detail;
        if (!detail::is_name(name)) throw std::runtime_error("no name of a window: " + name);
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        const std::string path = runtime_folder("remote") + "/hardware";
        if (path.size() >= sizeof where.sun_path) throw std::runtime_error("the path is too long: " + path);
        std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
        for (auto& candidate : detail::windows) {
            if (candidate.begin == 0) own_ = &candidate;
        }
        if (own_ == nullptr) throw std::runtime_error("a process can have 8 remote windows");
        own_->socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(own_->socket, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) {
            const int error = errno;
            close(own_->socket);
            throw std::system_error(error, std::generic_category(),
                                    "no simulated hardware (start it: consort remote attach " + name + ")");
        }
        try {
            expect_own_peer(own_->socket);
        } catch (...) {
            close(own_->socket);
            throw;
        }
        const std::string order = "find " + name;
        char answer[256];
        unsigned long long address = 0;
        unsigned long long size = 0;
        if (detail::ask(own_->socket, order.data(), order.size(), answer, sizeof answer) < 0 ||
            std::sscanf(answer, "ok %llu %llu", &address, &size) != 2) {
            close(own_->socket);
            throw std::runtime_error("no window is attached as " + name +
                                     " (consort remote list shows them)");
        }
        const int place = at == nullptr ? 0 : MAP_FIXED;
        void* made = mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | place, -1, 0);
        if (made == MAP_FAILED) {
            const int error = errno;
            close(own_->socket);
            throw std::system_error(error, std::generic_category(), "no addresses for the window");
        }
        own_->address = address;
        own_->size = size;
        detail::install();
        own_->begin.store(reinterpret_cast<std::uintptr_t>(made), std::memory_order_release);
    }
    RemoteWindow(const RemoteWindow&) = delete;
    RemoteWindow& operator=(const RemoteWindow&) = delete;
    ~RemoteWindow() {
        void* begin = data();
        own_->begin.store(0, std::memory_order_release);
        munmap(begin, own_->size);
        close(own_->socket);
    }

    [[nodiscard]] void* data() const {
        return reinterpret_cast<void*>(own_->begin.load(std::memory_order_relaxed));  // NOLINT
    }
    [[nodiscard]] std::size_t size() const { return own_->size; }

  private:
    remote_detail::Window* own_ = nullptr;
};

}  // namespace consort::linux_port
