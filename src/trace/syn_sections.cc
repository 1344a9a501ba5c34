#include "trace/syn_sections.h"

#include <cassert>
#include <new>

namespace syndrome::trace {

SectionWriter::SectionWriter(int level) : compresses_(level != 0), context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
}

void SectionWriter::add(Bytes raw, std::vector<std::byte>& payload) {
  if (!compresses_) return add_uncompressed(raw, payload);
  const std::size_t start = payload.size();
  payload.resize(start + 4 + ZSTD_compressBound(raw.size()));
  std::byte* const body = payload.data() + start + 4;
  const std::size_t packed =
      ZSTD_compress2(context_.get(), body, payload.size() - start - 4, raw.data(), raw.size());
  // Unpacking takes time, using the bytes where they are takes none: it has to save one in 64.
  if (ZSTD_isError(packed) || packed >= raw.size() - raw.size() / 64) {
    payload.resize(start);
    add_uncompressed(raw, payload);
    return;
  }
  store(payload.data() + start, 4, static_cast<std::uint32_t>(packed) | kCompressed);
  payload.resize(start + 4 + packed);
}

void SectionWriter::add_uncompressed(Bytes raw, std::vector<std::byte>& payload) {
  assert(raw.size() < kCompressed);
  const std::size_t start = payload.size();
  payload.resize(start + 4);
  store(payload.data() + start, 4, raw.size());
  payload.insert(payload.end(), raw.begin(), raw.end());
}

SectionReader::SectionReader() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

const std::byte* SectionReader::next(Bytes& payload, std::size_t size, std::byte* room) {
  if (payload.size() < 4) return nullptr;
  const auto length = static_cast<std::uint32_t>(load(payload.data(), 4));
  const std::size_t stored = length & ~kCompressed;
  if (stored > payload.size() - 4) return nullptr;
  const std::byte* const body = payload.data() + 4;
  payload = payload.subspan(4 + stored);
  if ((length & kCompressed) == 0) return stored == size ? body : nullptr;
  const std::size_t got = ZSTD_decompressDCtx(context_.get(), room, size, body, stored);
  return !ZSTD_isError(got) && got == size ? room : nullptr;
}

}  // namespace syndrome::trace
