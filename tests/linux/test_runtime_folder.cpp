// SPDX-License-Identifier: Apache-2.0
//
// The runtime folder, where others have prepared it. tests/python/base tests the same rules in Python.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "consort/linux/runtime_folder.hpp"

namespace {

namespace fs = std::filesystem;
using consort::linux_port::runtime_folder;

class RuntimeFolder : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (fs::temp_directory_path() / "consort-runtime-XXXXXX").string();
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        base = name;
        ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", name.c_str(), 1), 0);
    }
    void TearDown() override {
        ::unsetenv("XDG_RUNTIME_DIR");
        fs::remove_all(base);
    }
    static std::string refusal() {
        try {
            runtime_folder("remote");
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }
    fs::path base;
};

TEST_F(RuntimeFolder, IsMadeForItsUserAlone) {
    const fs::path made = runtime_folder("remote");
    EXPECT_EQ(made, base / "consort" / "remote");
    EXPECT_EQ(fs::status(made).permissions(), fs::perms::owner_all);
    EXPECT_EQ(runtime_folder("remote"), made) << "found again";
}

TEST_F(RuntimeFolder, WithoutTheVariableLiesInTemporaryFiles) {
    ::unsetenv("XDG_RUNTIME_DIR");
    EXPECT_EQ(runtime_folder("remote"), "/tmp/consort-" + std::to_string(::getuid()) + "/remote");
}

TEST_F(RuntimeFolder, IsNoLink) {
    fs::create_directory(base / "elsewhere");
    fs::permissions(base / "elsewhere", fs::perms::owner_all);
    fs::create_directory_symlink(base / "elsewhere", base / "consort");
    EXPECT_NE(refusal().find("not a folder but a link"), std::string::npos) << refusal();
    fs::remove(base / "consort");
    runtime_folder("boards");
    fs::create_directory_symlink(base / "elsewhere", base / "consort" / "remote");
    EXPECT_NE(refusal().find("not a folder but a link"), std::string::npos) << refusal();
    EXPECT_TRUE(fs::is_empty(base / "elsewhere"));
}

TEST_F(RuntimeFolder, IsNoFile) {
    std::ofstream(base / "consort") << "";
    EXPECT_NE(refusal().find("not a folder but a file"), std::string::npos) << refusal();
}

TEST_F(RuntimeFolder, IsClosedToOthers) {
    runtime_folder("remote");
    for (const auto mode : {0770, 0701, 0777}) {
        for (const fs::path& folder : {base, base / "consort", base / "consort" / "remote"}) {
            ASSERT_EQ(::chmod(folder.c_str(), static_cast<mode_t>(mode)), 0);
            EXPECT_NE(refusal().find("open to other users"), std::string::npos) << folder << refusal();
            ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
        }
    }
    EXPECT_EQ(refusal(), "");
}

TEST_F(RuntimeFolder, IsItsUsersOwn) {
    if (::geteuid() != 0) {
        GTEST_SKIP() << "gives folders to another user: run as root";
    }
    runtime_folder("remote");
    for (const fs::path& folder : {base, base / "consort", base / "consort" / "remote"}) {
        ASSERT_EQ(::chown(folder.c_str(), 65534, 65534), 0);
        EXPECT_NE(refusal().find("another user"), std::string::npos) << folder << refusal();
        ASSERT_EQ(::chown(folder.c_str(), 0, 0), 0);
    }
}

TEST_F(RuntimeFolder, CannotBeReplaced) {
    const fs::path parent = base / "parent";
    fs::create_directory(parent);
    fs::create_directory(parent / "runtime");
    ASSERT_EQ(::chmod((parent / "runtime").c_str(), 0700), 0);
    ASSERT_EQ(::setenv("XDG_RUNTIME_DIR", (parent / "runtime/").c_str(), 1), 0);
    ASSERT_EQ(::chmod(parent.c_str(), 0777), 0);
    EXPECT_NE(refusal().find("lets other users replace"), std::string::npos) << refusal();
    ASSERT_EQ(::chmod(parent.c_str(), 01777), 0);
    EXPECT_EQ(refusal(), "");
}

TEST_F(RuntimeFolder, IsAbsolute) {
    ::setenv("XDG_RUNTIME_DIR", "relative", 1);
    EXPECT_NE(refusal().find("not an absolute path"), std::string::npos);
    ::setenv("XDG_RUNTIME_DIR", "/nonexistent/runtime", 1);
    EXPECT_NE(refusal(), "");
}

}  // namespace
