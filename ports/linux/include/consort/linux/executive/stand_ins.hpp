// SPDX-License-Identifier: Apache-2.0
//
// The catalogue of a program that is made for no description.
#pragma once

#include <string>

#include "consort/linux/executive/catalogue.hpp"

namespace consort::linux_port {

// The stand-ins and channels of the plan image in a file; of no file none.
Catalogue stand_ins_of(const std::string& path);

}  // namespace consort::linux_port
