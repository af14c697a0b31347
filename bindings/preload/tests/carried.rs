//! Tests with programs that use SCTP in the same way as unmodified third-party programs, with the library preloaded.
//! Each program is this test binary, started again in a role.
#![allow(unsafe_code, clippy::unwrap_used)]

mod roles;

use std::fs::{self, Permissions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ranlab_net::shim::{Head, Kind};
use socket2::{Domain, SockAddr, Socket, Type};

const NOBODY: u32 = 65_534;

/// Folder of one test, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ranlab-preload-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A program with the preloaded library, and its output.
struct Program {
    child: Child,
    says: BufReader<ChildStdout>,
    told: Option<ChildStdin>,
}

fn command(role: &str, folder: &Path) -> Command {
    let own = std::env::current_exe().unwrap();
    let library = own.parent().unwrap().join("libranlab_preload.so");
    assert!(library.is_file(), "{} is not built", library.display());
    let mut command = Command::new(own);
    command.args(["--exact", "child_program_plays_its_role", "--nocapture"]).env("LD_PRELOAD", library);
    command.env("RANLAB_SCTP", folder).env("ROLE", role).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

impl Program {
    fn start(role: &str, folder: &Folder) -> Self {
        Self::spawn(command(role, &folder.0))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        let told = child.stdin.take();
        Self { child, says, told }
    }

    /// Returns the next line of the program, without lines of the test harness.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.says.read_line(&mut line).unwrap() > 0, "the program has ended");
            if let Some(message) = line.trim_end().split("> ").nth(1) {
                return message.to_owned();
            }
        }
    }

    /// Lets the program continue after a pause.
    fn go(&mut self) {
        self.told.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Waits for the program to exit successfully.
    fn ends(mut self) {
        let mut rest = String::new();
        self.says.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Main function of the programs that [`Program`] starts. It does nothing as a test.
#[test]
fn child_program_plays_its_role() {
    if let Ok(role) = std::env::var("ROLE") {
        roles::play(&role);
    }
}

#[test]
fn one_to_one_socket_keeps_stream_and_ppid_and_ends_on_both_sides() {
    let folder = Folder::new("one");
    let mut server = Program::start("one-server", &folder);
    assert_eq!(server.line(), "listening");
    let mut client = Program::start("one-client", &folder);
    // Both sides use ranlab's driver for kernel SCTP without changes.
    assert_eq!(server.line(), "accepted");
    assert_eq!(server.line(), "3 octets, stream 4, ppid 70");
    assert_eq!(client.line(), "6 octets, stream 2, ppid 70");
    client.ends();
    assert_eq!(server.line(), "end");
    server.ends();
}

#[test]
fn one_to_many_socket_identifies_peers_and_detects_their_end() {
    let folder = Folder::new("many");
    let mut server = Program::start("many-server", &folder);
    assert_eq!(server.line(), "listening");
    let mut clients = [Program::start("many-client", &folder), Program::start("many-client", &folder)];
    // Each client causes an "up" event and a message. The order of the clients is undefined.
    let mut lines: Vec<_> = (0..4).map(|_| server.line()).collect();
    lines.sort();
    assert_eq!(lines, ["1 hello, stream 1, ppid 7", "1 up", "2 hello, stream 1, ppid 7", "2 up"]);
    for client in &mut clients {
        assert_eq!(client.line(), "echoed hello, stream 1, ppid 7, from 10.9.8.7:36421");
    }
    let [mut first, second] = clients;
    first.child.kill().unwrap();
    let gone = server.line();
    assert!(gone.ends_with(" shutdown"), "{gone}");
    assert_eq!(server.line(), gone.replace("shutdown", "over"));
    // The other client is still served. Then the server is killed, and the client detects this.
    let mut second = second;
    second.go();
    assert!(server.line().ends_with(" again, stream 0, ppid 0"));
    assert_eq!(second.line(), "echoed again, stream 0, ppid 0, from 10.9.8.7:36421");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert_eq!(second.line(), "shutdown");
    second.go();
    // The peer no longer exists. As in SCTP, the message is accepted and its failure is reported.
    assert_eq!(second.line(), "sent 4, then failed");
    second.ends();
}

#[test]
fn system_libsctp_works_with_preload() {
    let folder = Folder::new("libsctp");
    let mut server = Program::start("many-server", &folder);
    assert_eq!(server.line(), "listening");
    let mut client = Program::start("libsctp-client", &folder);
    let result = client.line();
    if result.starts_with("skipped") {
        println!("{result}");
        return;
    }
    assert_eq!(result, "sctp_sendmsg 5");
    assert_eq!((server.line(), server.line()), ("1 up".to_owned(), "1 hello, stream 3, ppid 9".to_owned()));
    assert_eq!(client.line(), "sctp_recvmsg hello, stream 3, ppid 9");
    client.ends();
}

#[test]
fn message_with_null_slice_ends_association() {
    let folder = Folder::new("null");
    let mut server = Program::start("many-server", &folder);
    assert_eq!(server.line(), "listening");
    let mut client = Program::start("ending-client", &folder);
    let lines: Vec<_> = (0..4).map(|_| server.line()).collect();
    assert_eq!(lines, ["1 up", "1 hello, stream 0, ppid 0", "1 shutdown", "1 over"]);
    client.go();
    client.ends();
}

#[test]
fn long_messages_arrive_in_parts_without_loss_at_slow_reader() {
    let folder = Folder::new("long");
    let mut server = Program::start("slow-server", &folder);
    assert_eq!(server.line(), "listening");
    let mut client = Program::start("fast-client", &folder);
    assert_eq!(client.line(), "too long: EMSGSIZE");
    // The error of a non-blocking send shows that there is no free space.
    assert_eq!(client.line(), "full");
    server.go();
    assert_eq!(server.line(), "parts 32768 32768 32768 1696 whole");
    assert_eq!(server.line(), "all in order");
    client.ends();
}

/// Runs a writer and a reader. `server` and `client` are their roles (`write` or `read`), followed by their ways of
/// waiting. Both programs must end with every message transferred.
fn flow(folder: &Folder, [server, client]: [&str; 2], [server_waits, client_waits]: [&str; 2]) {
    let mut at_server = Program::start(&format!("flow-server-{server}-{server_waits}"), folder);
    assert_eq!(at_server.line(), "listening");
    let mut at_client = Program::start(&format!("flow-client-{client}-{client_waits}"), folder);
    let done = |what: &str| if what == "write" { "all written" } else { "all read in order" };
    assert_eq!(at_server.line(), done(server));
    assert_eq!(at_client.line(), done(client));
    at_server.go();
    at_client.go();
    at_server.ends();
    at_client.ends();
}

/// A full association wakes its writer when space becomes free, for each way of waiting.
#[test]
fn non_blocking_writer_delivers_all_messages_to_slow_reader() {
    let folder = Folder::new("flow");
    for sides in [["write", "read"], ["read", "write"]] {
        for waits in [["edge", "edge"], ["edge", "poll"], ["poll", "edge"], ["poll", "poll"]] {
            flow(&folder, sides, waits);
        }
    }
}

/// Number of runs. A wake-up that is lost only occasionally would not show in a single run.
const RUNS: usize = 10;
/// Number of simultaneous runs. They compete for the processors, which changes the time of the wake-ups.
const AT_ONCE: usize = 5;

#[test]
fn stalled_reader_and_edge_triggered_writer_always_finish() {
    let next = AtomicUsize::new(0);
    let run_all = || {
        while let Some(run) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|run| *run < RUNS) {
            let folder = Folder::new(&format!("ten-{run}"));
            let sides = if run % 2 == 0 { ["write", "read"] } else { ["read", "write"] };
            flow(&folder, sides, ["edge", "edge"]);
        }
    };
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(run_all)).collect();
        let failed = runs.into_iter().map(|run| run.join()).filter(Result::is_err).count();
        assert_eq!(failed, 0, "every run must end with all messages delivered");
    });
    assert!(next.load(Ordering::Relaxed) >= RUNS);
}

#[test]
fn folders_with_wrong_mode_are_refused_and_other_sockets_unaffected() {
    let folder = Folder::new("refused");
    let mut fine = Program::start("other-sockets", &folder);
    assert_eq!(fine.line(), "listening");
    assert_eq!(fine.line(), "tcp, udp, pipe and dup work");
    fine.ends();
    fs::set_permissions(&folder.0, Permissions::from_mode(0o750)).unwrap();
    let mut refused = command("socket", &folder.0);
    let output = refused.stderr(Stdio::piped()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("> socket: EACCES"));
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(why.contains("RANLAB_SCTP=") && why.contains("its mode is 0750; it must be 0700"), "{why}");
    // Without the environment variable, the kernel's SCTP is used, as without the library.
    let mut role = command("socket", &folder.0);
    let output = role.env_remove("RANLAB_SCTP").output().unwrap();
    let expected = match ranlab_net::sctp_support() {
        Ok(()) => "> socket: ok",
        Err(_) => "NOSUPPORT",
    };
    assert!(String::from_utf8_lossy(&output.stdout).contains(expected));
}

fn intruder(folder: &Path) -> Socket {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None).unwrap();
    socket.connect(&SockAddr::unix(folder.join("10.9.8.7:36421")).unwrap()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

/// Returns whether the peer closes the association.
fn is_closed(mut socket: &Socket) -> bool {
    match socket.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn invalid_greetings_are_dropped_without_effect() {
    let folder = Folder::new("rubbish");
    let mut server = Program::start("many-server", &folder);
    assert_eq!(server.line(), "listening");
    let hello = Head::new(Kind::Hello).to_bytes();
    let data = Head::new(Kind::Data).to_bytes();
    for words in [&[&b"GET / HTTP/1.0\r\n\r\n"[..]][..], &[b"x"], &[&[0xff; 4_000]], &[&data], &[&hello[..5]]]
    {
        let socket = intruder(&folder.0);
        words.iter().for_each(|word| assert!(socket.send(word).is_ok()));
        assert!(is_closed(&socket), "{words:?}");
    }
    // Connections without a greeting occupy no slots, regardless of the number of connections.
    let idle: Vec<_> = (0..300).map(|_| intruder(&folder.0)).collect();
    drop(idle);
    // A peer that sends invalid data after its greeting is disconnected.
    let socket = intruder(&folder.0);
    socket.send(&hello).unwrap();
    socket.send(b"rubbish").unwrap();
    let connected = server.line();
    assert!(connected.ends_with(" up"), "{connected}");
    assert_eq!(server.line(), connected.replace("up", "lost"));
    let _client = Program::start("many-client", &folder);
    assert!(server.line().ends_with(" up") && server.line().contains(" hello, stream 1"));
}

#[test]
fn peer_of_another_user_is_refused() {
    // SAFETY: geteuid(2) cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return ranlab_host::doctor::skipped("only root can start a program as another user");
    }
    let folder = Folder::new("users");
    let mut other = command("socket", &folder.0);
    let output = other.uid(NOBODY).stderr(Stdio::piped()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("> socket: EACCES"));
    // Root can access any folder, so the folder's mode does not exclude root. The user id of the connection does.
    chown(&folder.0, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut server = command("many-server", &folder.0);
    server.uid(NOBODY).gid(NOBODY);
    let mut server = Program::spawn(server);
    assert_eq!(server.line(), "listening");
    let socket = intruder(&folder.0);
    let _ = socket.send(&Head::new(Kind::Hello).to_bytes());
    assert!(is_closed(&socket));
    let mut client = command("many-client", &folder.0);
    client.uid(NOBODY).gid(NOBODY);
    let _client = Program::spawn(client);
    // The program is not informed of root's connection, so this peer is the first one.
    assert_eq!(server.line(), "1 up");
}
