// SPDX-License-Identifier: Apache-2.0
//
// The scratchpad-centric kernel: three-phase tasks, one DMA shared in slots, an I/O core.
#pragma once

#include "consort/spm/application_core.hpp"
#include "consort/spm/dma.hpp"
#include "consort/spm/event.hpp"
#include "consort/spm/handover.hpp"
#include "consort/spm/io.hpp"
#include "consort/spm/io_core.hpp"
#include "consort/spm/message_box.hpp"
#include "consort/spm/planned.hpp"
#include "consort/spm/schedule.hpp"
#include "consort/spm/step.hpp"
#include "consort/spm/task.hpp"
