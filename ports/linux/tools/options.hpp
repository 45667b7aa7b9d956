// SPDX-License-Identifier: Apache-2.0
//
// The command lines of the small programs here: `--name value` and `--name`, nothing positional.
#pragma once

#include <charconv>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace consort::linux_port {

class Options {
  public:
    // Throws std::invalid_argument for a name that is in neither list.
    Options(int argc, char** argv, std::initializer_list<std::string_view> with_value,
            std::initializer_list<std::string_view> flags) {
        for (int i = 1; i < argc; ++i) {
            const std::string name = argv[i];
            if (has(with_value, name)) {
                if (i + 1 == argc) {
                    throw std::invalid_argument(name + ": a value must follow");
                }
                values_[name] = argv[++i];
            } else if (has(flags, name)) {
                values_[name] = "";
            } else {
                throw std::invalid_argument("'" + name + "' is not an option; see --help");
            }
        }
    }

    [[nodiscard]] bool given(const std::string& name) const { return values_.count(name) != 0; }

    [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise = "") const {
        const auto found = values_.find(name);
        return found == values_.end() ? otherwise : found->second;
    }

    [[nodiscard]] double number(const std::string& name, double otherwise, double least, double most) const {
        if (!given(name)) {
            return otherwise;
        }
        const std::string& value = values_.at(name);
        double result = 0.0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
        if (error != std::errc{} || end != value.data() + value.size() ||
            !(result >= least && result <= most)) {
            throw std::invalid_argument(name + " " + value + ": must be a number from " +
                                        std::to_string(least) + " to " + std::to_string(most));
        }
        return result;
    }

  private:
    static bool has(std::initializer_list<std::string_view> names, std::string_view name) {
        for (const std::string_view known : names) {
            if (known == name) {
                return true;
            }
        }
        return false;
    }

    std::map<std::string, std::string> values_;
};

}  // namespace consort::linux_port
