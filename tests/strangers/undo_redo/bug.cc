// While an edit is moved from the undo to the redo stack, it is on neither, and a save at that time loses it.
// harm: Document::undo and undo_, redo_
#include <cassert>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

class Document {
    mutable std::mutex undo_mu_, redo_mu_;
    std::vector<int> undo_, redo_;

public:
    explicit Document(int edits) {
        for (int i = 0; i < edits; i++)
            undo_.push_back(i);
    }

    void undo() { shift(undo_mu_, undo_, redo_mu_, redo_); }
    void redo() { shift(redo_mu_, redo_, undo_mu_, undo_); }

    std::size_t edits_on_record() const {
        std::scoped_lock both(undo_mu_, redo_mu_);
        return undo_.size() + redo_.size();
    }

private:
    static void shift(std::mutex &from_mu, std::vector<int> &from, std::mutex &to_mu, std::vector<int> &to) {
        int edit;
        {
            std::lock_guard<std::mutex> g(from_mu);
            if (from.empty())
                return;
            edit = from.back();
            from.pop_back();
        }
        std::lock_guard<std::mutex> g(to_mu);
        to.push_back(edit);
    }
};

int main() {
    Document doc(20);
    int short_saves = 0;
    std::thread saver([&] {
        for (int i = 0; i < 10000; i++)
            short_saves += doc.edits_on_record() != 20;
    });
    std::thread editor([&] {
        for (int i = 0; i < 15000; i++) {
            doc.undo();
            doc.undo();
            doc.redo();
            doc.redo();
        }
    });
    saver.join();
    editor.join();
    std::printf("incomplete saves %d: %s\n", short_saves, short_saves ? "WRONG" : "ok");
    return 0;
}
