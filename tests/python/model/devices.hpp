// SPDX-License-Identifier: Apache-2.0
// Named by data/devices.yaml; the tests of descriptions look only for the file.
#pragma once
