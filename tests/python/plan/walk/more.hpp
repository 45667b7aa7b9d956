// SPDX-License-Identifier: Apache-2.0
// Named by the descriptions here, of which only plans are made.
#pragma once
