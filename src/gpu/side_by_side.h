// Several kernels in one, for dispatches that do not depend on each other: WebGPU lets a dispatch wait for the one before it, so
// small ones run faster together.
#pragma once

#include <string>
#include <vector>

namespace gpu {

// A kernel's expanded WGSL, without directives (`enable` and the like) and without the variable `params`: its fields are those of
// the struct Params, `groups` first, and its entry point is `main`.
//
// The result has one entry point `main`, whose workgroups are those of all kernels, one kernel after the other. What kernel i
// declares has job_prefix(i) before its name; its parameters are the member job_member(i) of the one variable `params`. All
// kernels must have the same workgroup size.
std::string side_by_side(const std::vector<std::string> & kernels);

std::string job_prefix(size_t i);  // "job0_"

}  // namespace gpu
