// Items are only ever appended, so an index that was valid stays valid.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

template <class T>
class SafeList {
public:
    void push(T v) {
        std::scoped_lock l(m_);
        items_.push_back(std::move(v));
    }
    std::size_t size() const {
        std::scoped_lock l(m_);
        return items_.size();
    }
    T at(std::size_t i) const {
        std::scoped_lock l(m_);
        return items_.at(i);
    }

private:
    mutable std::mutex m_;
    std::vector<T> items_;
};

static int newest(const SafeList<int> &list) {
    std::size_t n = list.size();
    if (n == 0)
        return -1;
    return list.at(n - 1);
}

int main() {
    SafeList<int> list;
    long shown = 0;
    std::thread feeder([&] {
        for (int i = 0; i < 40000; i++) {
            list.push(i);
        }
    });
    std::thread viewer([&] {
        for (int i = 0; i < 40000; i++)
            if (newest(list) >= 0)
                shown++;
    });
    feeder.join();
    viewer.join();
    std::printf("shown %ld, left %zu\n", shown, list.size());
    assert(shown <= 40000);
    return 0;
}
