// Two cars can both see the last free place and both drive in.
// harm: Garage::enter and cars_
#include <atomic>
#include <cassert>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

class Garage {
public:
    explicit Garage(int places) : places_(places) {}

    bool enter(const std::string &plate) {
        int now;
        if (cars_.load() >= places_)
            return false;
        long fee = tariff(plate);
        now = cars_.fetch_add(1) + 1;
        takings_.fetch_add(fee);
        if (now > places_)
            overfull_.fetch_add(1);
        return true;
    }

    void leave() { cars_.fetch_sub(1); }
    int overfull() const { return overfull_.load(); }
    long takings() const { return takings_.load(); }

private:
    static long tariff(const std::string &plate) {
        unsigned h = 17;
        for (char c : plate)
            h = h * 31 + static_cast<unsigned char>(c);
        return 3 + h % 5;
    }

    const int places_;
    std::atomic<int> cars_{0};
    std::atomic<int> overfull_{0};
    std::atomic<long> takings_{0};
};

int main() {
    Garage garage(1);
    std::vector<std::thread> lanes;
    for (int lane = 0; lane < 3; lane++)
        lanes.emplace_back([&garage, lane] {
            std::string plate = "XY-" + std::to_string(lane) + "-0815-long-plate";
            for (int i = 0; i < 200000; i++)
                if (garage.enter(plate))
                    garage.leave();
        });
    for (auto &l : lanes)
        l.join();
    std::printf("takings %ld, overfull %d times: %s\n", garage.takings(), garage.overfull(),
                garage.overfull() ? "WRONG" : "ok");
    return 0;
}
