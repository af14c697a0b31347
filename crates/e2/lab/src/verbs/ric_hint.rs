//! Configuration snippets for third-party base stations and xApps, to connect them to this RIC.
use crate::E2_PORT;
use clap::ValueEnum;
use ranlab_lab::Listen;
use ranlab_transport::Address;

/// Third-party peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Peer {
    /// OpenAirInterface's gNB, CU or DU
    Oai,
    /// srsRAN Project's gNB, CU or DU
    Srsran,
    /// OCUDU's gNB, CU or DU (successor of srsRAN Project)
    Ocudu,
    /// FlexRIC's emulated base stations and xApps
    Flexric,
    /// ns-O-RAN's simulated base stations
    NsOran,
    /// O-RAN SC's xApps, including srsRAN's
    OranSc,
}

/// Configuration of OpenAirInterface. In all snippets, `{ip}` and `{port}` stand for the RIC's address. Lines with `#`
/// or `//` are explanations.
const OAI: &str = "\
// In the configuration file (-O FILE), at the top level of both CU and DU; or as flags:
//   --e2_agent.near_ric_ip_addr {ip} --e2_agent.sm_dir /usr/local/lib/flexric/
// Build with: ./build_oai --gNB --build-e2 (E2AP v2.03 and KPM v2.03 unless -DE2AP_VERSION and -DKPM_VERSION say otherwise;
// any of them will do here). The folder is that of FlexRIC's service models, installed from the same tree.
e2_agent = {
  near_ric_ip_addr = \"{ip}\";
  sm_dir = \"/usr/local/lib/flexric/\";
};
// The port is fixed in its source: 36421. KPM reports come only while a UE is attached whose S-NSSAI is the condition's.
";
const SRSRAN: &str = "\
# In the configuration file (gnb -c FILE).
e2:
  enable_du_e2: true
  addr: {ip}
  port: {port}
  bind_addr: {bind}
  e2sm_kpm_enabled: true
  e2sm_rc_enabled: true
metrics:
  layers:
    enable_rlc: true
    enable_sched: true
  periodicity:
    du_report_period: 1000
# Give each gNB its own gnb_id. A period below du_report_period brings no values, and without values no indication.
";
const OCUDU: &str = "\
# In the configuration file (gnb -c FILE). CU-CP, CU-UP and DU are E2 nodes of their own: RC's handover is at the CU-CP, RC's quotas
# and CCC's policies are at the DU.
e2:
  enable_du_e2: true
  enable_cu_cp_e2: true
  enable_cu_up_e2: true
  addrs: [{ip}]
  port: {port}
  bind_addrs: [{bind}]
  e2sm_kpm_enabled: true
  e2sm_rc_enabled: true
  e2sm_ccc_enabled: true
metrics:
  layers:
    enable_rlc: true
    enable_sched: true
    enable_pdcp: true
  periodicity:
    du_report_period: 1000
# CCC's policies have an effect only for slices that the cell lists, although the gNB acknowledges all of them:
# cell_cfg:
#   slicing:
#     - sst: 1
# Give each gNB its own gnb_id. The port must be 20000 to 40000. A period below du_report_period repeats values. Reports above
# 9,100 bytes are dropped by the gNB: choose measurements (xapp monitor --kpm-measure) with more than 20 UEs.
";
const FLEXRIC: &str = "\
# In a file for emu_agent_gnb and the xApps (-c FILE), or in /usr/local/etc/flexric/flexric.conf.
[NEAR-RIC]
NEAR_RIC_IP = {ip}

[XAPP]
DB_DIR = /tmp/
# The ports are fixed in its source: 36421 for agents, 36422 for xApps (--e42). The version of E2AP is chosen when it is
# built: any of them will do here.
";
const NS_ORAN: &str = "\
# As arguments of a scenario; its base stations speak E2AP v1.
./ns3 run \"scratch/scenario-zero.cc --e2TermIp={ip} --enableE2FileLogging=false\"
# The port is the attribute E2Port of ns3::MmWaveHelper (NrHelper in LENA's tree), 36422 unless a tree says otherwise. This RIC
# listens for base stations at {port}: --ns3::MmWaveHelper::E2Port={port}, or ranlab ric with --e2 at 36422 and --e42 elsewhere.
";

const ORAN_SC: &str = "\
# This RIC for xApps on this machine; for others add --trust THEIR-ADDRESS, and take an address of this machine's for 127.0.0.1:
#   ranlab ric --http 127.0.0.1:8088 --rmr 127.0.0.1:4560
# The xApp: subscriptions go to http://127.0.0.1:8088/ric/v1, E2 manager's /v1/nodeb/states is there as well (srsRAN's xAppBase has
# 10.0.2.13:8088 and itself, 10.0.2.20, in its source). Only controls need a route, in a file of these lines:
newrt|start
rte|12040|127.0.0.1:4560
newrt|end
# Its environment; where its libraries are, librmr_si.so and libriclibe2ap.so, which no Python package has:
export RMR_SEED_RT=THAT-FILE RMR_RTG_SVC=-1 RMR_SRC_ID=THE-XAPPS-ADDRESS LD_LIBRARY_PATH=THEIR-FOLDER
# Nodes are called by their inventory_name (curl -s http://127.0.0.1:8088/v1/nodeb/states). A second xApp on one machine needs another
# RMR port, and another RMR_CTL_PORT than 4561.
";

/// Returns the configuration snippet for a RIC with these listeners.
pub(crate) fn text(peer: Peer, e2: &[Listen]) -> String {
    if peer == Peer::OranSc {
        return ORAN_SC.to_owned();
    }
    let (ip, port) = reached(e2);
    let open = matches!(ip.as_str(), "0.0.0.0" | "::");
    let shown = if open { "THIS-MACHINE'S-ADDRESS".to_owned() } else { ip.clone() };
    // A peer on loopback binds to the same address. The address of any other peer is unknown.
    let bind = if ip.starts_with("127.") { ip.clone() } else { "ITS-OWN-ADDRESS".to_owned() };
    let (template, comment) = match peer {
        Peer::Oai => (OAI, "//"),
        Peer::Srsran => (SRSRAN, "#"),
        Peer::Ocudu => (OCUDU, "#"),
        Peer::Flexric => (FLEXRIC, "#"),
        Peer::NsOran | Peer::OranSc => (NS_ORAN, "#"),
    };
    let head = format!(
        "{comment} It speaks SCTP: ranlab ric --e2 sctp://{ip}:{port}, where the kernel has SCTP (see ranlab doctor); else\n\
         {comment} ranlab ric --e2 shim:///tmp/e2/{ip}:{port}, and the peer with the library of docs/how-to/gateway.md.\n"
    );
    let fill = |text: &str| {
        text.replace("{ip}", &shown).replace("{bind}", &bind).replace("{port}", &port.to_string())
    };
    head + &fill(template)
}

/// Returns the first listener with an address and a port.
fn reached(e2: &[Listen]) -> (String, u16) {
    let place = |listen: &Listen| match listen {
        Listen::At(Address::Tcp { host, port }) => Some((host.clone(), *port)),
        other => {
            // The text is parsed, because the address types (sctp://HOST:PORT and similar) depend on the features of
            // this build.
            let text = other.to_string();
            let (host, port) = text.split_once("://")?.1.rsplit_once(':')?;
            let host = host.rsplit('/').next()?.trim_matches(['[', ']']);
            Some((host.to_owned(), port.parse().ok()?))
        }
    };
    e2.iter().find_map(place).unwrap_or_else(|| ("127.0.0.1".to_owned(), E2_PORT))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Vec<Listen> {
        vec![text.parse().unwrap()]
    }

    #[test]
    fn every_snippet_contains_the_rics_address() {
        assert!(text(Peer::OranSc, &[]).contains("rte|12040|127.0.0.1:4560"));
        for peer in Peer::value_variants().iter().filter(|peer| **peer != Peer::OranSc) {
            let text = text(*peer, &at("tcp://10.1.2.3:36499"));
            assert!(
                text.contains("10.1.2.3") && !text.contains(['\u{7b}', '\u{7d}']) || *peer == Peer::Oai,
                "{text}"
            );
            assert!(!text.contains("{ip}") && !text.contains("{port}") && !text.contains("{bind}"), "{text}");
        }
        let srsran = text(Peer::Srsran, &[]);
        assert!(srsran.contains("  addr: 127.0.0.1\n  port: 36421\n  bind_addr: 127.0.0.1\n"), "{srsran}");
        assert!(text(Peer::Oai, &at("tcp://10.1.2.3:1")).contains("near_ric_ip_addr = \"10.1.2.3\";"));
        let ocudu = text(Peer::Ocudu, &at("tcp://10.1.2.3:1"));
        for words in
            ["bind_addrs: [ITS-OWN-ADDRESS]", "enable_cu_cp_e2: true", "20000 to 40000", "9,100 bytes"]
        {
            assert!(ocudu.contains(words), "{ocudu}");
        }
        assert!(text(Peer::NsOran, &at("tcp://0.0.0.0:36421")).contains("--e2TermIp=THIS-MACHINE'S-ADDRESS"));
        assert_eq!(reached(&at("shim:///tmp/e2/10.0.2.10:36422")), ("10.0.2.10".to_owned(), 36_422));
    }
}
