// SPDX-License-Identifier: Apache-2.0
//
// Where what runs now lies, on a machine that others use, too: the same folders, by the same rules, as
// python/consort/runtime.py finds.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace consort::linux_port {

namespace runtime_detail {

inline std::string parent_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// A directory of this user's that nobody else can enter, write or replace; std::runtime_error says why not.
inline void check_private(const std::string& path) {
    struct stat found {};
    struct stat above {};
    if (::lstat(path.c_str(), &found) != 0 || ::stat(parent_of(path).c_str(), &above) != 0) {
        throw std::system_error(errno, std::generic_category(), path);
    }
    if (!S_ISDIR(found.st_mode)) {
        throw std::runtime_error(path + " is not a folder but a " +
                                 (S_ISLNK(found.st_mode) ? "link" : "file"));
    }
    if (found.st_uid != ::getuid()) {
        throw std::runtime_error(path + " belongs to another user");
    }
    if ((found.st_mode & 077U) != 0) {
        throw std::runtime_error(path + " is open to other users; chmod 700 " + path);
    }
    const bool others_write = (above.st_mode & 022U) != 0 && (above.st_mode & S_ISVTX) == 0;
    if ((above.st_uid != 0 && above.st_uid != ::getuid()) || others_write) {
        throw std::runtime_error(parent_of(path) + " lets other users replace what is in it");
    }
}

inline void make_private(const std::string& path) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
        throw std::system_error(errno, std::generic_category(), "mkdir " + path);
    }
    check_private(path);
}

}  // namespace runtime_detail

// This user's own folder for `purpose`, made where it is not there: $XDG_RUNTIME_DIR/consort/PURPOSE, without
// that variable /tmp/consort-UID/PURPOSE. Throws std::runtime_error (std::system_error where the system gave
// a reason) where another user could have prepared it: a link, another's, open to others, or replaceable.
inline std::string runtime_folder(const std::string& purpose) {
    const char* given = std::getenv("XDG_RUNTIME_DIR");
    std::string top;
    if (given != nullptr && *given != '\0') {
        std::string base = given;
        if (base.front() != '/') {
            throw std::runtime_error("XDG_RUNTIME_DIR is not an absolute path: " + base);
        }
        while (base.size() > 1 && base.back() == '/') {
            base.pop_back();
        }
        runtime_detail::check_private(base);
        top = base + "/consort";
    } else {
        top = "/tmp/consort-" + std::to_string(::getuid());
    }
    runtime_detail::make_private(top);
    runtime_detail::make_private(top + "/" + purpose);
    return top + "/" + purpose;
}

// Throws std::runtime_error unless the process at the other end of a connected Unix socket is this user's.
inline void expect_own_peer(int socket) {
    struct ucred peer {};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        throw std::system_error(errno, std::generic_category(), "SO_PEERCRED");
    }
    if (peer.uid != ::getuid()) {
        throw std::runtime_error("the socket is another user's (uid " + std::to_string(peer.uid) + ")");
    }
}

}  // namespace consort::linux_port
