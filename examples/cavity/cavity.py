# SPDX-License-Identifier: BSD-3-Clause
# Flow in a square cavity whose lid moves: the equations of Navier and Stokes for an incompressible
# fluid, by finite differences. Usage: cavity.py STEPS
import sys

import numpy as np

n, dt, viscosity = 41, 0.001, 0.1
d = 2 / (n - 1)
inner = np.s_[1:-1, 1:-1]
east, west = np.s_[1:-1, 2:], np.s_[1:-1, :-2]
north, south = np.s_[2:, 1:-1], np.s_[:-2, 1:-1]
u, v, p, b = (np.zeros((n, n)) for _ in range(4))


def move(w, un, vn, gradient):
    wn = w.copy()
    drift = un[inner] * (wn[inner] - wn[west]) + vn[inner] * (wn[inner] - wn[south])
    around = wn[east] + wn[west] + wn[north] + wn[south] - 4 * wn[inner]
    w[inner] = wn[inner] - dt / d * (drift + gradient / 2) + viscosity * dt / d**2 * around
    w[[0, -1]] = 0
    w[:, [0, -1]] = 0


def step():
    ux, uy = u[east] - u[west], u[north] - u[south]
    vx, vy = v[east] - v[west], v[north] - v[south]
    b[inner] = (ux + vy) / (2 * d * dt) - (ux * ux + 2 * uy * vx + vy * vy) / (4 * d * d)
    for _ in range(50):
        q = p.copy()
        p[inner] = (q[east] + q[west] + q[north] + q[south] - d * d * b[inner]) / 4
        p[:, -1] = p[:, -2]
        p[0] = p[1]
        p[:, 0] = p[:, 1]
        p[-1] = 0
    un, vn = u.copy(), v.copy()
    move(u, un, vn, p[east] - p[west])
    move(v, un, vn, p[north] - p[south])
    u[-1] = 1


for t in range(int(sys.argv[1])):
    step()
print("energy", (u * u + v * v).sum() / 2)
print("pressure from", p.min(), "to", p.max(), "at", p.argmax())
print("u in the middle", u[:, n // 2])
print("v in the middle", v[n // 2])
