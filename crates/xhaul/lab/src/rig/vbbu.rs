//! Third-party CU and DU on the live network, from a peer profile with `[vbbu]` (`sut.peer`).

use crate::live::VbbuPart;
use ranlab_campaign::rig::{RigError, Run};

use super::setup::{Setup, User};
use ranlab_lab::experiment::third_party;

/// Returns the processes that replace the cell. `None` if ranlab's senders are used, or the tier is not live.
pub(super) fn own(run: &Run<'_>, setup: &Setup) -> Result<Option<VbbuPart>, RigError> {
    if setup.tier != "live" {
        return Ok(None);
    }
    let Some(peer) = third_party::peer(run)? else { return Ok(None) };
    let wrong = |why: &str| Err(RigError::Rig(format!("`sut.peer` {}: {why}", peer.name)));
    let Some(own) = peer.vbbu else {
        return wrong(
            "its profile has no table [vbbu] with the commands of a CU and a DU; without these commands, this rig measures only switches and links",
        );
    };
    if !peer.run.start.is_empty() {
        return wrong(
            "`run.start` would start a program outside the nodes of the network: set the vBBU's programs by `vbbu.cu` and `vbbu.du`",
        );
    }
    if setup.user != User::None {
        return wrong("the vBBU sends the user's flow itself: `user.kind` must be \"none\"");
    }
    if setup.live.taps {
        return wrong("`live.taps` recognises frames by sequence numbers, which a vBBU's frames do not have");
    }
    if setup.live.cpu_quota > 0.0 {
        return wrong(
            "`cu.cpu_quota` limits ranlab's threads only; limit the vBBU's threads by its own commands",
        );
    }
    Ok(Some(VbbuPart { name: peer.name, own, log: None }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ranlab_campaign::plan::Point;
    use ranlab_campaign::value::Value;
    use ranlab_lab::RigContext;
    use ranlab_lab::vbbu::NAMES;

    use super::*;
    use crate::rig::Xhaul;
    use ranlab_lab::experiment::fake;
    use ranlab_lab::experiment::harness::RunningExperiment;
    use ranlab_lab::experiment::profile::SystemProfile;

    /// Returns the path of this repository's example profile.
    fn example() -> String {
        format!("{}/../../../peers/vbbu/profile.toml", env!("CARGO_MANIFEST_DIR"))
    }

    fn vbbu_component(settings: &[(&str, Value)]) -> Result<Option<VbbuPart>, String> {
        let settings =
            fake::point(&RunningExperiment::new(&RigContext::new("ranlab"), Xhaul), settings).settings;
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 0, Duration::ZERO);
        let setup = Setup::read(&run).map_err(|error| error.to_string())?;
        own(&run, &setup).map_err(|error| error.to_string())
    }

    #[test]
    fn vbbu_processes_receive_the_networks_addresses() {
        let live = ("sut.tier", Value::from("live"));
        let peer = ("sut.peer", Value::from(example().as_str()));
        let found = vbbu_component(&[live.clone(), peer.clone()]).unwrap().unwrap();
        assert_eq!(found.name, "vbbu-stand-in");
        let [(_, cu), (_, du)] = found.own.commands();
        let after =
            |argv: &[String], word: &str| argv.iter().skip_while(|own| *own != word).nth(1).cloned().unwrap();
        let [(_, cu_ip), (_, du_ip), _] = NAMES;
        assert_eq!((after(cu, "--own"), after(cu, "--peer")), (cu_ip.to_owned(), du_ip.to_owned()));
        assert_eq!((after(du, "--own"), after(du, "--peer")), (du_ip.to_owned(), cu_ip.to_owned()));
        // Other tiers start no programs.
        assert_eq!(vbbu_component(&[peer]).unwrap(), None);
        assert_eq!(vbbu_component(&[live]).unwrap(), None);
    }

    #[test]
    fn unsupported_vbbu_settings_are_rejected() {
        let with = |path, value: Value| {
            let peer = ("sut.peer", Value::from(example().as_str()));
            vbbu_component(&[("sut.tier", Value::from("live")), peer, (path, value)]).unwrap_err()
        };
        assert!(with("sut.peer", Value::from("ranlab")).contains("no table [vbbu]"));
        assert!(with("user.kind", Value::from("ping")).contains("`user.kind` must be \"none\""));
        assert!(with("live.taps", Value::Bool(true)).contains("`live.taps`"));
        assert!(with("cu.cpu_quota", Value::Float(0.5)).contains("`cu.cpu_quota`"));
        let why = SystemProfile::load(&example()).unwrap().filled(["rate=1"]).unwrap_err().to_string();
        assert!(why.contains("has no value \"rate=1\""), "{why}");
    }
}
