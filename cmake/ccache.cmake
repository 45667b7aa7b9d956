# SPDX-License-Identifier: Apache-2.0
# Compiles through ccache where it is installed: what was compiled once, in any build folder, is not compiled again.
# A compilation in one clone counts in another: paths below the clone are hashed relative to it, those of the
# environment .venv too, from which the engine includes. A launcher that the caller gives
# (CMAKE_CXX_COMPILER_LAUNCHER, empty for none) stays.
get_filename_component(CONSORT_CLONE "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
# CMake's unity files include sources by their absolute paths, which __FILE__ of each assertion would bring into the
# preprocessed text, and no other clone's would be the same.
string(APPEND CMAKE_CXX_FLAGS " \"-fmacro-prefix-map=${CONSORT_CLONE}=.\"")
find_program(CONSORT_CCACHE ccache)
mark_as_advanced(CONSORT_CCACHE)
if(CONSORT_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED ENV{CMAKE_CXX_COMPILER_LAUNCHER})
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CONSORT_CLONE} CCACHE_NOHASHDIR=1 ${CONSORT_CCACHE})
endif()
