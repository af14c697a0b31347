use super::*;
use crate::declare::{TunnelId, UserId};
use crate::pipelines::Pipeline;

const BOTH: &[Direction] = &[Direction::Uplink, Direction::Downlink];

fn object(json: &str) -> Object {
    let declaration = serde_json::from_str::<Pipeline>(json).unwrap().build().unwrap();
    let request = BackendRequest { declaration: &declaration, directions: BOTH };
    Xdp.translate(&request).unwrap().object.unwrap()
}

#[test]
fn tables_become_map_entries() {
    let text = object(r#"{"name":"l3fwd","upstream-l3-table-size":2,"family":"ipv4"}"#).whole();
    assert!(text.contains("map Routes4(0) LpmTrie key 8 value 4 entries"), "{text}");
    // The entries are a /24 of TIPSY's addresses with its next hop, and the group table.
    assert!(text.contains("set Routes4(0) 18000000"), "{text}");
    assert_eq!(text.matches("set Hops ").count(), 3, "{text}");
    assert_eq!(text.matches("program ").count(), 2, "{text}");
}

#[test]
fn unused_maps_are_not_created() {
    let declaration = serde_json::from_str::<Pipeline>(r#"{"name":"mgw"}"#).unwrap().build().unwrap();
    let down = BackendRequest { declaration: &declaration, directions: &[Direction::Downlink] };
    let object = Xdp.translate(&down).unwrap().object.unwrap();
    assert!(object.maps.iter().all(|map| !matches!(map.id, MapId::Routes4(_) | MapId::Hops)));
    let one = &[Change::Exact { table: crate::declare::ExactId(0), key: 9, value: None }];
    // Only the uplink looks up users by tunnel key.
    assert_eq!(Xdp.update(&down, one).unwrap().object.unwrap().entries, []);
}

#[test]
fn handover_changes_tunnel_and_keeps_meter() {
    let declaration = serde_json::from_str::<Pipeline>(r#"{"name":"mgw","user":3,"bst":2}"#).unwrap();
    let declaration = declaration.build().unwrap();
    let request = BackendRequest { declaration: &declaration, directions: BOTH };
    let attach = |user| Change::Attach { user: UserId(user), tunnel: TunnelId(1) };
    let text = Xdp.update(&request, &[attach(2)]).unwrap().whole();
    assert_eq!(text, "== object (Bpf)\nset Users 02000000 0000000301000000\n");
    let refused = Xdp.update(&request, &[attach(3)]).unwrap_err().to_string();
    assert!(refused.contains("handovers of users that came later"), "{refused}");
}

#[test]
fn limits_are_reported_and_map_descriptors_are_linked() {
    let declaration = serde_json::from_str::<Pipeline>(r#"{"name":"acl","rule-num":4097}"#).unwrap();
    let declaration = declaration.build().unwrap();
    let refused = Xdp.translate(&BackendRequest { declaration: &declaration, directions: BOTH }).unwrap_err();
    assert!(refused.to_string().contains("4097 rules are required, it supports 4096"), "{refused}");
    let object = object(r#"{"name":"l2fwd"}"#);
    let program = object.programs[0].as_ref().unwrap();
    assert_eq!(program.linked(|_| None), None);
    let linked = program.linked(|_| Some(7)).unwrap();
    assert_eq!((linked.len(), program.is_empty()), (program.len(), false));
    // The instructions contain both maps of the program as descriptors.
    assert_eq!(linked.iter().filter(|word| **word & 0xf0ff == 0x1018 && **word >> 32 == 7).count(), 2);
}

#[test]
fn trace_frames_become_map_values() {
    let feed = Feed { frames: 2, frame_bytes_max: 61 };
    let value = feed.value(crate::declare::Port::Core, &[5; 60]);
    assert_eq!(value.len(), feed.maps()[0].value_bytes as usize);
    assert_eq!((value[0], value[4], value[8], value[68]), (1, 60, 5, 0));
    let state: Vec<u8> = [1_u64, 2, 3, 4].iter().flat_map(|number| number.to_ne_bytes()).collect();
    assert_eq!(Feed::counted(&state), (9, 7));
    assert_eq!(Feed::counted(&[]), (0, 0));
}
