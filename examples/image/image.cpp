// SPDX-License-Identifier: BSD-3-Clause
// A photograph becomes grey and sharp, its edges white. Usage: image IMAGE.npy
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::_, qy::ellipsis, qy::range;

int main(int, char** argv) {
  const auto image = qy::to_device(qy::load_npy<std::uint8_t>(argv[1]));
  auto red = image(ellipsis, 0), green = image(ellipsis, 1), blue = image(ellipsis, 2);
  auto saturated = (image == 0).any(-1) || (image == 255).any(-1);
  std::cout << "mean of the colours " << image.mean({0, 1}) << '\n';
  std::cout << "saturated " << saturated.sum() << " darkest " << image.min({0, 1}) << '\n';

  auto grey = qy::eval((77. * red + 150. * green + 29. * blue) / 256);
  auto low = grey.min(), high = grey.max();
  grey = 255 * (grey - low) / (high - low);
  auto padded = qy::pad<qy::PadMode::edge>(grey, 1);
  auto blurred = qy::sliding_window_view(padded, {3, 3}).mean({2, 3});
  auto sharp = qy::eval(qy::clip(2 * grey - blurred, 0, 255));
  std::cout << "contrast " << grey.std() << " sharpened " << sharp.std() << '\n';

  const auto in = range(1, -1), before = range(_, -2), after = range(2, _);
  auto across = sharp(in, after) - sharp(in, before);
  auto down = sharp(after, in) - sharp(before, in);
  auto edges = qy::eval(qy::hypot(across, down) > 128);
  auto result = sharp.astype<std::uint8_t>();
  result(in, in)(edges) = 255;
  std::cout << "edges " << edges.sum() << " in each row " << edges.sum(1) << '\n';
  std::cout << "the first at " << qy::argwhere(edges)(0) << '\n';

  auto histogram = qy::bincount(result.ravel() >> 5, 8);
  std::cout << "histogram " << histogram << " most in " << histogram.argmax() << '\n';
  std::cout << "darkest row " << result.sum(1).argmin() << '\n';
  std::cout << "brightest column " << result.sum(0).argmax() << '\n';
  std::cout << qy::fliplr(result(range(_, _, 8), range(_, _, 8))) << '\n';
}
