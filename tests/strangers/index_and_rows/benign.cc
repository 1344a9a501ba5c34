// The index entry goes first and the row afterwards, so an id found in the index always has a row.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

class UserTable {
public:
    void insert(int id, const std::string &name) {
        std::lock_guard<std::mutex> g(mu_);
        rows_[id] = name + "@example.org";
        by_name_[name] = id;
    }

    void remove(int id, const std::string &name) {
        erase_index(name);
        erase_row(id);
    }

    std::optional<std::string> mail_of(const std::string &name) const {
        std::lock_guard<std::mutex> g(mu_);
        auto it = by_name_.find(name);
        if (it == by_name_.end())
            return std::nullopt;
        return rows_.at(it->second); // every indexed id has a row
    }

private:
    void erase_row(int id) {
        std::lock_guard<std::mutex> g(mu_);
        rows_.erase(id);
    }
    void erase_index(const std::string &name) {
        std::lock_guard<std::mutex> g(mu_);
        by_name_.erase(name);
    }

    mutable std::mutex mu_;
    std::unordered_map<int, std::string> rows_;
    std::unordered_map<std::string, int> by_name_;
};

int main() {
    UserTable users;
    long found = 0;
    std::thread admin([&] {
        for (int i = 0; i < 40000; i++) {
            users.insert(i, "guest");
            users.remove(i, "guest");
        }
    });
    std::thread mailer([&] {
        for (int i = 0; i < 40000; i++)
            found += users.mail_of("guest").has_value();
    });
    admin.join();
    mailer.join();
    std::printf("found %ld\n", found);
    assert(!users.mail_of("guest"));
    return 0;
}
