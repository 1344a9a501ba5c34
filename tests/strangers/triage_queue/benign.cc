// The look at the top only decides whether to hurry; the patient treated is the one that is taken out.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <vector>

struct Patient {
    int urgency;
    int number;
    bool operator<(const Patient &o) const { return urgency < o.urgency; }
};

class WaitingRoom {
public:
    void arrive(Patient p) {
        std::lock_guard<std::mutex> g(mu_);
        queue_.push(p);
    }
    std::optional<Patient> top() const {
        std::lock_guard<std::mutex> g(mu_);
        if (queue_.empty())
            return std::nullopt;
        return queue_.top();
    }
    std::optional<Patient> take() {
        std::lock_guard<std::mutex> g(mu_);
        if (queue_.empty())
            return std::nullopt;
        Patient p = queue_.top();
        queue_.pop();
        return p;
    }

private:
    mutable std::mutex mu_;
    std::priority_queue<Patient> queue_;
};

static bool treat_next(WaitingRoom &room, std::vector<int> &treated) {
    auto next = room.top();
    [[maybe_unused]] bool hurry = next && next->urgency > 5;
    auto p = room.take();
    if (!p)
        return false;
    treated[p->number]++;
    return true;
}

int main() {
    constexpr int kPatients = 120000;
    WaitingRoom room;
    std::vector<int> treated(kPatients, 0);
    std::thread reception([&] {
        for (int i = 0; i < kPatients; i++)
            room.arrive({i % 10, i});
    });
    std::thread doctor([&] {
        for (int i = 0; i < 2 * kPatients; i++)
            treat_next(room, treated);
    });
    reception.join();
    doctor.join();
    while (treat_next(room, treated))
        ;
    int off = 0;
    for (int n : treated)
        off += n != 1;
    std::printf("patients not treated exactly once %d: %s\n", off, off ? "WRONG" : "ok");
    assert(off == 0);
    return 0;
}
