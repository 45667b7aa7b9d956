# SPDX-License-Identifier: Apache-2.0
# cmake -DCOMPILER=… -DINCLUDE=… -DSOURCE=… -P check.cmake
# The source must not compile, with the message that its `expect:` line names; with MENDED defined it must, so that nothing
# else is wrong with it.
file(STRINGS ${SOURCE} expected REGEX "^// expect: " LIMIT_COUNT 1)
if(NOT expected)
    message(FATAL_ERROR "${SOURCE} has no line '// expect: MESSAGE'")
endif()
string(REPLACE "// expect: " "" expected "${expected}")

set(command ${COMPILER} -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I${INCLUDE} ${SOURCE})
execute_process(COMMAND ${command} -DMENDED RESULT_VARIABLE failed ERROR_VARIABLE output)
if(failed)
    message(FATAL_ERROR "the mended source does not compile:\n${output}")
endif()

execute_process(COMMAND ${command} RESULT_VARIABLE failed ERROR_VARIABLE output)
if(NOT failed)
    message(FATAL_ERROR "the source compiles, but must be refused with: ${expected}")
endif()
string(FIND "${output}" "${expected}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "refused, but not with: ${expected}\n${output}")
endif()
