// The doctor looks who is most urgent and then removes whoever is on top by then, so a patient disappears untreated.
// harm: treat_next and WaitingRoom::queue_ (WaitingRoom::top, WaitingRoom::pop)
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
    void pop() {
        std::lock_guard<std::mutex> g(mu_);
        if (!queue_.empty())
            queue_.pop();
    }

private:
    mutable std::mutex mu_;
    std::priority_queue<Patient> queue_;
};

static bool treat_next(WaitingRoom &room, std::vector<int> &treated) {
    auto p = room.top();
    if (!p)
        return false;
    room.pop();
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
    return 0;
}
