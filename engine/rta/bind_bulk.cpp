// SPDX-License-Identifier: Apache-2.0
//
// Python bindings: response times and verdicts of many task sets at once.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "bindings.hpp"
#include "rta/bulk.hpp"
#include "rta/lanes.hpp"

namespace nb = nanobind;

namespace consort::engine {

namespace {

// Of the first row.
TaskSet first_of(const Table& c, const Table& t, const Table& d, const std::optional<Table>& j,
                 const std::optional<Table>& b) {
    const auto same = [&](const Table& other, const char* what) {
        if (other.shape(0) != c.shape(0) || other.shape(1) != c.shape(1)) {
            throw std::invalid_argument(std::string(what) + " has another shape than c");
        }
        return other.data();
    };
    return {c.shape(1),
            c.data(),
            same(t, "t"),
            same(d, "d"),
            j ? same(*j, "jitter") : nullptr,
            b ? same(*b, "blocking") : nullptr};
}

template <class Value>
auto array(std::unique_ptr<Value[]> values, std::initializer_list<std::size_t> shape) {
    nb::capsule owner(values.get(), [](void* p) noexcept { delete[] static_cast<Value*>(p); });
    return nb::ndarray<nb::numpy, Value>(values.release(), shape, owner);
}

auto fp_responses(const Table& c, const Table& t, const Table& d, const std::optional<Table>& j,
                  const std::optional<Table>& b, bool preemptive) {
    const std::size_t sets = c.shape(0);
    const TaskSet first = first_of(c, t, d, j, b);
    auto out = std::make_unique<Time[]>(sets * first.n);
    {
        const nb::gil_scoped_release free;
        responses(sets, first, preemptive, out.get());
    }
    return array(std::move(out), {sets, first.n});
}

nb::list names_of_units() {
    nb::list names;
    for (const VectorUnit& unit : vector_units()) {
        names.append(unit.name);
    }
    return names;
}

std::optional<VectorUnit> unit_of(const std::optional<std::string>& name) {
    if (name == "none") {
        return std::nullopt;
    }
    for (const VectorUnit& unit : vector_units()) {
        if (!name || *name == unit.name) {
            return unit;
        }
    }
    if (name) {
        throw std::invalid_argument("this processor has no vector unit '" + *name + "'");
    }
    return std::nullopt;
}

auto fp_schedulable(const Table& c, const Table& t, const Table& d, const std::optional<Table>& j,
                    const std::optional<Table>& b, bool preemptive, const std::optional<std::string>& unit) {
    const std::size_t sets = c.shape(0);
    const TaskSet first = first_of(c, t, d, j, b);
    const std::optional<VectorUnit> chosen = unit_of(unit);
    auto out = std::make_unique<bool[]>(sets);
    {
        const nb::gil_scoped_release free;
        schedulable(sets, first, preemptive, chosen ? &*chosen : nullptr, out.get());
    }
    return array(std::move(out), {sets});
}

auto edf_schedulable_of(const Table& c, const Table& t, const Table& d, const std::optional<Table>& j,
                        const std::optional<Table>& b, bool preemptive) {
    const std::size_t sets = c.shape(0);
    const TaskSet first = first_of(c, t, d, j, b);
    auto out = std::make_unique<bool[]>(sets);
    {
        const nb::gil_scoped_release free;
        edf_schedulable(sets, first, preemptive, out.get());
    }
    return array(std::move(out), {sets});
}

}  // namespace

void bind_bulk(nb::module_& module) {
    module.def("fp_responses", &fp_responses, nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("d"),
               nb::arg("jitter").none() = nb::none(), nb::arg("blocking").none() = nb::none(),
               nb::arg("preemptive") = true,
               "Response times of many task sets (rows), -1 where one exceeds its deadline.");
    module.def("fp_schedulable", &fp_schedulable, nb::kw_only(), nb::arg("c"), nb::arg("t"), nb::arg("d"),
               nb::arg("jitter").none() = nb::none(), nb::arg("blocking").none() = nb::none(),
               nb::arg("preemptive") = true, nb::arg("unit").none() = nb::none(),
               "Whether every task of each set meets its deadline. `unit`: one of vector_units() or 'none'; "
               "without it the widest.");
    module.def("vector_units", &names_of_units,
               "The vector units of this processor that fp_schedulable is written for, the widest first.");
    module.def("edf_schedulable", &edf_schedulable_of, nb::kw_only(), nb::arg("c"), nb::arg("t"),
               nb::arg("d"), nb::arg("jitter").none() = nb::none(), nb::arg("blocking").none() = nb::none(),
               nb::arg("preemptive") = true, "Whether EDF meets every deadline of each set.");
}

}  // namespace consort::engine
