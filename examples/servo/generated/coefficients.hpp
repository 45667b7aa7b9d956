// SPDX-License-Identifier: Apache-2.0
// Written by design.py from controller.yaml: change those, not this.
#pragma once

#include <cstdint>

namespace servo::coefficients {

inline constexpr int harmonics = 20;
inline constexpr double sample_period = 5e-05;  // s

// A coefficient in fixed point: mantissa / 2^shift, the mantissa's magnitude in [2^30, 2^31).
struct Scaled {
    std::int32_t mantissa;
    int shift;
};

// States are fractions of their full scale; error in rad, command in N m.
struct F32 {
    static constexpr float proportional = 0x1.65e70a0000000p+9F;
    static constexpr float derivative = 0x1.1a856e0000000p+14F;
    static constexpr float filter = 0x1.92e9a00000000p-2F;
    static constexpr float integrator_output = 0x1.1a87d60000000p+1F;
    static constexpr float integrator_input = 0x1.f5a85e0000000p-5F;
    static constexpr float command_limit = 0x1.4000000000000p+3F;
    static constexpr float output_1[harmonics] = {
        0x1.d9b8ba0000000p+3F,
        0x1.0e3df80000000p+1F,
        0x1.e466da0000000p+2F,
        0x1.5304260000000p+0F,
        0x1.79ec8c0000000p+0F,
        0x1.49064e0000000p-3F,
        0x1.566c3c0000000p-1F,
        0x1.1d63e40000000p-4F,
        0x1.560cb80000000p-3F,
        0x1.8ef8260000000p-7F,
        -0x1.499e140000000p-6F,
        -0x1.5899460000000p-6F,
        -0x1.5831e80000000p-4F,
        -0x1.64a4620000000p-5F,
        -0x1.89676a0000000p-4F,
        -0x1.cb0c5c0000000p-5F,
        -0x1.5ef1a00000000p-4F,
        -0x1.d55b020000000p-5F,
        -0x1.e642000000000p-5F,
        -0x1.c6fa8c0000000p-6F};
    static constexpr float output_2[harmonics] = {
        0x1.35e9740000000p+0F,
        0x1.1940da0000000p-1F,
        0x1.a995d40000000p+1F,
        0x1.b6d2b40000000p-1F,
        0x1.57e8f60000000p+0F,
        0x1.a1e9c80000000p-3F,
        0x1.3681360000000p+0F,
        0x1.88e2740000000p-3F,
        0x1.9bad140000000p-1F,
        0x1.46babe0000000p-3F,
        0x1.1d1f9e0000000p-1F,
        0x1.44d6480000000p-3F,
        0x1.90dac80000000p-2F,
        0x1.3b50d20000000p-3F,
        0x1.245dc40000000p-2F,
        0x1.32ed6a0000000p-3F,
        0x1.bfbbd20000000p-3F,
        0x1.31f36a0000000p-3F,
        0x1.6df94c0000000p-3F,
        0x1.42b48c0000000p-3F};
    static constexpr float input[harmonics] = {
        0x1.eb41560000000p-7F,
        0x1.9f21280000000p-4F,
        0x1.b7a4020000000p-6F,
        0x1.22d0680000000p-3F,
        0x1.d410ee0000000p-4F,
        0x1.cef9bc0000000p-1F,
        0x1.6a42340000000p-3F,
        0x1.4521000000000p+0F,
        0x1.5aa60c0000000p-2F,
        0x1.e2b9480000000p+0F,
        0x1.2fa8540000000p-1F,
        0x1.2389300000000p+1F,
        0x1.01f64a0000000p+0F,
        0x1.65f8cc0000000p+1F,
        0x1.a5cbdc0000000p+0F,
        0x1.b7e3000000000p+1F,
        0x1.4b54700000000p+1F,
        0x1.0be3da0000000p+2F,
        0x1.f325600000000p+1F,
        0x1.3d1d400000000p+2F};
    static constexpr float eps[harmonics] = {
        0x1.9bc6580000000p-10F,
        0x1.9bc6500000000p-9F,
        0x1.34d4b20000000p-8F,
        0x1.9bc6300000000p-8F,
        0x1.015bce0000000p-7F,
        0x1.34d47a0000000p-7F,
        0x1.684d1a0000000p-7F,
        0x1.9bc5aa0000000p-7F,
        0x1.cf3e2a0000000p-7F,
        0x1.015b4c0000000p-6F,
        0x1.1b17780000000p-6F,
        0x1.34d3980000000p-6F,
        0x1.4e8fae0000000p-6F,
        0x1.684bb40000000p-6F,
        0x1.8207ac0000000p-6F,
        0x1.9bc3960000000p-6F,
        0x1.b57f6e0000000p-6F,
        0x1.cf3b340000000p-6F,
        0x1.e8f6e80000000p-6F,
        0x1.0159440000000p-5F};
};

struct F64 {
    static constexpr double proportional = 0x1.65e70a83e11c7p+9;
    static constexpr double derivative = 0x1.1a856dbe9ca40p+14;
    static constexpr double filter = 0x1.92e9a0720d3ecp-2;
    static constexpr double integrator_output = 0x1.1a87d5a43d8a6p+1;
    static constexpr double integrator_input = 0x1.f5a85efdcbfa0p-5;
    static constexpr double command_limit = 0x1.4000000000000p+3;
    static constexpr double output_1[harmonics] = {
        0x1.d9b8bad56650ep+3,
        0x1.0e3df77fefd60p+1,
        0x1.e466d9a488e6fp+2,
        0x1.53042544dc66fp+0,
        0x1.79ec8b6c7c2a5p+0,
        0x1.49064ded0b481p-3,
        0x1.566c3c89350f2p-1,
        0x1.1d63e3d8e8d88p-4,
        0x1.560cb85847115p-3,
        0x1.8ef826dd8e8aap-7,
        -0x1.499e14f53f9a6p-6,
        -0x1.589945e24b016p-6,
        -0x1.5831e8815f456p-4,
        -0x1.64a46178d92e1p-5,
        -0x1.89676981ba650p-4,
        -0x1.cb0c5bd0a4175p-5,
        -0x1.5ef19ffa416d5p-4,
        -0x1.d55b025b4ca7dp-5,
        -0x1.e642002790434p-5,
        -0x1.c6fa8c3821dc9p-6};
    static constexpr double output_2[harmonics] = {
        0x1.35e973ac6b03cp+0,
        0x1.1940dab7d27d5p-1,
        0x1.a995d3a7d7ff8p+1,
        0x1.b6d2b445eaec5p-1,
        0x1.57e8f68f19060p+0,
        0x1.a1e9c84514253p-3,
        0x1.368136db70b61p+0,
        0x1.88e273327ec99p-3,
        0x1.9bad141be7e57p-1,
        0x1.46babdee6a259p-3,
        0x1.1d1f9d82ca0b0p-1,
        0x1.44d647c40d91ap-3,
        0x1.90dac81966884p-2,
        0x1.3b50d27ca1f22p-3,
        0x1.245dc496621dep-2,
        0x1.32ed69410fda1p-3,
        0x1.bfbbd20529a2cp-3,
        0x1.31f36a7a34171p-3,
        0x1.6df94be3d1d71p-3,
        0x1.42b48cba5f107p-3};
    static constexpr double input[harmonics] = {
        0x1.eb4155ab021c3p-7,
        0x1.9f2128918b5e9p-4,
        0x1.b7a40154752cep-6,
        0x1.22d0679685905p-3,
        0x1.d410eeaabba45p-4,
        0x1.cef9bbceef112p-1,
        0x1.6a42337149c92p-3,
        0x1.452100264984ap+0,
        0x1.5aa60b707ccb2p-2,
        0x1.e2b948ea98956p+0,
        0x1.2fa853f7a6405p-1,
        0x1.23893049f15d7p+1,
        0x1.01f64986c2cc2p+0,
        0x1.65f8cc2fe9346p+1,
        0x1.a5cbdbf633697p+0,
        0x1.b7e300aec5b3fp+1,
        0x1.4b546f4ce1650p+1,
        0x1.0be3d914b83d6p+2,
        0x1.f3255fc217055p+1,
        0x1.3d1d402897334p+2};
    static constexpr double eps[harmonics] = {
        0x1.9bc658a27862fp-10,
        0x1.9bc6504fbc486p-9,
        0x1.34d4b1d462402p-8,
        0x1.9bc62f04cce08p-8,
        0x1.015bcdc7e07d3p-7,
        0x1.34d479a5f117ap-7,
        0x1.684d1907ea7bfp-7,
        0x1.9bc5a9d91f679p-7,
        0x1.cf3e2a04e32f0p-7,
        0x1.015b4bbb44e96p-6,
        0x1.1b17780cb40aap-6,
        0x1.34d398ec69c80p-6,
        0x1.4e8fad5011650p-6,
        0x1.684bb42d56a61p-6,
        0x1.8207ac79e5db9p-6,
        0x1.9bc3952b6beccp-6,
        0x1.b57f6d3796627p-6,
        0x1.cf3b339413718p-6,
        0x1.e8f6e73692062p-6,
        0x1.0159438a60e6fp-5};
};

// The same in fixed point: error and command are fractions of their full scales too.
struct Q31 {
    static constexpr Scaled proportional{1200921524, 25};
    static constexpr Scaled derivative{1895967718, 21};
    static constexpr Scaled filter{1689937949, 32};
    static constexpr Scaled integrator_output{1896030786, 33};
    static constexpr Scaled integrator_input{2104104895, 36};
    static constexpr Scaled output_1[harmonics] = {
        {1589545924, 30},
        {1813563750, 33},
        {1625382587, 31},
        {1137549582, 33},
        {1268102524, 33},
        {1104023446, 36},
        {1148980251, 34},
        {1915221181, 38},
        {1147728299, 36},
        {1338718969, 40},
        {-1106012823, 39},
        {-1156281440, 39},
        {-1154926618, 37},
        {-1196692351, 38},
        {-1320044621, 37},
        {-1540310416, 38},
        {-1177572146, 37},
        {-1574895737, 38},
        {-1631610478, 38},
        {-1526655192, 39}};
    static constexpr Scaled output_2[harmonics] = {
        {2079783698, 34},
        {1887459197, 35},
        {1428027170, 32},
        {1472445864, 34},
        {1153970512, 33},
        {1402284046, 36},
        {2083762059, 34},
        {1318301860, 36},
        {1381355730, 34},
        {1096322147, 36},
        {1913431400, 35},
        {1089972212, 36},
        {1345044895, 35},
        {2116047922, 37},
        {1962036899, 36},
        {2059754829, 37},
        {1502344910, 36},
        {2053201354, 37},
        {1228004346, 36},
        {1082819212, 36}};
    static constexpr Scaled input[harmonics] = {
        {2060473707, 38},
        {1741179428, 35},
        {1843986517, 37},
        {1219762662, 34},
        {1963211691, 35},
        {1941860084, 32},
        {1519422684, 34},
        {1363689482, 31},
        {1453949660, 33},
        {2024690235, 31},
        {1273631998, 32},
        {1222790162, 30},
        {1081971298, 31},
        {1501442828, 30},
        {1769142014, 31},
        {1845018668, 30},
        {1389698003, 30},
        {1123612229, 29},
        {2093570033, 30},
        {1330073610, 29}};
    static constexpr Scaled eps[harmonics] = {
        {1727108649, 40},
        {1727108116, 39},
        {1295330421, 38},
        {1727105985, 38},
        {1079440242, 37},
        {1295326825, 37},
        {1511212610, 37},
        {1727097462, 37},
        {1942981249, 37},
        {1079431919, 36},
        {1187372547, 36},
        {1295312443, 36},
        {1403251540, 36},
        {1511189771, 36},
        {1619127070, 36},
        {1727063371, 36},
        {1834998606, 36},
        {1942932709, 36},
        {2050865614, 36},
        {1079398627, 35}};
    // Log2 of the full scale of an angle over that of the error.
    static constexpr int angle_shift = 3;
    // rad and N m that stand for 2^31.
    static constexpr double angle_full_scale = 4.0;
    static constexpr double command_full_scale = 10.0;
};

}  // namespace servo::coefficients
