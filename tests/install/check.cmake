# SPDX-License-Identifier: Apache-2.0
# cmake -DPROJECT=find_package|add_subdirectory -DSOURCE=… -DBUILD=… -DWORK=… -DCOMPILER=… -P check.cmake
# Builds and runs the project of that name from outside the tree, in WORK.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(failed)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command}: ${failed}\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(COPY ${CMAKE_CURRENT_LIST_DIR}/program.cpp ${CMAKE_CURRENT_LIST_DIR}/${PROJECT} DESTINATION ${WORK}/outside)
if(PROJECT STREQUAL "find_package")
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
    set(how -DCMAKE_PREFIX_PATH=${WORK}/prefix)
else()
    set(how -DCONSORT_SOURCE=${SOURCE})
endif()
# Neither of our own flags nor of our generator: what a user's first try does.
run(${CMAKE_COMMAND} -S ${WORK}/outside/${PROJECT} -B ${WORK}/build -DCMAKE_CXX_COMPILER=${COMPILER} ${how})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/outside)
if(PROJECT STREQUAL "find_package")
    # The package must not lean on the tree that it was installed from.
    file(GLOB_RECURSE installed ${WORK}/prefix/*.cmake)
    foreach(file ${installed})
        file(STRINGS ${file} leaks REGEX "${SOURCE}")
        if(leaks)
            message(FATAL_ERROR "${file} names the source tree: ${leaks}")
        endif()
    endforeach()
endif()
