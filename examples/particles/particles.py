# SPDX-License-Identifier: BSD-3-Clause
# Particles that fall, and bounce off the walls of a box. Usage: particles.py PARTICLES.npy
import sys

import numpy as np

Particle = np.dtype(
    [("mass", "f8"), ("pos", "f8", 2), ("vel", "f8", 2), ("id", "i4")],
    align=True,
)

particles = np.load(sys.argv[1]).astype(Particle)
mass = particles["mass"]
pos = particles["pos"]
vel = particles["vel"]
start = pos.copy()
bounces = np.zeros(len(particles), int)
dt = 0.01
for step in range(200):
    vel[:, 1] -= 9.81 * dt
    pos += vel * dt
    outside = (pos < 0) | (pos > 1)
    vel[outside] *= -0.9
    pos[...] = pos.clip(0, 1)
    bounces += outside.sum(1)

energy = 0.5 * mass * (vel**2).sum(1) + 9.81 * mass * pos[:, 1]
way = np.hypot(pos[:, 0] - start[:, 0], pos[:, 1] - start[:, 1])
left = pos[:, 0] < 0.5
first = particles["id"].argmin()
print("energy", energy.sum(), "highest", energy.max())
print("centre", (mass[:, None] * pos).sum(0) / mass.sum())
print("bounces", bounces.sum(), "at most", bounces.max())
print("the farthest way:", particles[way.argmax()])
print("number 0:", particles[first])
print("in the left half:", particles["id"][left])
print("their mass:", mass[left].sum(), "of", mass.sum())
