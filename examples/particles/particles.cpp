// SPDX-License-Identifier: BSD-3-Clause
// Particles that fall, and bounce off the walls of a box. Usage: particles PARTICLES.npy
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::all, qy::ellipsis, qy::newaxis;

struct Particle {
  double mass, pos[2], vel[2];
  int id;
};
QUARRY_RECORD(Particle, mass, pos, vel, id);

int main(int, char** argv) {
  const auto particles = qy::to_device(qy::load_npy<Particle>(argv[1]));
  const auto mass = particles.field<"mass">();
  const auto pos = particles.field<"pos">(), vel = particles.field<"vel">();
  const auto start = pos.copy();
  const auto bounces = qy::zeros<std::int64_t>({particles.len()});
  const double dt = 0.01;
  for (int step = 0; step < 200; ++step) {
    vel(all, 1) -= 9.81 * dt;
    pos += vel * dt;
    auto outside = qy::eval(pos < 0 || pos > 1);
    vel(outside) *= -0.9;
    pos(ellipsis) = pos.clip(0, 1);
    bounces += outside.sum(1);
  }

  auto energy = 0.5 * mass * qy::square(vel).sum(1) + 9.81 * mass * pos(all, 1);
  auto way = qy::hypot(pos(all, 0) - start(all, 0), pos(all, 1) - start(all, 1));
  auto left = pos(all, 0) < 0.5;
  auto first = particles.field<"id">().argmin().item();
  std::cout << "energy " << energy.sum() << " highest " << energy.max() << '\n';
  std::cout << "centre " << (mass(all, newaxis) * pos).sum(0) / mass.sum() << '\n';
  std::cout << "bounces " << bounces.sum() << " at most " << bounces.max() << '\n';
  std::cout << "the farthest way: " << particles(way.argmax().item()) << '\n';
  std::cout << "number 0: " << particles(first) << '\n';
  std::cout << "in the left half: " << particles.field<"id">()(left) << '\n';
  std::cout << "their mass: " << mass(left).sum() << " of " << mass.sum() << '\n';
}
