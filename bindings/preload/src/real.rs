//! The original functions of libc, and errno.

use std::ffi::{CStr, c_int, c_void};
use std::io;

/// Returns libc's definition of a name, which is the next one after this library's. Aborts if there is no definition.
pub(crate) fn next(name: &CStr) -> *mut c_void {
    // SAFETY: dlsym(3) with a NUL-terminated string; it only reads the list of loaded libraries.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if at.is_null() {
        // SAFETY: abort(3) has no preconditions and does not return.
        unsafe { libc::abort() }
    }
    at
}

/// Defines functions that call libc's function with the same name.
macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// Calls libc's function. The caller guarantees the requirements of the function's manual page.
        pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
            static AT: std::sync::atomic::AtomicPtr<c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
            let mut at = AT.load(std::sync::atomic::Ordering::Relaxed);
            if at.is_null() {
                let name = concat!(stringify!($name), "\0").as_bytes();
                at = next(CStr::from_bytes_with_nul(name).unwrap_or_default());
                AT.store(at, std::sync::atomic::Ordering::Relaxed);
            }
            // SAFETY: libc's function of that name has this type. The caller guarantees its preconditions.
            unsafe {
                let call: unsafe extern "C" fn($($type),*) -> $result = std::mem::transmute(at);
                call($($argument),*)
            }
        }
    )*};
}

real! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(fd: c_int, address: *const libc::sockaddr, length: libc::socklen_t) -> c_int;
    listen(fd: c_int, backlog: c_int) -> c_int;
    accept(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> c_int;
    accept4(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t, flags: c_int) -> c_int;
    connect(fd: c_int, address: *const libc::sockaddr, length: libc::socklen_t) -> c_int;
    getsockname(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> c_int;
    getpeername(fd: c_int, address: *mut libc::sockaddr, length: *mut libc::socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: libc::socklen_t) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut libc::socklen_t) -> c_int;
    shutdown(fd: c_int, how: c_int) -> c_int;
    close(fd: c_int) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, to: c_int) -> c_int;
    dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    sendmsg(fd: c_int, message: *const libc::msghdr, flags: c_int) -> isize;
    recvmsg(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize;
    send(fd: c_int, octets: *const c_void, length: usize, flags: c_int) -> isize;
    sendto(fd: c_int, octets: *const c_void, length: usize, flags: c_int, address: *const libc::sockaddr,
        address_length: libc::socklen_t) -> isize;
    recv(fd: c_int, octets: *mut c_void, length: usize, flags: c_int) -> isize;
    recvfrom(fd: c_int, octets: *mut c_void, length: usize, flags: c_int, address: *mut libc::sockaddr,
        address_length: *mut libc::socklen_t) -> isize;
    write(fd: c_int, octets: *const c_void, length: usize) -> isize;
    read(fd: c_int, octets: *mut c_void, length: usize) -> isize;
}

/// Runs the body of a hook. After an error, returns -1 and sets errno. After a success, errno is unchanged, because
/// FlexRIC asserts this.
pub(crate) fn answer<T: From<i8>>(work: impl FnOnce() -> io::Result<T>) -> T {
    // SAFETY: the address of this thread's errno is valid for the lifetime of the thread.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = *errno;
    match work() {
        Ok(value) => {
            *errno = before;
            value
        }
        Err(error) => {
            *errno = error.raw_os_error().unwrap_or_else(|| match error.kind() {
                io::ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
                io::ErrorKind::AddrInUse => libc::EADDRINUSE,
                io::ErrorKind::PermissionDenied => libc::EACCES,
                io::ErrorKind::TimedOut => libc::ETIMEDOUT,
                io::ErrorKind::InvalidInput => libc::EINVAL,
                _ => libc::EIO,
            });
            T::from(-1)
        }
    }
}

/// Returns an error with the errno `code`.
pub(crate) fn error<T>(code: c_int) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(code))
}
