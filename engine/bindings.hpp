// SPDX-License-Identifier: Apache-2.0
//
// The parts of consort._engine: each folder of engine/ binds its own.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "time.hpp"

namespace consort::engine {

// Times of Python, a row for each task set or task.
using Table = nanobind::ndarray<const Time, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// The value that a name from Python stands for; ValueError there with the known names where there is none.
template <class Enum>
Enum choose(const char* what, const std::string& name,
            std::initializer_list<std::pair<const char*, Enum>> choices) {
    std::string known;
    for (const auto& [text, value] : choices) {
        if (name == text) {
            return value;
        }
        known += (known.empty() ? "" : ", ") + std::string(text);
    }
    throw std::invalid_argument(std::string(what) + " '" + name + "' is not known; one of " + known);
}

void bind_inspect(nanobind::module_& module);
void bind_rta(nanobind::module_& module);
void bind_bulk(nanobind::module_& module);
void bind_spm(nanobind::module_& module);
void bind_sim(nanobind::module_& module);

}  // namespace consort::engine
