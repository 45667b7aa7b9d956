// SPDX-License-Identifier: Apache-2.0
//
// consort._engine: the native half of the Python package.
#include <nanobind/nanobind.h>

#include <exception>
#include <system_error>

#include "bindings.hpp"

namespace nb = nanobind;

NB_MODULE(_engine, module) {
    module.doc() = "Consort's native code.";
    // `consort` ends without a last search for garbage: what lies in cycles then is none that leaks.
    nb::set_leak_warnings(false);
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const std::system_error& e) {
            PyErr_SetString(PyExc_OSError, e.what());
        }
    });
    consort::engine::bind_inspect(module);
    consort::engine::bind_rta(module);
    consort::engine::bind_spm(module);
    consort::engine::bind_sim(module);
}
