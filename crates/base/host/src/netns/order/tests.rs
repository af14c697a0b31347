//! Tests of the generated arguments for `tc`. They run no `tc`, so the kernel need not support the schedulers.

use super::*;

/// Ranks of a neighbour (3) and of background traffic (7). The cell has no entry, so it has the default rank 0, which
/// is the highest.
const RANKED: [(Ipv4Addr, u8); 2] = [(Ipv4Addr::new(10, 77, 0, 2), 3), (Ipv4Addr::new(10, 77, 0, 3), 7)];

fn link(order: RankOrder) -> Link<'static> {
    Link { rate_bps: 100_000_000, queue_bytes: 500_000, port_bps: 0, order, rank: 0, ranks: &RANKED }
}

fn commands_for(order: RankOrder) -> String {
    words("nic", &link(order)).join("\n")
}

#[test]
fn strict_priority_and_rounds_use_htb_classes() {
    let strict = commands_for(RankOrder::Strict);
    let golden = "\
qdisc replace dev nic root handle 1: htb default 1
class replace dev nic parent 1: classid 1:fff htb rate 100000000bit ceil 100000000bit burst 3200 cburst 3200 quantum 1514
class replace dev nic parent 1:fff classid 1:1 htb rate 100000000bit ceil 100000000bit prio 0 burst 3200 cburst 3200 quantum 1514
qdisc replace dev nic parent 1:1 bfifo limit 500000
class replace dev nic parent 1:fff classid 1:4 htb rate 8kbit ceil 100000000bit prio 1 burst 3200 cburst 3200 quantum 1514
qdisc replace dev nic parent 1:4 bfifo limit 500000
class replace dev nic parent 1:fff classid 1:8 htb rate 8kbit ceil 100000000bit prio 2 burst 3200 cburst 3200 quantum 1514
qdisc replace dev nic parent 1:8 bfifo limit 500000
filter add dev nic parent 1: protocol ip u32 match ip src 10.77.0.2/32 flowid 1:4
filter add dev nic parent 1: protocol ip u32 match ip dst 10.77.0.2/32 flowid 1:4
filter add dev nic parent 1: protocol ip u32 match ip src 10.77.0.3/32 flowid 1:8
filter add dev nic parent 1: protocol ip u32 match ip dst 10.77.0.3/32 flowid 1:8";
    assert_eq!(strict, golden);
    let turns = commands_for(RankOrder::Turns { own: 9_216, other: 1_538 });
    assert!(
        turns.contains("classid 1:1 htb rate 8kbit ceil 100000000bit prio 0")
            && turns.contains("quantum 9216"),
        "{turns}"
    );
    assert!(!turns.contains("prio 1"), "{turns}");
}

#[test]
fn credit_shaper_uses_cbs_band_below_token_bucket() {
    let shaped = commands_for(RankOrder::Credit { idle_bps: 20_000_000 });
    let golden = "\
qdisc replace dev nic root handle 1: tbf rate 100000000bit burst 3200 limit 500000
qdisc replace dev nic parent 1:1 handle 10: prio bands 3 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
qdisc replace dev nic parent 10:1 cbs idleslope 20000 sendslope -80000 hicredit 308 locredit -1230 offload 0
qdisc replace dev nic parent 10:2 bfifo limit 500000
qdisc replace dev nic parent 10:3 bfifo limit 500000
filter add dev nic parent 10: protocol ip u32 match ip src 10.77.0.2/32 flowid 10:2
filter add dev nic parent 10: protocol ip u32 match ip dst 10.77.0.2/32 flowid 10:2
filter add dev nic parent 10: protocol ip u32 match ip src 10.77.0.3/32 flowid 10:3
filter add dev nic parent 10: protocol ip u32 match ip dst 10.77.0.3/32 flowid 10:3";
    assert_eq!(shaped, golden);
    let veth = Link { port_bps: 10_000_000_000, ..link(RankOrder::Credit { idle_bps: 20_000_000 }) };
    let commands = words("nic", &veth).join("\n");
    assert!(commands.contains("idleslope 20000 sendslope -9980000 hicredit 4 locredit -1534"), "{commands}");
    // An idle slope above the rate of the link is reduced to 1 kbit/s less than that rate.
    assert!(credit(7_000_000_000, 1_000_000_000).starts_with("cbs idleslope 999999 sendslope -1 "));
}

#[test]
fn gates_use_taprio_with_queue_per_rank() {
    // The gate of the cell is open for 100 us, then the gates of all other ranks for 900 us.
    let commands = commands_for(RankOrder::Gates { entries: vec![(100_000, 0b1), (900_000, 0b1111_1110)] });
    let golden = "\
qdisc replace dev nic clsact
qdisc replace dev nic root handle 100: taprio num_tc 3 map 0 2 2 2 1 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 1@2 base-time 0 \
sched-entry S 4 100000 sched-entry S 3 900000 clockid CLOCK_REALTIME
filter add dev nic egress protocol ip prio 1 u32 match ip src 10.77.0.2/32 action skbedit priority 4 ok
filter add dev nic egress protocol ip prio 1 u32 match ip dst 10.77.0.2/32 action skbedit priority 4 ok
filter add dev nic egress protocol ip prio 1 u32 match ip src 10.77.0.3/32 action skbedit priority 0 ok
filter add dev nic egress protocol ip prio 1 u32 match ip dst 10.77.0.3/32 action skbedit priority 0 ok
filter add dev nic egress protocol all prio 2 matchall action skbedit priority 7 ok";
    assert_eq!(commands, golden);
    let queues = commands_for(RankOrder::Queues);
    let second = "qdisc replace dev nic root handle 100: mqprio num_tc 3 map 0 2 2 2 1 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 1@2 hw 0";
    assert_eq!(queues.lines().nth(1), Some(second));
    let held = "qdisc replace dev nic parent 100:1 tbf rate 100000000bit burst 3200 limit 500000";
    assert_eq!(queues.lines().nth(2), Some(held));
}

#[test]
fn launch_times_use_etf_for_their_priority() {
    let golden = [
        "qdisc replace dev mh0 root handle 10: prio bands 2 priomap 1 1 1 1 1 1 1 0 1 1 1 1 1 1 1 1",
        "qdisc replace dev mh0 parent 10:1 etf clockid CLOCK_TAI delta 300000",
        "qdisc replace dev mh0 parent 10:2 bfifo limit 500000",
    ];
    assert_eq!(launch_words("mh0", None, 500_000, 300_000), golden);
    let held = launch_words("mh0", Some(100_000_000), 500_000, 300_000);
    assert_eq!(held[0], "qdisc replace dev mh0 root handle 1: tbf rate 100000000bit burst 3200 limit 500000");
    assert!(held[1].starts_with("qdisc replace dev mh0 parent 1:1 handle 10: prio"), "{held:?}");
}

#[test]
fn missing_kernel_option_is_named() {
    let translated = |command: &str, why: &str| {
        lacking(NetnsError::Command { command: command.to_owned(), why: why.to_owned() }).to_string()
    };
    let unknown = "Error: Specified qdisc kind is unknown.";
    let message = translated("tc -n a qdisc replace dev nic root handle 100: taprio num_tc 2", unknown);
    assert_eq!(message, "this kernel has no scheduler taprio (CONFIG_NET_SCH_TAPRIO)");
    assert!(
        translated("tc -n a qdisc replace dev nic parent 1:1 handle 10: prio bands 2", unknown)
            .contains("scheduler prio (")
    );
    assert!(
        translated("tc -n a qdisc replace dev nic parent 10:1 etf", "RTNETLINK answers: Invalid argument")
            .contains("Invalid argument")
    );
}
