// SPDX-License-Identifier: Apache-2.0
//
// A file that holds a plan image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <ios>
#include <stdexcept>
#include <string>
#include <vector>

#include "consort/app/plan.hpp"

namespace consort::linux_port {

class PlanFile {
  public:
    // `program`: what this program is known by; 0: it is of any. Throws std::invalid_argument where the file
    // is not a plan image for it.
    PlanFile(const std::string& path, std::uint64_t program) {
        std::ifstream file(path, std::ios::binary | std::ios::ate);
        const std::streamoff bytes = file ? static_cast<std::streamoff>(file.tellg()) : -1;
        if (bytes >= 0) {
            words_.resize((static_cast<std::size_t>(bytes) + 7) / 8);
            file.seekg(0).read(reinterpret_cast<char*>(words_.data()), bytes);
        }
        if (!file || bytes < 0) {
            throw std::invalid_argument("image: " + path + ": cannot be read");
        }
        const auto refused = app::plan::Image::open(reinterpret_cast<const std::byte*>(words_.data()),
                                                    static_cast<std::size_t>(bytes), program, image_);
        if (refused != app::plan::Refused::no) {
            throw std::invalid_argument("image: " + path + ": " + app::plan::to_string(refused));
        }
    }
    // It lies in this.
    [[nodiscard]] const app::plan::Image& image() const { return image_; }

  private:
    std::vector<std::uint64_t> words_;  // in the right alignment
    app::plan::Image image_;
};

}  // namespace consort::linux_port
