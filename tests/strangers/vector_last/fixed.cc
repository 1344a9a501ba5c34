// The list offers an operation that fetches the last element under one lock.
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
    void drop_last() {
        std::scoped_lock l(m_);
        if (!items_.empty())
            items_.pop_back();
    }
    std::size_t size() const {
        std::scoped_lock l(m_);
        return items_.size();
    }
    std::optional<T> last() const {
        std::scoped_lock l(m_);
        if (items_.empty())
            return std::nullopt;
        return items_.back();
    }

private:
    mutable std::mutex m_;
    std::vector<T> items_;
};

static int newest(const SafeList<int> &list) {
    return list.last().value_or(-1);
}

int main() {
    SafeList<int> list;
    long shown = 0;
    std::thread feeder([&] {
        for (int i = 0; i < 40000; i++) {
            list.push(i);
            list.drop_last();
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
