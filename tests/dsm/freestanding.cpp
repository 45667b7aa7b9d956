// SPDX-License-Identifier: Apache-2.0
//
// Compiled for bare cores, without a C++ library: both sides of a shared region.
#include "consort/dsm.hpp"
#include "consort/link.hpp"

// Not unnamed: what has internal linkage would not be compiled.
namespace bare {

using Access = consort::access::SystemBarrier;
using Queue = consort::link::Host<16, Access>;

}  // namespace bare

template class consort::dsm::Host<bare::Queue, bare::Access>;
template class consort::dsm::Peer<bare::Access>;
