// SPDX-License-Identifier: Apache-2.0
// Plain C++ on memory that lies behind the simulated cBlock, link and mBlock.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>

#include "consort/linux/remote_window.hpp"

namespace {

struct Node {
    double value;
    std::uint32_t count;
    Node* next;
};

// The compiler must not keep anything of the window in registers.
void forget() {
    asm volatile("" ::: "memory");
}

bool list_of_nodes(Node* nodes, unsigned count) {
    for (unsigned i = 0; i < count; ++i) nodes[i] = {0.5 * i, i, i + 1 < count ? &nodes[i + 1] : nullptr};
    forget();
    double sum = 0;
    std::uint32_t counted = 0;
    for (const Node* node = nodes; node != nullptr; node = node->next) {
        sum += node->value;
        counted += node->count;
    }
    return sum == 0.25 * count * (count - 1) && counted == count * (count - 1) / 2;
}

bool bytes_in_place(unsigned char* bytes) {
    const char text[] = "across the link, unaligned";
    std::memcpy(bytes + 3, text, sizeof text);
    forget();
    bytes[3] ^= 0x20;
    forget();
    char back[sizeof text];
    std::memcpy(back, bytes + 3, sizeof back);
    return std::strcmp(back, "Across the link, unaligned") == 0;
}

bool arithmetic_in_place(std::uint64_t* words) {
    words[0] = 40;
    words[1] = ~0ULL;
    forget();
    words[0] += 2;
    words[1] >>= 60;
    forget();
    return words[0] == 42 && words[1] == 15;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const consort::linux_port::RemoteWindow window(argc > 1 ? argv[1] : "demo");
        auto* base = static_cast<unsigned char*>(window.data());
        const bool nodes = list_of_nodes(reinterpret_cast<Node*>(base), 8);
        const bool bytes = bytes_in_place(base + 0x400);
        const bool words = arithmetic_in_place(reinterpret_cast<std::uint64_t*>(base + 0x800));
        std::printf("linked list: %s\nunaligned text: %s\narithmetic: %s\n", nodes ? "right" : "WRONG",
                    bytes ? "right" : "WRONG", words ? "right" : "WRONG");
        return nodes && bytes && words ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "remote_window: %s\n", error.what());
        return 3;
    }
}
