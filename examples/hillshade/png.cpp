// SPDX-License-Identifier: BSD-3-Clause
#include "png.hpp"

#include <png.h>

#include <stdexcept>

namespace {

/// libpng's description of an image, released at the end of the scope.
class Image {
 public:
  Image(std::uint32_t width, std::uint32_t height) {
    image_.version = PNG_IMAGE_VERSION;
    image_.width = width;
    image_.height = height;
    image_.format = PNG_FORMAT_GRAY;
  }
  ~Image() { png_image_free(&image_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  bool write(const char* path, const void* pixels) {
    return png_image_write_to_file(&image_, path, 0, pixels, 0, nullptr) != 0;
  }
  const char* message() const { return image_.message; }

 private:
  png_image image_{};
};

}  // namespace

void write_png(const std::string& path, std::span<const std::uint8_t> pixels, std::uint32_t width,
               std::uint32_t height) {
  if (pixels.size() != std::size_t{width} * height)
    throw std::runtime_error("write_png: " + std::to_string(pixels.size()) + " pixels for " +
                             std::to_string(width) + " x " + std::to_string(height));
  Image image(width, height);
  if (!image.write(path.c_str(), pixels.data()))
    throw std::runtime_error("cannot write " + path + ": " + image.message());
}
