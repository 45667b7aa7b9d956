// SPDX-License-Identifier: Apache-2.0
//
// Any description of stand-ins, on this machine.
#include "consort/linux/executive/stand_ins.hpp"

int main(int argc, char** argv) {
    namespace linux_port = consort::linux_port;
    return linux_port::executive(argc, argv, &linux_port::stand_ins_of, &linux_port::run_on_this_machine);
}
