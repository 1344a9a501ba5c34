// Test and change are one compare-exchange.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <deque>
#include <thread>

enum class State { Pending, Done, Cancelled };

class Job {
public:
    bool complete() { return leave_pending(State::Done); }
    bool cancel() { return leave_pending(State::Cancelled); }
    State state() const { return state_.load(); }

private:
    bool leave_pending(State to) {
        State expected = State::Pending;
        return state_.compare_exchange_strong(expected, to);
    }

    std::atomic<State> state_{State::Pending};
};

int main() {
    constexpr int kJobs = 300000;
    std::deque<Job> jobs(kJobs);
    int completed = 0, cancelled = 0;
    std::atomic<int> here{0};
    auto meet = [&here] {
        here++;
        while (here < 2)
            std::this_thread::yield();
    };
    std::thread worker([&] {
        meet();
        for (Job &j : jobs)
            completed += j.complete();
    });
    std::thread user([&] {
        meet();
        for (Job &j : jobs)
            cancelled += j.cancel();
    });
    worker.join();
    user.join();
    std::printf("completed %d + cancelled %d of %d jobs: %s\n", completed, cancelled, kJobs,
                completed + cancelled == kJobs ? "ok" : "WRONG");
    assert(completed + cancelled == kJobs);
    return 0;
}
