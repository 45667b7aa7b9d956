// SPDX-License-Identifier: Apache-2.0
//
// JSON of programs, by JsonCpp: what it does lies in a library. A header that brings all of it takes a
// compiler as long as the rest of a program.
#pragma once

#include <jsoncpp/json/json.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <istream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace consort::linux_port::json {

using Value = Json::Value;

// A number, a truth, a text, or a range of these; a number that JSON does not have is null.
template <class T>
Value of(const T& value) {
    if constexpr (std::same_as<T, Value> || std::same_as<T, bool>) {
        return value;
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
        const std::string_view text = value;
        return {text.data(), text.data() + text.size()};
    } else if constexpr (std::signed_integral<T>) {
        return static_cast<Json::Int64>(value);
    } else if constexpr (std::unsigned_integral<T>) {
        return static_cast<Json::UInt64>(value);
    } else if constexpr (std::floating_point<T>) {
        return std::isfinite(value) ? Value(value) : Value();
    } else {
        Value elements(Json::arrayValue);
        for (const auto& each : value) {
            elements.append(of(each));
        }
        return elements;
    }
}

struct Member {
    template <class T>
    Member(std::string_view its_name, const T& its_value) : name(its_name), value(of(its_value)) {}

    std::string_view name;
    Value value;
};

inline Value object(std::initializer_list<Member> members = {}) {
    Value made(Json::objectValue);
    for (const Member& each : members) {
        *made.demand(each.name.data(), each.name.data() + each.name.size()) = each.value;
    }
    return made;
}
inline Value array() {
    return Json::arrayValue;
}

// On one line, or with each element on its own line, indented by as many spaces as it lies deep.
enum class Form : std::uint8_t { line, lines };

inline std::string written(const Value& value, Form form = Form::line) {
    Json::StreamWriterBuilder writer;
    writer["indentation"] = form == Form::line ? "" : " ";
    return Json::writeString(writer, value);
}

// Throws std::invalid_argument with `name`, the line and what is wrong there.
inline Value parsed(std::istream& text, const std::string& name) {
    Json::CharReaderBuilder reader;
    Json::CharReaderBuilder::strictMode(&reader.settings_);
    Value value;
    std::string wrong;
    try {
        if (Json::parseFromStream(reader, text, &value, &wrong)) {
            return value;
        }
    } catch (const Json::Exception& error) {  // of what is nested too deep
        wrong = error.what();
    }
    throw std::invalid_argument(name + ": " + wrong);
}
inline Value parsed(const std::string& text, const std::string& name) {
    std::istringstream stream(text);
    return parsed(stream, name);
}

}  // namespace consort::linux_port::json
