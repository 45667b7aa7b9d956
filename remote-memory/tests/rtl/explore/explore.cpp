// SPDX-License-Identifier: Apache-2.0
// Explores all states of an and-inverter graph, breadth first. Its inputs are `rst_n` and `choice`; of its
// outputs `legal` says whether a choice may be taken, `bad` what must not be, and `progress` what has to
// happen again and again as long as only choice 0 is taken: a state from which it does not is a deadlock.
//
// explore FILE.aig CHOICES MOST-STATES [cycles=N] [INPUT=VALUE...]. With `cycles` only runs of so many from
// the reset are looked at, and no deadlock is looked for. Prints one line of JSON; exit status 1 where
// something is wrong.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Word = std::uint64_t;
constexpr unsigned kWords = 8;  // evaluated together: 64 lanes in each, one for a state and a choice
constexpr unsigned kLanes = 64 * kWords;
using Vector = Word __attribute__((vector_size(8 * kWords)));

[[noreturn]] void stop(const std::string& why) {
    std::fprintf(stderr, "explore: %s\n", why.c_str());
    std::exit(2);
}

struct Graph {
    struct And {
        std::uint32_t left, right;
    };
    unsigned inputs = 0, latches = 0, outputs = 0;
    std::vector<And> ands;
    std::vector<std::uint32_t> next, out;
    std::vector<std::string> input_names, output_names;

    explicit Graph(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        std::string magic;
        unsigned most = 0;
        unsigned count = 0;
        if (!(in >> magic >> most >> inputs >> latches >> outputs >> count) || magic != "aig")
            stop("no such graph: " + path);
        in.ignore(1);
        const auto line = [&] {
            std::string text;
            std::getline(in, text);
            return text;
        };
        for (unsigned i = 0; i < latches; ++i) {
            std::istringstream words(line());
            std::uint32_t literal = 0;
            std::uint32_t reset = 0;
            words >> literal;
            if (words >> reset && reset != 0) stop("a latch does not begin at 0");
            next.push_back(literal);
        }
        for (unsigned i = 0; i < outputs; ++i) out.push_back(static_cast<std::uint32_t>(std::stoul(line())));
        const auto delta = [&] {
            std::uint32_t value = 0;
            for (unsigned shift = 0;; shift += 7) {
                const int byte = in.get();
                value |= static_cast<std::uint32_t>(byte & 127) << shift;
                if ((byte & 128) == 0) return value;
            }
        };
        for (unsigned i = 0; i < count; ++i) {
            const std::uint32_t self = 2 * (inputs + latches + i + 1);
            const std::uint32_t left = self - delta();
            ands.push_back({left, left - delta()});
        }
        input_names.resize(inputs);
        output_names.resize(outputs);
        for (std::string text; std::getline(in, text) && text != "c";) {
            const auto space = text.find(' ');
            const auto index = std::stoul(text.substr(1));
            if (text[0] == 'i') input_names.at(index) = text.substr(space + 1);
            if (text[0] == 'o') output_names.at(index) = text.substr(space + 1);
        }
    }
    // Puts the latches on which `outputs` depend first, and gives the gates on which they depend.
    std::vector<std::uint32_t> first_those_of(const std::vector<unsigned>& outputs,
                                              unsigned& latches_of_them) {
        const std::uint32_t gates_from = inputs + latches + 1;
        std::vector<bool> needed(gates_from + ands.size());
        for (const unsigned i : outputs) needed[out[i] >> 1] = true;
        std::vector<std::uint32_t> gates;
        for (auto i = static_cast<std::uint32_t>(ands.size()); i-- != 0;) {
            if (!needed[gates_from + i]) continue;
            gates.push_back(i);
            needed[ands[i].left >> 1] = true;
            needed[ands[i].right >> 1] = true;
        }
        std::reverse(gates.begin(), gates.end());
        std::vector<unsigned> order;
        for (const bool wanted : {true, false}) {
            for (unsigned i = 0; i < latches; ++i) {
                if (needed[inputs + 1 + i] == wanted) order.push_back(i);
            }
            if (wanted) latches_of_them = static_cast<unsigned>(order.size());
        }
        std::vector<std::uint32_t> place(latches);
        for (unsigned i = 0; i < latches; ++i) place[order[i]] = i;
        const auto moved = [&](std::uint32_t literal) {
            const std::uint32_t node = literal >> 1;
            if (node <= inputs || node >= gates_from) return literal;
            return 2 * (inputs + 1 + place[node - inputs - 1]) + (literal & 1);
        };
        for (auto& gate : ands) gate = {moved(gate.left), moved(gate.right)};
        for (auto& literal : out) literal = moved(literal);
        std::vector<std::uint32_t> next_of(latches);
        for (unsigned i = 0; i < latches; ++i) next_of[place[i]] = moved(next[i]);
        next = next_of;
        return gates;
    }
    // Outputs NAME or NAME[0], NAME[1], ...
    [[nodiscard]] std::vector<unsigned> named(const std::string& name) const {
        std::vector<unsigned> found;
        for (unsigned i = 0; i < outputs; ++i) {
            if (output_names[i] == name || output_names[i].rfind(name + "[", 0) == 0) found.push_back(i);
        }
        if (found.empty()) stop("no output " + name);
        return found;
    }
};

// Rows to columns of 64 by 64 bits.
void transpose(std::array<Word, 64>& rows) {
    Word mask = 0x00000000FFFFFFFFULL;
    for (unsigned j = 32; j != 0; j >>= 1, mask ^= mask << j) {
        for (unsigned k = 0; k < 64; k = (k + j + 1) & ~j) {
            const Word swap = ((rows[k] >> j) ^ rows[k | j]) & mask;
            rows[k] ^= swap << j;
            rows[k | j] ^= swap;
        }
    }
}

struct Key {
    Word a, b;
    bool operator==(const Key&) const = default;
};

Key key_of(const Word* state, std::size_t words) {
    Word a = 0x243F6A8885A308D3ULL;
    Word b = 0x13198A2E03707344ULL;
    for (std::size_t i = 0; i < words; ++i) {
        a = (a ^ state[i]) * 0x9E3779B97F4A7C15ULL;
        a ^= a >> 29;
        b = (b + state[i]) * 0xC2B2AE3D27D4EB4FULL;
        b ^= b >> 31;
    }
    return {a, b};
}

// States by their fingerprints of 128 bits. Two of n states share one with a chance of n^2 / 2^129.
class Known {
  public:
    Known() : table_(1U << 16, kNone) {}
    std::size_t size() const { return keys_.size(); }
    // The number of a state, and whether it is new.
    std::pair<std::uint32_t, bool> find(const Key& key) {
        if (keys_.size() * 2 > table_.size()) grow();
        const std::size_t place = slot(key);
        if (table_[place] != kNone) return {table_[place], false};
        table_[place] = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(key);
        return {table_[place], true};
    }

  private:
    static constexpr std::uint32_t kNone = ~0U;
    std::size_t slot(const Key& key) const {
        std::size_t place = key.a & (table_.size() - 1);
        while (table_[place] != kNone && !(keys_[table_[place]] == key))
            place = (place + 1) & (table_.size() - 1);
        return place;
    }
    void grow() {
        table_.assign(table_.size() * 2, kNone);
        for (std::uint32_t i = 0; i < keys_.size(); ++i) table_[slot(keys_[i])] = i;
    }
    std::vector<Key> keys_;
    std::vector<std::uint32_t> table_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) stop("usage: explore FILE.aig CHOICES MOST-STATES [cycles=N] [INPUT=VALUE...]");
    Graph graph(argv[1]);
    const unsigned choices = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    const std::size_t most = std::strtoull(argv[3], nullptr, 10);
    if (choices < 1 || choices > 64) stop("1 to 64 choices");
    const std::size_t words = (graph.latches + 63) / 64;
    const auto legal = graph.named("legal");
    const auto bad = graph.named("bad");
    const auto progress = graph.named("progress");
    // Few of the choices are legal in most states, and few gates say which: these are evaluated first.
    unsigned legal_latches = 0;
    const auto legal_gates = graph.first_those_of(legal, legal_latches);

    const std::size_t gates_from = graph.inputs + graph.latches + 1;
    std::vector<Vector> value(gates_from + graph.ands.size());
    const auto get = [&](std::uint32_t literal) {
        return value[literal >> 1] ^ (Vector{} - Word{literal & 1});
    };
    const auto evaluate = [&] {
        std::size_t at = gates_from;
        for (const auto& gate : graph.ands) value[at++] = get(gate.left) & get(gate.right);
    };
    std::vector<std::pair<unsigned, unsigned>> choice_bits;  // input, bit
    int reset = -1;
    for (unsigned i = 0; i < graph.inputs; ++i) {
        const auto& name = graph.input_names[i];
        if (name == "rst_n") reset = static_cast<int>(i);
        if (name == "choice") choice_bits.emplace_back(i, 0);
        if (name.rfind("choice[", 0) == 0) {
            choice_bits.emplace_back(i, static_cast<unsigned>(std::atoi(name.c_str() + 7)));
        }
    }
    if (reset < 0) stop("no input rst_n");
    std::size_t cycles = ~std::size_t{0};
    for (int a = 4; a < argc; ++a) {
        const std::string word = argv[a];
        const auto equals = word.find('=');
        const std::string name = word.substr(0, equals);
        const auto number = std::strtoul(word.c_str() + equals + 1, nullptr, 10);
        bool found = name == "cycles";
        if (found) cycles = number;
        for (unsigned i = 0; i < graph.inputs; ++i) {
            const auto& input = graph.input_names[i];
            if (input != name && input.rfind(name + "[", 0) != 0) continue;
            const unsigned bit =
                input == name ? 0 : static_cast<unsigned>(std::atoi(input.c_str() + name.size() + 1));
            value[i + 1] = Vector{} - Word{number >> bit & 1};
            found = true;
        }
        if (!found) stop("no input " + name);
    }

    // Lane i is the state at states + at[i] * words; of `latches` the first ones.
    std::vector<std::uint32_t> at(kLanes);
    std::vector<std::uint8_t> chosen(kLanes);
    const auto load = [&](const Word* states, unsigned lanes, unsigned latches) {
        std::array<Word, 64> block{};
        for (unsigned k = 0; 64 * k < lanes; ++k) {
            for (std::size_t w = 0; 64 * w < latches; ++w) {
                for (unsigned lane = 0; lane < 64; ++lane) {
                    const unsigned i = 64 * k + lane;
                    block[lane] = i < lanes ? states[at[i] * words + w] : 0;
                }
                transpose(block);
                const auto here = std::min<std::size_t>(64, latches - 64 * w);
                for (unsigned i = 0; i < here; ++i) value[graph.inputs + 1 + 64 * w + i][k] = block[i];
            }
        }
    };
    // The state after, of each lane: after[lane * words + w].
    std::vector<Word> after(kLanes * words);
    const auto collect = [&](unsigned lanes) {
        std::array<Word, 64> block{};
        for (unsigned k = 0; 64 * k < lanes; ++k) {
            for (std::size_t w = 0; w < words; ++w) {
                for (unsigned i = 0; i < 64; ++i) {
                    const std::size_t latch = 64 * w + i;
                    block[i] = latch < graph.latches ? get(graph.next[latch])[k] : 0;
                }
                transpose(block);
                for (unsigned lane = 0; lane < 64; ++lane) after[(64 * k + lane) * words + w] = block[lane];
            }
        }
    };
    const auto bit = [&](const Vector& of, unsigned lane) { return of[lane / 64] >> (lane % 64) & 1; };

    // The knowledge of each state: how it was first reached, and where choice 0 leads.
    struct Way {
        std::uint32_t from;
        std::uint8_t choice;
    };
    Known known;
    std::vector<Way> ways;
    std::vector<std::uint32_t> calm;
    std::vector<std::uint8_t> calm_progress;
    std::vector<Word> waiting, later;  // states of a depth, and of the next one
    std::uint64_t transitions = 0;
    std::size_t widest = 0, depth = 0;

    waiting.assign(words, 0);
    load(waiting.data(), 1, graph.latches);
    evaluate();
    collect(1);
    value[static_cast<std::size_t>(reset) + 1] = Vector{} - Word{1};
    known.find(key_of(after.data(), words));
    ways.push_back({0, 0});
    waiting.assign(after.begin(), after.begin() + static_cast<long>(words));

    const auto path = [&](std::uint32_t state) {
        std::string text;
        std::vector<unsigned> taken;
        for (; state != 0; state = ways[state].from) taken.push_back(ways[state].choice);
        std::reverse(taken.begin(), taken.end());
        for (std::size_t i = 0; i < taken.size(); ++i) {
            if (taken[i] != 0)
                text += (text.empty() ? "" : ", ") + std::string("cycle ") + std::to_string(i) + ": choice " +
                        std::to_string(taken[i]);
        }
        return std::to_string(taken.size()) + " cycles" + (text.empty() ? "" : "; ") + text;
    };
    const auto wrong = [&](const std::string& what, std::uint32_t state) {
        std::printf("{\"verdict\": \"%s\", \"path\": \"%s\", \"states\": %zu, \"transitions\": %llu}\n",
                    what.c_str(), path(state).c_str(), known.size(),
                    static_cast<unsigned long long>(transitions));
        return 1;
    };

    std::vector<Word> may;  // of each state that waits
    for (std::uint32_t first = 0; !waiting.empty(); ++depth) {
        if (depth == cycles) {
            std::printf(
                "{\"verdict\": \"holds so far\", \"states\": %zu, \"transitions\": %llu, \"depth\": %zu}\n",
                known.size(), static_cast<unsigned long long>(transitions), depth);
            return 0;
        }
        const std::size_t here = waiting.size() / words;
        widest = std::max(widest, here);
        later.clear();
        may.assign(here, 0);
        for (std::size_t from = 0; from < here; from += kLanes) {
            const auto lanes = static_cast<unsigned>(std::min<std::size_t>(kLanes, here - from));
            for (unsigned i = 0; i < lanes; ++i) at[i] = static_cast<std::uint32_t>(from + i);
            load(waiting.data(), lanes, legal_latches);
            for (unsigned choice = 0; choice < choices; ++choice) {
                for (const auto& [input, place] : choice_bits)
                    value[input + 1] = Vector{} - Word{choice >> place & 1};
                for (const auto i : legal_gates) {
                    const auto& gate = graph.ands[i];
                    value[gates_from + i] = get(gate.left) & get(gate.right);
                }
                Vector allowed = ~Vector{};
                for (const unsigned i : legal) allowed &= get(graph.out[i]);
                for (unsigned i = 0; i < lanes; ++i) {
                    may[from + i] |= bit(allowed, i) << choice;
                    if (choice == 0 && may[from + i] == 0) stop("choice 0 has to be legal always");
                }
            }
        }
        // Each state with each choice that it may take.
        for (std::size_t next = 0; next < here;) {
            unsigned lanes = 0;
            while (next < here && lanes < kLanes) {
                for (; may[next] != 0 && lanes < kLanes; ++lanes) {
                    at[lanes] = static_cast<std::uint32_t>(next);
                    chosen[lanes] = static_cast<std::uint8_t>(std::countr_zero(may[next]));
                    may[next] &= may[next] - 1;
                }
                if (may[next] == 0) ++next;
            }
            load(waiting.data(), lanes, graph.latches);
            for (const auto& [input, place] : choice_bits) {
                Vector lanes_of{};
                for (unsigned i = 0; i < lanes; ++i)
                    lanes_of[i / 64] |= Word{chosen[i] >> place & 1U} << i % 64;
                value[input + 1] = lanes_of;
            }
            evaluate();
            for (unsigned i = 0; i < lanes; ++i) {
                for (const unsigned b : bad) {
                    if (bit(get(graph.out[b]), i) != 0) return wrong(graph.output_names[b], first + at[i]);
                }
            }
            collect(lanes);
            for (unsigned i = 0; i < lanes; ++i) {
                ++transitions;
                const Word* to = &after[i * words];
                const auto [number, is_new] = known.find(key_of(to, words));
                if (is_new) {
                    ways.push_back({first + at[i], chosen[i]});
                    later.insert(later.end(), to, to + words);
                }
                if (chosen[i] == 0) {
                    std::uint8_t happens = 0;
                    for (unsigned p = 0; p < progress.size(); ++p)
                        happens =
                            static_cast<std::uint8_t>(happens | bit(get(graph.out[progress[p]]), i) << p);
                    calm.push_back(number);
                    calm_progress.push_back(happens);
                }
            }
        }
        first += static_cast<std::uint32_t>(here);
        std::swap(waiting, later);
        if (known.size() > most) {
            std::printf(
                "{\"verdict\": \"more states than allowed\", \"states\": %zu, \"transitions\": %llu, "
                "\"depth\": %zu}\n",
                known.size(), static_cast<unsigned long long>(transitions), depth + 1);
            return 1;
        }
    }

    // Where nothing disturbs, each state leads to one other: all ends in circles, and in each everything must
    // happen.
    const std::uint8_t all = static_cast<std::uint8_t>((1U << progress.size()) - 1);
    std::vector<std::uint32_t> visited(known.size(), 0);  // 0: not yet, else in which walk
    unsigned circles = 0;
    std::size_t longest = 0;
    for (std::uint32_t start = 0; start < known.size(); ++start) {
        std::uint32_t at = start;
        while (visited[at] == 0) {
            visited[at] = start + 1;
            at = calm[at];
        }
        if (visited[at] != start + 1) continue;
        ++circles;
        std::uint8_t happens = 0;
        std::size_t length = 0;
        std::uint32_t in = at;
        do {
            happens |= calm_progress[in];
            in = calm[in];
            ++length;
        } while (in != at);
        longest = std::max(longest, length);
        if (happens != all) return wrong("deadlock", at);
    }
    std::printf(
        "{\"verdict\": \"holds\", \"states\": %zu, \"transitions\": %llu, \"latches\": %u, \"gates\": %zu, "
        "\"widest\": %zu, "
        "\"depth\": %zu, \"circles\": %u, \"longest_circle\": %zu}\n",
        known.size(), static_cast<unsigned long long>(transitions), graph.latches, graph.ands.size(), widest,
        depth, circles, longest);
    return 0;
}
