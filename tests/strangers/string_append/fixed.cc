// Both buffers are locked while one is appended to the other.
#include <cassert>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

class TextBuffer {
public:
    explicit TextBuffer(std::string s = {}) : text_(std::move(s)) {}

    std::size_t length() const {
        std::lock_guard<std::mutex> g(mu_);
        return text_.size();
    }

    std::string chars(std::size_t n) const {
        std::lock_guard<std::mutex> g(mu_);
        if (n > text_.size())
            throw std::out_of_range("TextBuffer::chars");
        return text_.substr(0, n);
    }

    void append(const TextBuffer &other) {
        std::scoped_lock both(mu_, other.mu_);
        text_ += other.text_;
    }

    void assign(const char *s) {
        std::lock_guard<std::mutex> g(mu_);
        text_ = s;
    }

private:
    mutable std::mutex mu_;
    std::string text_;
};

int main() {
    TextBuffer news("a rather long line of news");
    std::thread editor([&] {
        for (int i = 0; i < 40000; i++) {
            news.assign("");
            news.assign("a rather long line of news");
        }
    });
    std::thread reader([&] {
        for (int i = 0; i < 20000; i++) {
            TextBuffer page("> ");
            page.append(news);
            assert(page.length() == 2 || page.chars(3) == "> a");
        }
    });
    editor.join();
    reader.join();
    std::printf("length at the end %zu\n", news.length());
    return 0;
}
