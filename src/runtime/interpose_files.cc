// What the program hands to the system and gets from it: read, write, send, receive, stdio.
// What is handed over is read before the call, what comes back is written after it.

// No inline definitions from the headers: the real functions are defined here.
#ifndef __NO_INLINE__
#define __NO_INLINE__
#endif

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(read);
SYNDROME_REAL(pread);
SYNDROME_REAL(pread64);
SYNDROME_REAL(readv);
SYNDROME_REAL(preadv);
SYNDROME_REAL(write);
SYNDROME_REAL(pwrite);
SYNDROME_REAL(pwrite64);
SYNDROME_REAL(writev);
SYNDROME_REAL(pwritev);
SYNDROME_REAL(recv);
SYNDROME_REAL(recvfrom);
SYNDROME_REAL(recvmsg);
SYNDROME_REAL(send);
SYNDROME_REAL(sendto);
SYNDROME_REAL(sendmsg);
SYNDROME_REAL(pipe);
SYNDROME_REAL(pipe2);
SYNDROME_REAL(socketpair);
SYNDROME_REAL(poll);
SYNDROME_REAL(epoll_wait);
SYNDROME_REAL(stat);
SYNDROME_REAL(fstat);
SYNDROME_REAL(lstat);
SYNDROME_REAL(readlink);
SYNDROME_REAL(getcwd);
SYNDROME_REAL(clock_gettime);
SYNDROME_REAL(gettimeofday);
SYNDROME_REAL(fread);
SYNDROME_REAL(fwrite);
SYNDROME_REAL(fgets);
SYNDROME_REAL(fputs);
SYNDROME_REAL(puts);
SYNDROME_REAL(getline);
SYNDROME_REAL(getdelim);
SYNDROME_REAL(qsort);
SYNDROME_REAL(qsort_r);
SYNDROME_REAL_AS(__read_chk, ssize_t(int, void*, std::size_t, std::size_t));
SYNDROME_REAL_AS(__recv_chk, ssize_t(int, void*, std::size_t, std::size_t, int));
SYNDROME_REAL_AS(__fread_chk, std::size_t(void*, std::size_t, std::size_t, std::size_t, FILE*));
SYNDROME_REAL_AS(__fgets_chk, char*(char*, std::size_t, int, FILE*));

std::size_t text_bytes(const char* text) {
  const volatile char* at = text;
  while (*at != 0) ++at;
  return static_cast<std::size_t>(at - text) + 1;
}

// As many bytes as the call returns come into `to`.
template <typename Call>
auto filled(const void* to, Call call) {
  const auto result = call();
  if (result > 0 && recording()) write_range(to, static_cast<std::size_t>(result));
  return result;
}

// A whole object comes into `to` when the call returns 0.
template <typename Object, typename Call>
int filled_object(const Object* to, Call call, std::size_t count = 1) {
  const int result = call();
  if (result == 0 && to != nullptr && recording()) write_range(to, count * sizeof(Object));
  return result;
}

// A text comes into what the call returns, if anything.
template <typename Call>
char* filled_text(Call call) {
  char* const result = call();
  if (result != nullptr && recording()) write_range(result, text_bytes(result));
  return result;
}

template <typename Call>
auto given(const void* from, std::size_t bytes, Call call) {
  if (recording()) read_range(from, bytes);
  return call();
}

template <typename Call>
auto given_vector(const iovec* pieces, std::size_t count, Call call) {
  if (recording()) {
    read_range(pieces, count * sizeof *pieces);
    for (std::size_t i = 0; i < count; ++i) read_range(pieces[i].iov_base, pieces[i].iov_len);
  }
  return call();
}

template <typename Call>
auto filled_vector(const iovec* pieces, std::size_t count, Call call) {
  const auto result = call();
  if (result <= 0 || !recording()) return result;
  read_range(pieces, count * sizeof *pieces);
  auto left = static_cast<std::size_t>(result);
  for (std::size_t i = 0; i < count && left > 0; ++i) {
    const std::size_t bytes = left < pieces[i].iov_len ? left : pieces[i].iov_len;
    write_range(pieces[i].iov_base, bytes);
    left -= bytes;
  }
  return result;
}

// A negative count is the real function's to refuse.
std::size_t pieces_in(int count) {
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

template <typename Call>
std::size_t filled_items(const void* to, std::size_t bytes, Call call) {
  const std::size_t items = call();
  if (recording()) write_range(to, items * bytes);
  return items;
}

template <typename Call>
ssize_t filled_line(char** line, std::size_t* room, Call call) {
  const ssize_t length = call();
  if (length >= 0 && recording()) {
    write_range(line, sizeof *line);
    write_range(room, sizeof *room);
    write_range(*line, static_cast<std::size_t>(length) + 1);
  }
  return length;
}

template <typename Call>
void sorted(void* items, std::size_t count, std::size_t bytes, Call call) {
  if (recording()) {
    read_range(items, count * bytes);
    write_range(items, count * bytes);
  }
  call();
}

}  // namespace

SYNDROME_INTERPOSE ssize_t read(int file, void* to, std::size_t bytes) {
  return filled(to, [=] { return real_read(file, to, bytes); });
}
SYNDROME_INTERPOSE ssize_t pread(int file, void* to, std::size_t bytes, off_t offset) {
  return filled(to, [=] { return real_pread(file, to, bytes, offset); });
}
SYNDROME_INTERPOSE ssize_t pread64(int file, void* to, std::size_t bytes, off64_t offset) {
  return filled(to, [=] { return real_pread64(file, to, bytes, offset); });
}
SYNDROME_INTERPOSE ssize_t __read_chk(int file, void* to, std::size_t bytes, std::size_t room) {
  return filled(to, [=] { return real___read_chk(file, to, bytes, room); });
}
SYNDROME_INTERPOSE ssize_t readv(int file, const iovec* pieces, int count) {
  return filled_vector(pieces, pieces_in(count), [=] { return real_readv(file, pieces, count); });
}
SYNDROME_INTERPOSE ssize_t preadv(int file, const iovec* pieces, int count, off_t offset) {
  return filled_vector(pieces, pieces_in(count),
                       [=] { return real_preadv(file, pieces, count, offset); });
}
SYNDROME_INTERPOSE ssize_t write(int file, const void* from, std::size_t bytes) {
  return given(from, bytes, [=] { return real_write(file, from, bytes); });
}
SYNDROME_INTERPOSE ssize_t pwrite(int file, const void* from, std::size_t bytes, off_t offset) {
  return given(from, bytes, [=] { return real_pwrite(file, from, bytes, offset); });
}
SYNDROME_INTERPOSE ssize_t pwrite64(int file, const void* from, std::size_t bytes, off64_t offset) {
  return given(from, bytes, [=] { return real_pwrite64(file, from, bytes, offset); });
}
SYNDROME_INTERPOSE ssize_t writev(int file, const iovec* pieces, int count) {
  return given_vector(pieces, pieces_in(count), [=] { return real_writev(file, pieces, count); });
}
SYNDROME_INTERPOSE ssize_t pwritev(int file, const iovec* pieces, int count, off_t offset) {
  return given_vector(pieces, pieces_in(count),
                      [=] { return real_pwritev(file, pieces, count, offset); });
}

SYNDROME_INTERPOSE ssize_t recv(int socket, void* to, std::size_t bytes, int flags) {
  return filled(to, [=] { return real_recv(socket, to, bytes, flags); });
}
SYNDROME_INTERPOSE ssize_t __recv_chk(int socket, void* to, std::size_t bytes, std::size_t room,
                                      int flags) {
  return filled(to, [=] { return real___recv_chk(socket, to, bytes, room, flags); });
}
SYNDROME_INTERPOSE ssize_t recvfrom(int socket, void* to, std::size_t bytes, int flags,
                                    sockaddr* from, socklen_t* length) {
  return filled(to, [=] { return real_recvfrom(socket, to, bytes, flags, from, length); });
}
SYNDROME_INTERPOSE ssize_t recvmsg(int socket, msghdr* message, int flags) {
  return filled_vector(message->msg_iov, message->msg_iovlen,
                       [=] { return real_recvmsg(socket, message, flags); });
}
SYNDROME_INTERPOSE ssize_t send(int socket, const void* from, std::size_t bytes, int flags) {
  return given(from, bytes, [=] { return real_send(socket, from, bytes, flags); });
}
SYNDROME_INTERPOSE ssize_t sendto(int socket, const void* from, std::size_t bytes, int flags,
                                  const sockaddr* to, socklen_t length) {
  return given(from, bytes, [=] { return real_sendto(socket, from, bytes, flags, to, length); });
}
SYNDROME_INTERPOSE ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  return given_vector(message->msg_iov, message->msg_iovlen,
                      [=] { return real_sendmsg(socket, message, flags); });
}

SYNDROME_INTERPOSE int pipe(int* ends) noexcept {
  return filled_object(ends, [=] { return real_pipe(ends); }, 2);
}
SYNDROME_INTERPOSE int pipe2(int* ends, int flags) noexcept {
  return filled_object(ends, [=] { return real_pipe2(ends, flags); }, 2);
}
SYNDROME_INTERPOSE int socketpair(int domain, int type, int protocol, int* ends) noexcept {
  return filled_object(ends, [=] { return real_socketpair(domain, type, protocol, ends); }, 2);
}
SYNDROME_INTERPOSE int poll(pollfd* files, nfds_t count, int timeout) {
  const int result = real_poll(files, count, timeout);
  if (result >= 0 && recording()) write_range(files, count * sizeof *files);
  return result;
}
SYNDROME_INTERPOSE int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  const int count = real_epoll_wait(epoll, events, most, timeout);
  if (count > 0 && recording()) write_range(events, pieces_in(count) * sizeof *events);
  return count;
}
SYNDROME_INTERPOSE int stat(const char* path, struct stat* to) noexcept {
  return filled_object(to, [=] { return real_stat(path, to); });
}
SYNDROME_INTERPOSE int fstat(int file, struct stat* to) noexcept {
  return filled_object(to, [=] { return real_fstat(file, to); });
}
SYNDROME_INTERPOSE int lstat(const char* path, struct stat* to) noexcept {
  return filled_object(to, [=] { return real_lstat(path, to); });
}
SYNDROME_INTERPOSE ssize_t readlink(const char* path, char* to, std::size_t room) noexcept {
  return filled(to, [=] { return real_readlink(path, to, room); });
}
SYNDROME_INTERPOSE char* getcwd(char* to, std::size_t room) noexcept {
  return filled_text([=] { return real_getcwd(to, room); });
}
SYNDROME_INTERPOSE int clock_gettime(clockid_t clock, timespec* to) noexcept {
  return filled_object(to, [=] { return real_clock_gettime(clock, to); });
}
SYNDROME_INTERPOSE int gettimeofday(timeval* to, void* zone) noexcept {
  return filled_object(to, [=] { return real_gettimeofday(to, zone); });
}

SYNDROME_INTERPOSE std::size_t fread(void* to, std::size_t bytes, std::size_t count, FILE* file) {
  return filled_items(to, bytes, [=] { return real_fread(to, bytes, count, file); });
}
SYNDROME_INTERPOSE std::size_t __fread_chk(void* to, std::size_t room, std::size_t bytes,
                                           std::size_t count, FILE* file) {
  return filled_items(to, bytes, [=] { return real___fread_chk(to, room, bytes, count, file); });
}
SYNDROME_INTERPOSE std::size_t fwrite(const void* from, std::size_t bytes, std::size_t count,
                                      FILE* file) {
  return given(from, bytes * count, [=] { return real_fwrite(from, bytes, count, file); });
}
SYNDROME_INTERPOSE char* fgets(char* to, int room, FILE* file) {
  return filled_text([=] { return real_fgets(to, room, file); });
}
SYNDROME_INTERPOSE char* __fgets_chk(char* to, std::size_t known, int room, FILE* file) {
  return filled_text([=] { return real___fgets_chk(to, known, room, file); });
}
SYNDROME_INTERPOSE int fputs(const char* text, FILE* file) {
  return given(text, recording() ? text_bytes(text) : 0, [=] { return real_fputs(text, file); });
}
SYNDROME_INTERPOSE int puts(const char* text) {
  return given(text, recording() ? text_bytes(text) : 0, [=] { return real_puts(text); });
}
SYNDROME_INTERPOSE ssize_t getline(char** line, std::size_t* room, FILE* file) {
  return filled_line(line, room, [=] { return real_getline(line, room, file); });
}
SYNDROME_INTERPOSE ssize_t getdelim(char** line, std::size_t* room, int end, FILE* file) {
  return filled_line(line, room, [=] { return real_getdelim(line, room, end, file); });
}

// The comparisons are the program's and record what they read; the moves are libc's.
SYNDROME_INTERPOSE void qsort(void* items, std::size_t count, std::size_t bytes,
                              int (*compare)(const void*, const void*)) {
  sorted(items, count, bytes, [=] { real_qsort(items, count, bytes, compare); });
}
SYNDROME_INTERPOSE void qsort_r(void* items, std::size_t count, std::size_t bytes,
                                int (*compare)(const void*, const void*, void*), void* argument) {
  sorted(items, count, bytes, [=] { real_qsort_r(items, count, bytes, compare, argument); });
}

}  // namespace syndrome::rt
