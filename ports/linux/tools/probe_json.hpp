// SPDX-License-Identifier: Apache-2.0
//
// Writes the probe's result as JSON. Every user compiles the probe before the first measurement: a JSON
// library, which also reads, would double the time that this takes.
#pragma once

#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace consort::linux_port {

// One object. A key must be added once only.
class JsonObject {
  public:
    // Nothing measured calls it: compiled for size, it takes the compiler a third of the program's time less.
    template <class Value>
    [[gnu::cold]] JsonObject& add(std::string_view key, const Value& value) {
        return append(key, json(value));
    }

    [[nodiscard]] std::string text() const { return members_.empty() ? "{}" : members_ + "}"; }

  private:
    static std::string json(std::integral auto value) { return std::to_string(value); }
    static std::string json(const JsonObject& value) { return value.text(); }
    static std::string json(std::string_view value) {
        std::string text = "\"";
        for (const char c : value) {
            if (static_cast<unsigned char>(c) < 0x20) {
                char escaped[8];
                std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
                text += escaped;
            } else {
                text.append(c == '"' || c == '\\' ? 1 : 0, '\\').push_back(c);
            }
        }
        return text + '"';
    }
    template <class Value>
    static std::string json(const std::vector<Value>& values) {
        std::string text;
        for (const Value& value : values) {
            text.append(text.empty() ? "" : ",").append(json(value));
        }
        return "[" + text + "]";
    }

    JsonObject& append(std::string_view key, const std::string& value) {
        members_.append(members_.empty() ? "{" : ",").append(json(key)).append(":").append(value);
        return *this;
    }

    std::string members_;
};

}  // namespace consort::linux_port
