// SPDX-License-Identifier: Apache-2.0
// Nothing: cargo wants a target for a package that only names what to fetch.
