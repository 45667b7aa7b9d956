// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "consort/task/job.hpp"
#include "consort/task/miss_policy.hpp"
#include "consort/task/step.hpp"
#include "consort/task/values.hpp"
