//! Checks the placement of a load, the system under test, and the device between them on the CPUs.
//!
//! Packets that cross the link between two NUMA nodes cost more at every access. Two busy threads on one CPU slow each
//! other down. Neither causes an error, so the report has to mention it.

use std::collections::BTreeSet;
use std::path::Path;

/// Returns remarks on threads on these CPUs, one sentence each. There is a remark if process `other` is pinned to the
/// same CPUs. There is also a remark if the CPUs are on several NUMA nodes, or on another node than the network device.
pub fn remarks(cpus: &[usize], other: Option<u32>, device: Option<&str>) -> Vec<String> {
    remarks_of(Path::new("/"), cpus, other, device)
}

fn remarks_of(root: &Path, cpus: &[usize], other: Option<u32>, device: Option<&str>) -> Vec<String> {
    let ours: BTreeSet<usize> = cpus.iter().copied().collect();
    let mut remarks = Vec::new();
    let shared: BTreeSet<usize> = other
        .map(|pid| pinned(root, pid))
        .unwrap_or_default()
        .into_iter()
        .filter(|allowed| allowed.is_subset(&ours))
        .flatten()
        .collect();
    if let (Some(pid), false) = (other, shared.is_empty()) {
        remarks.push(format!(
            "threads of process {pid} may run on CPU {} only, to which the load is pinned: each delays the other",
            list(&shared)
        ));
    }
    let nodes: Vec<(usize, BTreeSet<usize>)> = nodes(root)
        .into_iter()
        .map(|(node, cpus)| (node, cpus.intersection(&ours).copied().collect()))
        .filter(|(_, cpus): &(_, BTreeSet<usize>)| !cpus.is_empty())
        .collect();
    if nodes.len() > 1 {
        let each: Vec<String> =
            nodes.iter().map(|(node, cpus)| format!("CPU {} on node {node}", list(cpus))).collect();
        remarks.push(format!("the load's CPUs belong to several NUMA nodes: {}", each.join(", ")));
    }
    let home = device.and_then(|device| Some((device, node_of_device(root, device)?)));
    if let Some((device, home)) = home {
        for (node, cpus) in nodes.iter().filter(|(node, _)| *node != home) {
            let cpus = list(cpus);
            remarks.push(format!("CPU {cpus} is on NUMA node {node}, but device {device} is on node {home}"));
        }
    }
    remarks
}

/// Returns the CPUs of each thread of a process that is not allowed on all CPUs.
fn pinned(root: &Path, pid: u32) -> Vec<BTreeSet<usize>> {
    let online = std::fs::read_to_string(root.join("sys/devices/system/cpu/online"));
    let all = online.ok().and_then(|text| cpu_list(&text));
    let tasks = std::fs::read_dir(root.join(format!("proc/{pid}/task"))).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            cpu_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
        })
        .filter(|allowed| all.as_ref() != Some(allowed))
        .collect()
}

fn nodes(root: &Path) -> Vec<(usize, BTreeSet<usize>)> {
    let folders = std::fs::read_dir(root.join("sys/devices/system/node")).into_iter().flatten().flatten();
    let mut nodes: Vec<_> = folders
        .filter_map(|folder| {
            let node = folder.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
            Some((node, cpu_list(&std::fs::read_to_string(folder.path().join("cpulist")).ok()?)?))
        })
        .collect();
    nodes.sort_unstable();
    nodes
}

/// The kernel reports -1 if the device has no node: a virtual device, or a machine with one node.
fn node_of_device(root: &Path, device: &str) -> Option<usize> {
    let file = root.join("sys/class/net").join(device).join("device/numa_node");
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Parses `0-3,8`, the kernel's notation; `None` if the text is not such a list.
fn cpu_list(text: &str) -> Option<BTreeSet<usize>> {
    let mut cpus = BTreeSet::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

fn list(cpus: &BTreeSet<usize>) -> String {
    cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with two nodes of two CPUs each, and a card on the second node. Process 7 has one thread on CPU 1, and
    /// another on any CPU.
    struct Machine(std::path::PathBuf);

    impl Machine {
        fn new(test: &str) -> Self {
            let root = std::env::temp_dir().join(format!("ranlab-placement-{test}-{}", std::process::id()));
            for (file, text) in [
                ("sys/devices/system/cpu/online", "0-3\n"),
                ("sys/devices/system/node/node0/cpulist", "0-1\n"),
                ("sys/devices/system/node/node1/cpulist", "2,3\n"),
                ("sys/devices/system/node/possible", "0-1\n"),
                ("sys/class/net/n3/device/numa_node", "1\n"),
                ("sys/class/net/veth0/device/numa_node", "-1\n"),
                ("proc/7/task/7/status", "Name:\tupf\nCpus_allowed_list:\t1\n"),
                ("proc/7/task/8/status", "Name:\tupf\nCpus_allowed_list:\t0-3\n"),
            ] {
                let path = root.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn remarks(&self, cpus: &[usize], other: u32, device: &str) -> Vec<String> {
            remarks_of(&self.0, cpus, Some(other), Some(device))
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn good_placement_has_no_advice() {
        let machine = Machine::new("good");
        for (cpus, other, device) in [(&[2, 3][..], 7, "n3"), (&[], 7, "n3"), (&[0], 99, "veth0")] {
            assert_eq!(machine.remarks(cpus, other, device), [""; 0]);
        }
    }

    #[test]
    fn remote_or_shared_cpus_are_reported() {
        assert_eq!(
            Machine::new("far").remarks(&[1, 2], 7, "n3"),
            [
                "threads of process 7 may run on CPU 1 only, to which the load is pinned: each delays the other",
                "the load's CPUs belong to several NUMA nodes: CPU 1 on node 0, CPU 2 on node 1",
                "CPU 1 is on NUMA node 0, but device n3 is on node 1",
            ]
        );
    }

    #[test]
    fn load_pinned_to_all_cpus_counts_as_unpinned() {
        let sentences = Machine::new("all").remarks(&[0, 1, 2, 3], 7, "veth0");
        assert!(sentences[0].contains("may run on CPU 1 only"), "{sentences:?}");
    }

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpu_list(" 0-2,5\n"), Some(BTreeSet::from([0, 1, 2, 5])));
        assert_eq!(cpu_list("\n"), Some(BTreeSet::new()));
        assert_eq!((cpu_list("a"), cpu_list("3-")), (None, None));
    }
}
