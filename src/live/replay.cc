#include "live/replay.h"

#include <algorithm>
#include <span>
#include <vector>

#include "trace/capture_index.h"

namespace syndrome::live {
namespace {

struct Playing {
  std::size_t next_chunk = 0;
  std::vector<std::uint64_t> words;
  std::size_t at = 0;
};

}  // namespace

Status replay(const std::string& path, const WatchOptions& options, const std::string& output,
              std::size_t piece) {
  const Result<trace::CaptureIndex> index = trace::read_capture_index(path);
  if (!index) return index.error();
  auto loader = trace::WordLoader::open(path);
  if (!loader) return loader.error();
  Result<std::unique_ptr<record::Taker>> taker = watch(options, output);
  if (!taker) return taker.error();
  if (Status taken = (*taker)->meta(index->meta); !taken) return taken;
  std::vector<Playing> threads(index->threads.size());
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      Playing& playing = threads[i];
      const trace::CaptureIndex::Thread& thread = index->threads[i];
      if (playing.at == playing.words.size()) {
        if (playing.next_chunk == thread.chunks.size()) continue;
        playing.words.clear();
        playing.at = 0;
        if (Status loaded = loader->load(thread.chunks[playing.next_chunk++], playing.words);
            !loaded) {
          return loaded;
        }
      }
      const std::size_t count = std::min(piece, playing.words.size() - playing.at);
      const auto words = std::span(playing.words).subspan(playing.at, count);
      playing.at += count;
      any = true;
      if (Status taken = (*taker)->words(thread.number, words); !taken) return taken;
    }
    if (const Result<bool> round = (*taker)->end_of_round(); !round) return round.error();
  }
  const Result<std::uint64_t> closed = (*taker)->close(0);
  return closed ? Status() : Status(closed.error());
}

}  // namespace syndrome::live
