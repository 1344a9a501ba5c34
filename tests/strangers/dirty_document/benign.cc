// The flag is cleared later, but only if the revision is still the one that was saved.
#include <atomic>
#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

class Document {
public:
    void edit(int word) {
        std::lock_guard<std::mutex> g(mu_);
        text_ = "word " + std::to_string(word);
        revision_++;
        dirty_ = true;
    }

    void autosave() {
        std::string copy;
        long saved_rev;
        {
            std::lock_guard<std::mutex> g(mu_);
            if (!dirty_)
                return;
            copy = text_;
            saved_rev = revision_;
        }
        disk_ = copy;
        std::lock_guard<std::mutex> g(mu_);
        if (revision_ == saved_rev)
            dirty_ = false;
    }

    bool lost_edit() {
        std::lock_guard<std::mutex> g(mu_);
        return !dirty_ && disk_ != text_;
    }

private:
    std::mutex mu_;
    std::string text_ = "empty";
    long revision_ = 0;
    bool dirty_ = false;
    std::string disk_ = "empty"; // touched by the autosave thread only
};

int main() {
    Document doc;
    std::atomic<bool> closing{false};
    int lost = 0;
    std::thread autosaver([&] {
        while (!closing) {
            doc.autosave();
            lost += doc.lost_edit();
        }
    });
    std::thread typist([&] {
        for (int i = 0; i < 150000; i++)
            doc.edit(i);
        closing = true;
    });
    autosaver.join();
    typist.join();
    doc.autosave();
    lost += doc.lost_edit();
    std::printf("edits not on disk while clean %d: %s\n", lost, lost ? "WRONG" : "ok");
    assert(lost == 0);
    return 0;
}
