// Lease expiry is tested and the lease revoked in one section.
#include <cassert>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

struct Lease {
    long until = 0;
    bool revoked = false;
};

class LeaseTable {
public:
    void renew(int id, long until) {
        std::lock_guard<std::mutex> g(mu_);
        Lease &l = leases_[id];
        l.until = until;
        l.revoked = false;
    }

    void reap(long now) {
        std::lock_guard<std::mutex> g(mu_);
        for (auto &[id, l] : leases_)
            if (l.until < now && !l.revoked)
                revoke(l, now);
    }

    int wrongly_revoked() {
        std::lock_guard<std::mutex> g(mu_);
        return wrong_;
    }

private:
    void revoke(Lease &l, long now) {
        if (l.until >= now)
            wrong_++;
        l.revoked = true;
    }

    std::mutex mu_;
    std::map<int, Lease> leases_;
    int wrong_ = 0;
};

int main() {
    LeaseTable table;
    std::thread tenant([&] {
        for (int i = 0; i < 180000; i++) {
            table.renew(i % 4, i % 3 == 0 ? 0 : 100);
            table.renew((i + 1) % 4, 100);
        }
    });
    std::thread reaper([&] {
        for (int i = 0; i < 80000; i++)
            table.reap(50);
    });
    tenant.join();
    reaper.join();
    int n = table.wrongly_revoked();
    std::printf("valid leases revoked %d: %s\n", n, n ? "WRONG" : "ok");
    assert(n == 0);
    return 0;
}
