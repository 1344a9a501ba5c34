// The test and the opening are done under one lock.
#include <barrier>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <thread>

static std::mutex stat_mu;
static int streams_open;

static std::FILE *open_stream() {
    std::FILE *f = std::fopen("/dev/null", "w");
    std::lock_guard<std::mutex> g(stat_mu);
    streams_open++;
    return f;
}

static void close_stream(std::FILE *f) {
    std::fclose(f);
    std::lock_guard<std::mutex> g(stat_mu);
    streams_open--;
}

class Report {
    std::mutex mu_;
    std::FILE *out_ = nullptr;

    bool is_open() {
        std::lock_guard<std::mutex> g(mu_);
        return out_ != nullptr;
    }

public:
    void ensure_open() {
        std::lock_guard<std::mutex> g(mu_);
        if (out_ == nullptr)
            out_ = open_stream();
    }

    void line(const char *text) {
        ensure_open();
        std::lock_guard<std::mutex> g(mu_);
        std::fputs(text, out_);
    }

    void finish() {
        std::lock_guard<std::mutex> g(mu_);
        if (out_)
            close_stream(out_);
        out_ = nullptr;
    }

    bool opened() { return is_open(); }
};

int main() {
    Report report;
    std::barrier round(2);
    auto writer = [&](int id) {
        for (int i = 0; i < 1500; i++) {
            round.arrive_and_wait();
            report.line("row\n");
            round.arrive_and_wait();
            if (id == 0)
                report.finish();
        }
    };
    std::thread a(writer, 0), b(writer, 1);
    a.join();
    b.join();
    std::printf("open at exit %d, streams left open %d: %s\n", report.opened(), streams_open, streams_open ? "WRONG" : "ok");
    assert(streams_open == 0);
    return 0;
}
