// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/source_headers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quarry::backend::cuda {
namespace {

TEST(cuda_source_headers, are_no_files) {
  for (const char* const text :
       {"", "__global__ void f() {}", "#include <quarry/device_view.cuh>\n",
        "  #\tinclude \"quarry/device_view.cuh\"\nint x;\n",
        "#include <quarry/kernels/math.hpp>\n#include<quarry/kernels/types.hpp>",
        "# \\\n include \\\n <quarry/device_view.cuh>\n", "int embedded, embed; // embed"}) {
    EXPECT_FALSE(may_read_files(text)) << text;
  }
}

TEST(cuda_source_headers, are_told_from_files) {
  for (const char* const text :
       {"#include <cstdint>\n", "#include \"mine.cuh\"\n", "#include <quarry/quarry.hpp>\n",
        "#include \"./quarry/device_view.cuh\"\n", "#include \"../quarry/device_view.cuh\"\n",
        "#define NAME <cstdint>\n#include NAME\n", "#include_next <quarry/device_view.cuh>\n",
        "%:include <quarry/device_view.cuh>\n", "#if __has_include(<quarry/device_view.cuh>)\n",
        "#include <quarry/device_view.cuh>\n#include \"mine.cuh\"\n", "#inc\\\nlude \"mine.cuh\"\n",
        "#inc\\ \t\r\nlude \"mine.cuh\"\n", "// #include \"mine.cuh\"\n", "#include <quarry/devi",
        "#include", "/**/ #include <quarry/device_view.cuh>\n", "# embed \"file\"\n",
        "#embed <file>\n", "%:embed <file>\n"}) {
    EXPECT_TRUE(may_read_files(text)) << text;
  }
}

TEST(cuda_source_headers, have_names_and_texts) {
  bool has_view = false;
  for (const EmbeddedHeader& header : source_headers()) {
    EXPECT_TRUE(std::string(header.name).starts_with("quarry/")) << header.name;
    EXPECT_FALSE(std::string(header.text).empty()) << header.name;
    has_view = has_view || std::string(header.name) == "quarry/device_view.cuh";
  }
  EXPECT_TRUE(has_view);
  EXPECT_EQ(source_headers_digest().size(), 32u);
}

}  // namespace
}  // namespace quarry::backend::cuda
