//! Ports of this machine that a testbed borrows, and virtual functions that it creates on them. Both are
//! recorded in its run file before they are changed. They are returned when the testbed ends, or, after `kill
//! -9`, by the next testbed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::stamps::{StampConfig, within};
use super::{NetnsError, Testbed, run, write_whole};

/// Folder in which the kernel lists its ports.
const PORTS: &str = "/sys/class/net";
/// Maximum time until a cable has a carrier, or a driver has created functions.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum time for a function's driver to detect the link, and the number of attempts.
const ANSWER: Duration = Duration::from_secs(8);
const RAISES_MAX: usize = 3;
/// Interval between two polls.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum number of functions of one port; PCI allows more.
const FUNCTIONS_MAX: usize = 256;

/// A port that a testbed has taken, and its device.
#[derive(Debug, Clone)]
pub(super) struct TestbedPort {
    /// Original name of the port, which is restored.
    name: String,
    /// Device of the port; `None` for a software port.
    device: Option<PathBuf>,
}

/// A change to the machine, as recorded in the run file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BorrowedDevice {
    /// The port `own` is in a namespace as `inside`.
    Port { namespace: String, inside: String, own: String },
    /// A device was configured to create functions.
    Functions { device: String },
    /// A port in a namespace was configured to stamp; `before` is its previous configuration.
    Stamps { namespace: String, inside: String, before: StampConfig },
}

impl BorrowedDevice {
    /// Formats a line of a run file. Names of ports and paths in `/sys` contain no blanks.
    fn line(&self) -> String {
        match self {
            Self::Port { namespace, inside, own } => format!("port {namespace} {inside} {own}"),
            Self::Functions { device } => format!("functions {device}"),
            Self::Stamps { namespace, inside, before: StampConfig { flags, sent, received } } => {
                format!("stamps {namespace} {inside} {flags} {sent} {received}")
            }
        }
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["port", namespace, inside, own] => Some(Self::Port {
                namespace: namespace.to_owned(),
                inside: inside.to_owned(),
                own: own.to_owned(),
            }),
            ["functions", device] => Some(Self::Functions { device: device.to_owned() }),
            ["stamps", namespace, inside, flags, sent, received] => Some(Self::Stamps {
                namespace: namespace.to_owned(),
                inside: inside.to_owned(),
                before: StampConfig {
                    flags: flags.parse().ok()?,
                    sent: sent.parse().ok()?,
                    received: received.parse().ok()?,
                },
            }),
            _ => None,
        }
    }

    /// Undoes the change. Has no effect on a port that no longer exists.
    pub(super) fn give_back(&self) {
        match self {
            Self::Port { namespace, inside, own } => {
                let _ = run("tc", &["-n", namespace, "qdisc", "delete", "dev", inside, "root"]);
                let _ = run("tc", &["-n", namespace, "qdisc", "delete", "dev", inside, "clsact"]);
                let _ = run("ip", &["-n", namespace, "link", "set", inside, "nomaster"]);
                let _ = run("ip", &["-n", namespace, "link", "set", inside, "down"]);
                let here = std::process::id().to_string();
                let _ = run("ip", &["-n", namespace, "link", "set", inside, "netns", &here, "name", own]);
            }
            Self::Functions { device } => {
                let _ = std::fs::write(Path::new(device).join("sriov_numvfs"), "0");
            }
            Self::Stamps { namespace, inside, before } => {
                let _ = within(namespace, || before.write(inside));
            }
        }
    }
}

impl Testbed {
    /// Records a change before it is made, so that it is undone in all cases.
    pub(super) fn note(&mut self, loan: BorrowedDevice) -> Result<(), NetnsError> {
        self.loans.push(loan);
        let lines: Vec<_> = self.loans.iter().map(BorrowedDevice::line).collect();
        write_whole(&self.run_file, &format!("{}\n{}\n", self.began, lines.join("\n")))
            .map_err(|error| NetnsError::Lacking(format!("{}: {error}", self.run_file.display())))
    }

    /// Moves a port of this machine into a namespace, under another name, and sets it up.
    ///
    /// # Errors
    /// There is no such port, or this machine uses the port, because it has an address or belongs to a bridge, bond or
    /// testbed.
    pub fn take(&mut self, name: &str, namespace: &str, inside: &str) -> Result<(), NetnsError> {
        let device = free(name)?;
        let here = |why: String| refused(name, why);
        self.note(BorrowedDevice::Port {
            namespace: namespace.to_owned(),
            inside: inside.to_owned(),
            own: name.to_owned(),
        })?;
        let moved = run("ip", &["link", "set", name, "down"])
            .and_then(|_| run("ip", &["link", "set", name, "netns", namespace, "name", inside]));
        moved.map_err(|error| here(error.to_string()))?;
        self.ip(namespace, &["link", "set", inside, "up"])?;
        self.taken.push(TestbedPort { name: name.to_owned(), device });
        Ok(())
    }

    /// Waits until both endpoints of a port's cable are up.
    ///
    /// # Errors
    /// The endpoints are not up after some twenty seconds.
    pub fn await_carrier(&self, namespace: &str, interface: &str) -> Result<(), NetnsError> {
        awaited(PATIENCE, || carrier(namespace, interface)).ok_or_else(|| {
            refused(interface, format!("no carrier in {} s: is its cable plugged in?", PATIENCE.as_secs()))
        })
    }

    /// Sets a function up. Tries again if it gets no carrier, because its driver may have queried a busy port and got
    /// no response.
    fn raise(&self, namespace: &str, interface: &str) -> Result<(), NetnsError> {
        for _ in 0..RAISES_MAX {
            self.ip(namespace, &["link", "set", interface, "up"])?;
            if awaited(ANSWER, || carrier(namespace, interface)).is_some() {
                return Ok(());
            }
            self.ip(namespace, &["link", "set", interface, "down"])?;
        }
        self.ip(namespace, &["link", "set", interface, "up"])?;
        self.await_carrier(namespace, interface)
    }

    /// Creates virtual functions of a taken port. Moves each function into a namespace of `to` under a name, and sets
    /// it up. `at` is the namespace and the current name of the port. This call first waits for the port's carrier,
    /// because a driver that resets its card cannot create functions.
    ///
    /// # Errors
    /// The port has no functions, too few, or functions of another owner; or the driver fails.
    pub fn functions(&mut self, port: &str, at: (&str, &str), to: &[(&str, &str)]) -> Result<(), NetnsError> {
        let taken = self.taken.iter().find(|taken| taken.name == port).cloned();
        let port = taken.ok_or_else(|| refused(port, "this testbed has not taken it"))?;
        self.await_carrier(at.0, at.1)?;
        let made = made_functions(self, &port, to.len())?;
        // Creating functions resets the card.
        self.await_carrier(at.0, at.1)?;
        for (device, &(namespace, name)) in made.iter().zip(to) {
            let moved = || {
                // Rules of the system may rename the interface of the function in the meantime.
                let function = interface_of(device)?;
                run("ip", &["link", "set", &function, "netns", namespace, "name", name]).ok()
            };
            awaited(PATIENCE, moved).ok_or_else(|| {
                refused(&port.name, format!("function {} has no interface", device.display()))
            })?;
            self.raise(namespace, name)?;
        }
        Ok(())
    }
}

fn refused(port: &str, why: impl Into<String>) -> NetnsError {
    NetnsError::Port { port: port.to_owned(), why: why.into() }
}

/// Polls `look` until it returns a value or `patience` has passed.
fn awaited<T>(patience: Duration, look: impl Fn() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begun.elapsed() > patience {
            return found;
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether both endpoints of an interface's cable are up.
fn carrier(namespace: &str, interface: &str) -> Option<()> {
    let output = run("ip", &["-n", namespace, "-o", "link", "show", "dev", interface]).ok()?;
    output.contains("LOWER_UP").then_some(())
}

/// Returns the device of an unused port.
fn free(name: &str) -> Result<Option<PathBuf>, NetnsError> {
    let port = Path::new(PORTS).join(name);
    // Rejects paths and flags of `ip`.
    if name.is_empty()
        || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._@-".contains(c))
        || !port.exists()
    {
        let there = std::fs::read_dir(PORTS).into_iter().flatten().flatten();
        let names: Vec<_> = there
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "lo")
            .collect();
        return Err(refused(name, format!("there is no such port; there are: {}", names.join(", "))));
    }
    if name == "lo" {
        return Err(refused(name, "the loopback has no cable"));
    }
    let addresses = run("ip", &["-o", "addr", "show", "dev", name, "scope", "global"])?;
    if !addresses.trim().is_empty() {
        return Err(refused(
            name,
            "this machine has an address on the port: remove the address, or name an unused port",
        ));
    }
    if run("ip", &["-o", "link", "show", "dev", name])?.contains(" master ") {
        return Err(refused(name, "it belongs to a bridge or a bond: give a port that is free"));
    }
    Ok(std::fs::canonicalize(port.join("device")).ok())
}

/// Returns the devices of the functions that a port created.
fn made_functions(
    testbed: &mut Testbed,
    port: &TestbedPort,
    count: usize,
) -> Result<Vec<PathBuf>, NetnsError> {
    let lacks = |why: &str| refused(&port.name, why);
    let device =
        port.device.as_deref().ok_or_else(|| lacks("it is made of software and has no virtual functions"))?;
    let number = |file: &str| {
        let text = std::fs::read_to_string(device.join(file)).ok()?;
        text.trim().parse::<usize>().ok()
    };
    let total = number("sriov_totalvfs")
        .ok_or_else(|| lacks("its card or driver has no virtual functions (SR-IOV)"))?;
    if total < count || count > FUNCTIONS_MAX {
        return Err(lacks(&format!(
            "it has up to {} virtual functions, {count} are needed",
            total.min(FUNCTIONS_MAX)
        )));
    }
    if number("sriov_numvfs") != Some(0) {
        return Err(lacks("it has virtual functions of another program: write 0 to its sriov_numvfs"));
    }
    testbed.note(BorrowedDevice::Functions { device: device.to_string_lossy().into_owned() })?;
    std::fs::write(device.join("sriov_numvfs"), count.to_string())
        .map_err(|error| lacks(&format!("its driver creates no functions: {error}")))?;
    (0..count)
        .map(|index| {
            let function = device.join(format!("virtfn{index}"));
            let there = awaited(PATIENCE, || interface_of(&function).map(|_| function.clone()));
            there.ok_or_else(|| lacks(&format!("no driver took function {index}: is its module loaded?")))
        })
        .collect()
}

/// Returns the current name of the interface of a function's device.
fn interface_of(device: &Path) -> Option<String> {
    let mut entries = std::fs::read_dir(device.join("net")).ok()?.flatten();
    Some(entries.next()?.file_name().to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProcessMeter;
    use crate::netns::{RUN, lacking, sweep};

    #[test]
    fn run_file_lists_changes_to_undo() {
        for loan in [
            BorrowedDevice::Port {
                namespace: "ranlab-1-0-cu".to_owned(),
                inside: "nic".to_owned(),
                own: "enp1s0f0".to_owned(),
            },
            BorrowedDevice::Functions { device: "/sys/devices/pci0000:00/0000:01:00.0".to_owned() },
            BorrowedDevice::Stamps {
                namespace: "ranlab-1-0-cu".to_owned(),
                inside: "nic".to_owned(),
                before: StampConfig { flags: 0, sent: 1, received: 12 },
            },
        ] {
            assert_eq!(BorrowedDevice::read(&loan.line()), Some(loan));
        }
        for line in
            ["123456", "", "port a b", "functions", "ports a b c", "stamps a b 0 1", "stamps a b 0 1 x"]
        {
            assert_eq!(BorrowedDevice::read(line), None, "{line}");
        }
    }

    /// Creates a directory like that of a device with functions in `/sys`, whose driver is fast.
    fn device(total: &str, made: &str) -> PathBuf {
        let device =
            std::env::temp_dir().join(format!("ranlab-device-{}-{total}-{made}", std::process::id()));
        std::fs::create_dir_all(device.join("virtfn0/net/vf0")).unwrap();
        std::fs::write(device.join("sriov_totalvfs"), total).unwrap();
        std::fs::write(device.join("sriov_numvfs"), made).unwrap();
        device
    }

    #[test]
    fn functions_are_created_and_removed_by_sysfs() {
        if let Some(lack) = lacking().first() {
            return crate::doctor::skipped(lack);
        }
        let mut testbed = Testbed::new().unwrap();
        let create = |testbed: &mut Testbed, device: Option<PathBuf>, count| {
            let port = TestbedPort { name: "eth9".to_owned(), device };
            made_functions(testbed, &port, count).map_err(|error| error.to_string())
        };
        let fine = device("7", "0");
        assert_eq!(create(&mut testbed, Some(fine.clone()), 1), Ok(vec![fine.join("virtfn0")]));
        let requested = || std::fs::read_to_string(fine.join("sriov_numvfs")).unwrap();
        assert_eq!(
            (requested().as_str(), interface_of(&fine.join("virtfn0")).as_deref()),
            ("1", Some("vf0"))
        );
        assert!(std::fs::read_to_string(&testbed.run_file).unwrap().contains("\nfunctions /"));
        let others = device("7", "2");
        for (device, count, word) in [
            (None, 1, "made of software"),
            (Some(others), 1, "another program"),
            (Some(fine.clone()), 8, "up to 7"),
        ] {
            let why = create(&mut testbed, device, count).unwrap_err();
            assert!(why.contains(word) && why.starts_with("port eth9: "), "{why}");
        }
        drop(testbed);
        assert_eq!(requested(), "0");
    }

    #[test]
    fn port_returns_under_its_name_after_crash() {
        if let Some(lack) = lacking().first() {
            return crate::doctor::skipped(lack);
        }
        let pid = std::process::id();
        let names = [format!("rla{pid}"), format!("rlb{pid}")];
        let [own, far] = names.each_ref().map(String::as_str);
        run("ip", &["link", "add", own, "type", "veth", "peer", "name", far]).unwrap();
        let here = || Path::new(PORTS).join(own).exists();
        let mut testbed = Testbed::new().unwrap();
        let cu = testbed.namespace("cu").unwrap();
        let switch = testbed.namespace("switch").unwrap();
        testbed.take(own, &cu, "nic").unwrap();
        testbed.take(far, &switch, "p-cu").unwrap();
        testbed.await_carrier(&cu, "nic").unwrap();
        let none = testbed.functions(own, (&cu, "nic"), &[(&cu, "mh0")]).unwrap_err();
        assert!(!here() && none.to_string().contains("software"), "{none}");
        drop(testbed);
        assert!(here() && Path::new(PORTS).join(far).exists());
        // The process with this id has another start time, so the owner of the file has terminated.
        let dead = format!("ranlab-{pid}-999999-cu");
        let file = Path::new(RUN).join(format!("{pid}-999999"));
        write_whole(&file, &ProcessMeter::own().began_ticks().unwrap().to_string()).unwrap();
        run("ip", &["netns", "add", &dead]).unwrap();
        run("ip", &["link", "set", own, "netns", &dead, "name", "nic"]).unwrap();
        sweep();
        assert!(!here() && Testbed::file(&dead).exists());
        write_whole(&file, &format!("1\nport {dead} nic {own}\n")).unwrap();
        sweep();
        // Another test's testbed may be sweeping at the same time and not be done.
        let swept = || here() && !file.exists() && !Testbed::file(&dead).exists();
        (0..500).take_while(|_| !swept()).for_each(|_| std::thread::sleep(Duration::from_millis(10)));
        assert!(swept());
        run("ip", &["addr", "add", "192.0.2.9/32", "dev", own]).unwrap();
        assert!(free(own).unwrap_err().to_string().contains("has an address"));
        run("ip", &["link", "delete", own]).unwrap();
        for (name, word) in [("../net/lo", "no such port"), ("-n", "no such port"), ("lo", "loopback")] {
            let why = free(name).unwrap_err().to_string();
            assert!(why.contains(word), "{why}");
        }
    }
}
