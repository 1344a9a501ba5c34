// Payload and checksum are stored in one section.
#include <array>
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>

using Payload = std::array<std::uint8_t, 16>;

static std::uint32_t sum_of(const Payload &p) {
    std::uint32_t s = 1;
    for (auto b : p)
        s = s * 65599 + b;
    return s;
}

class Frame {
public:
    Frame() { checksum_ = sum_of(payload_); }

    void write(const Payload &p) {
        std::unique_lock lock(mu_);
        payload_ = p;
        checksum_ = sum_of(payload_);
    }

    bool valid() const {
        std::unique_lock lock(mu_);
        return checksum_ == sum_of(payload_);
    }

private:
    mutable std::mutex mu_;
    Payload payload_{};
    std::uint32_t checksum_;
};

int main() {
    Frame frame;
    long broken = 0;
    std::thread camera([&] {
        Payload p{};
        for (int i = 0; i < 150000; i++) {
            p[i % p.size()] = static_cast<std::uint8_t>(i);
            frame.write(p);
        }
    });
    std::thread viewer([&] {
        for (int i = 0; i < 150000; i++)
            broken += !frame.valid();
    });
    camera.join();
    viewer.join();
    std::printf("broken frames %ld: %s\n", broken, broken ? "WRONG" : "ok");
    assert(broken == 0);
    return 0;
}
