// SPDX-License-Identifier: Apache-2.0
//
// Compiled for bare cores, without a C++ library: a remote, and a stream.
#include "consort/rpmsg.hpp"

// Not unnamed: what has internal linkage would not be compiled.
namespace bare {

using Access = consort::access::SystemBarrier;
using Remote = consort::rpmsg::Remote<64, 2, Access>;

bool step(Remote& remote) {
    return remote.step([&](const consort::rpmsg::Message& message) {
        static_cast<void>(remote.try_send(message.endpoint, message.source, message.payload, message.bytes));
    });
}

}  // namespace bare

template class consort::rpmsg::Remote<64, 2, bare::Access>;
template class consort::rpmsg::Stream<256, 8, consort::access::Device>;
