// SPDX-License-Identifier: Apache-2.0
//
// Any description of stand-ins, in virtual time.
#include "consort/linux/executive/stand_ins.hpp"

int main(int argc, char** argv) {
    namespace linux_port = consort::linux_port;
    return linux_port::executive(argc, argv, &linux_port::stand_ins_of, &linux_port::run_in_virtual_time);
}
