use super::*;

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn end(role: Role) -> Machine {
    Machine::new(at(0), Settings::new(role, 7)).unwrap()
}

fn received(machine: &mut Machine, message: &Message, descriptors: usize) -> Vec<Output> {
    machine.handle(at(1), Input::Received { message: &wire::encode(message), descriptors });
    std::iter::from_fn(|| machine.poll()).collect()
}

fn refused(outputs: &[Output]) -> Refusal {
    match outputs {
        [Output::Send { message, attachment: None }, Output::Down(Down::Refused(refusal))] => {
            let told = wire::decode(&message[..]).unwrap();
            let text: String = refusal.to_string().chars().take(95).collect();
            assert_eq!(told, Message::Disconnect { code: 0, reason: text });
            refusal.clone()
        }
        other => panic!("{other:?}"),
    }
}

fn ring(to_master: bool) -> Ring {
    Ring { to_master, index: 0, region: 0, offset: 0, log2_size: 4, private_bytes: 0 }
}

/// Exchanges the messages of both endpoints, with each record's descriptors; returns their other outputs.
fn talk(master: &mut Machine, slave: &mut Machine) -> [Vec<Output>; 2] {
    let mut said = [Vec::new(), Vec::new()];
    loop {
        let mut quiet = true;
        for (side, said) in said.iter_mut().enumerate() {
            let (from, to) =
                if side == 0 { (&mut *master, &mut *slave) } else { (&mut *slave, &mut *master) };
            while let Some(output) = from.poll() {
                quiet = false;
                if let Output::Send { message, attachment } = &output {
                    let descriptors = usize::from(attachment.is_some());
                    to.handle(at(1), Input::Received { message: &message[..], descriptors });
                } else {
                    said.push(output);
                }
            }
        }
        if quiet {
            return said;
        }
    }
}

#[test]
fn master_and_slave_agree_on_memory_and_rings() {
    let mut master = end(Role::Master);
    let mut slave = end(Role::Slave);
    let [at_master, at_slave] = talk(&mut master, &mut slave);
    let layout = Layout::new(10, 2048, [1, 1]);
    let to = |to_master, offset| {
        Output::Ring(Ring { to_master, index: 0, region: 0, offset, log2_size: 10, private_bytes: 0 })
    };
    let up = || Output::Up("ranlab".to_owned());
    let wanted =
        [Output::Region { octets: layout.octets }, to(true, 0), to(false, layout.place(false, 0).0), up()];
    assert_eq!(at_master, wanted);
    assert_eq!(at_slave, [Output::Create(layout), up()]);
    assert!(master.is_up() && slave.is_up() && master.wake_at().is_none());
    slave.handle(at(2), Input::Stop);
    let [at_master, at_slave] = talk(&mut master, &mut slave);
    assert_eq!(at_master, [Output::Down(Down::Peer { code: 0, reason: "stopped".to_owned() })]);
    assert_eq!(at_slave, [Output::Down(Down::Stopped)]);
}

#[test]
fn smaller_ring_size_is_used() {
    let mut slave = end(Role::Slave);
    let hello = Hello {
        name: Name::new("x"),
        min_version: 0x100,
        max_version: 0x300,
        max_region: 0,
        max_m2s_ring: 0,
        max_s2m_ring: 0,
        max_log2_ring: 3,
    };
    let outputs = received(&mut slave, &Message::Hello(hello), 0);
    assert_eq!(outputs[0], Output::Create(Layout::new(3, 2048, [1, 1])));
    let mut slave = end(Role::Slave);
    let old = Hello { min_version: 0x100, max_version: 0x1ff, ..hello };
    let refusal = refused(&received(&mut slave, &Message::Hello(old), 0));
    assert_eq!(refusal, Refusal::Version { least: 0x100, most: 0x1ff });
}

#[test]
fn layout_has_no_overlaps() {
    for log2 in 0..=LOG2_RING_MAX {
        for (buffer, rings) in [(64, [1, 1]), (2048, [1, 3]), (2048, [16, 16]), (65_536, [2, 1])] {
            let layout = Layout::new(log2, buffer, rings);
            let ring = Ring::octets(log2);
            let buffers = u64::from(buffer) << log2;
            if layout.octets > REGION_OCTETS_MAX {
                let [rings_to_master, rings_to_slave] = rings;
                let settings = Settings {
                    log2_ring: log2,
                    buffer_octets: buffer,
                    rings_to_master,
                    rings_to_slave,
                    ..Settings::new(Role::Slave, 0)
                };
                assert!(matches!(settings.check(), Err(SettingsError::Memory(_))));
                continue;
            }
            let ways = [(true, rings[0]), (false, rings[1])].into_iter();
            let places = ways.flat_map(|(way, rings)| (0..rings).map(move |index| layout.place(way, index)));
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (at, first) in places {
                assert!(at.is_multiple_of(64) && first.is_multiple_of(64));
                taken.push((at.into(), ring));
                taken.push((first.into(), buffers));
            }
            taken.sort_unstable();
            assert!(taken.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0), "{taken:?}");
            assert!(taken.last().is_some_and(|last| last.0 + last.1 <= layout.octets));
        }
    }
}

fn initiated() -> Machine {
    let mut master = end(Role::Master);
    let init = Init { version: VERSION, id: 7, mode: 0, secret: [0; 24], name: Name::new("them") };
    // The greeting and the acknowledgement.
    assert_eq!(received(&mut master, &Message::Init(init), 0).len(), 2);
    assert_eq!(received(&mut master, &Message::AddRegion { index: 0, octets: 4096 }, 1).len(), 2);
    master
}

/// Returns the master's reason to reject a message after Init and a region of 4,096 bytes.
fn at_master(message: &Message, descriptors: usize) -> Refusal {
    refused(&received(&mut initiated(), message, descriptors))
}

#[test]
fn announced_numbers_beyond_limits_are_refused() {
    let region = |index, octets| Message::AddRegion { index, octets };
    assert_eq!(at_master(&region(2, 4096), 1), Refusal::RegionIndex { index: 2, next: 1 });
    assert_eq!(at_master(&region(0, 4096), 1), Refusal::RegionIndex { index: 0, next: 1 });
    assert_eq!(at_master(&region(1, 0), 1), Refusal::RegionOctets(0));
    let large = REGION_OCTETS_MAX + 1;
    assert_eq!(at_master(&region(1, large), 1), Refusal::RegionOctets(large));
    let wrong = |change: fn(&mut Ring)| {
        let mut ring = ring(true);
        change(&mut ring);
        at_master(&Message::AddRing(ring), 1)
    };
    assert_eq!(wrong(|ring| ring.index = RINGS_MAX), Refusal::RingIndex { index: RINGS_MAX });
    assert_eq!(wrong(|ring| ring.index = u16::MAX), Refusal::RingIndex { index: u16::MAX });
    assert_eq!(wrong(|ring| ring.log2_size = 15), Refusal::RingSize(15));
    assert_eq!(wrong(|ring| ring.log2_size = 255), Refusal::RingSize(255));
    assert_eq!(wrong(|ring| ring.private_bytes = 1), Refusal::Private(1));
    let place = |region, offset, octets| Refusal::RingPlace { region, offset, octets };
    assert_eq!(wrong(|ring| ring.region = 1), place(1, 0, None));
    assert_eq!(wrong(|ring| ring.offset = 4), place(0, 4, Some(4096)));
    assert_eq!(wrong(|ring| ring.offset = u32::MAX - 7), place(0, u32::MAX - 7, Some(4096)));
    // A ring needs 128 bytes, and 16 bytes for each of its 16 descriptors. The last possible offset is therefore 4096 -
    // 384.
    assert_eq!(wrong(|ring| ring.offset = 3720), place(0, 3720, Some(4096)));
    let mut master = initiated();
    let last = Ring { offset: 3712, ..ring(true) };
    assert_eq!(received(&mut master, &Message::AddRing(last), 1)[0], Output::Ring(last));
    assert_eq!(
        refused(&received(&mut master, &Message::AddRing(ring(true)), 1)),
        Refusal::RingIndex { index: 0 }
    );
}

/// A switch that is the slave announces one ring per thread. The master accepts the rings in any order, and rejects
/// gaps.
#[test]
fn master_accepts_several_rings_without_gaps() {
    let announce = |rings: &[(bool, u16)]| {
        let mut master = initiated();
        for (to_master, index) in rings {
            let ring = Ring { index: *index, ..ring(*to_master) };
            let outputs = received(&mut master, &Message::AddRing(ring), 1);
            assert_eq!((&outputs[0], outputs.len()), (&Output::Ring(ring), 2));
        }
        received(&mut master, &Message::Connect(Name::new("switch")), 0)
    };
    let all: Vec<_> =
        [true, false].into_iter().flat_map(|to| (0..RINGS_MAX).map(move |at| (to, at))).collect();
    let backwards: Vec<_> = all.iter().rev().copied().collect();
    for rings in [&all[..], &backwards, &[(false, 0), (true, 1), (true, 0)]] {
        assert_eq!(announce(rings)[1], Output::Up("them".to_owned()));
    }
    for rings in
        [&[(true, 0)][..], &[(false, 0)], &[(true, 0), (false, 1)], &[(true, 0), (true, 2), (false, 0)]]
    {
        assert_eq!(refused(&announce(rings)), Refusal::Rings);
    }
}

#[test]
fn region_beyond_limit_is_refused() {
    let mut master = initiated();
    for index in 1..REGIONS_MAX as u16 {
        assert_eq!(received(&mut master, &Message::AddRegion { index, octets: 1 }, 1).len(), 2);
    }
    let index = REGIONS_MAX as u16;
    let outputs = received(&mut master, &Message::AddRegion { index, octets: 1 }, 1);
    assert_eq!(refused(&outputs), Refusal::RegionIndex { index, next: REGIONS_MAX });
}

#[test]
fn missing_and_additional_descriptors_are_refused() {
    let came = |message, wanted, came| Refusal::Descriptors { message, wanted, came };
    assert_eq!(at_master(&Message::AddRing(ring(true)), 0), came("AddRing", 1, 0));
    assert_eq!(at_master(&Message::AddRegion { index: 1, octets: 1 }, 2), came("AddRegion", 1, 2));
    assert_eq!(at_master(&Message::Connect(Name::default()), 1), came("Connect", 0, 1));
    assert_eq!(at_master(&Message::Connect(Name::default()), 0), Refusal::Rings);
}

#[test]
fn init_for_another_interface_is_refused() {
    let good = Init { version: VERSION, id: 7, mode: 0, secret: [0; 24], name: Name::default() };
    let secret = Settings { secret: [1; 24], ..Settings::new(Role::Master, 7) };
    let mut guarded = Machine::new(at(0), secret).unwrap();
    let _ = guarded.poll();
    assert_eq!(refused(&received(&mut guarded, &Message::Init(good), 0)), Refusal::Secret);
    for (init, wanted) in [
        (Init { version: 0x100, ..good }, Refusal::Version { least: 0x100, most: 0x100 }),
        (Init { id: 8, ..good }, Refusal::Interface { asked: 8, ours: 7 }),
        (Init { mode: 1, ..good }, Refusal::Mode(1)),
    ] {
        let mut master = end(Role::Master);
        let _ = master.poll();
        assert_eq!(refused(&received(&mut master, &Message::Init(init), 0)), wanted);
    }
}

#[test]
fn slow_handshake_is_refused() {
    for role in [Role::Master, Role::Slave] {
        let mut machine = end(role);
        while machine.poll().is_some() {}
        let due = machine.wake_at().unwrap();
        assert_eq!(due, at(0) + HANDSHAKE);
        machine.handle(Time::from_nanos(due.as_nanos() - 1), Input::Wake);
        assert_eq!(machine.poll(), None);
        machine.handle(due, Input::Wake);
        let outputs: Vec<_> = std::iter::from_fn(|| machine.poll()).collect();
        assert_eq!(refused(&outputs), Refusal::Slow);
        machine.handle(due, Input::Closed);
        assert_eq!((machine.poll(), machine.wake_at()), (None, None));
    }
}

#[test]
fn driver_may_refuse_memory() {
    let mut master = initiated();
    master.refuse(Refusal::Memory("it can shrink".to_owned()));
    let outputs: Vec<_> = std::iter::from_fn(|| master.poll()).collect();
    assert_eq!(refused(&outputs), Refusal::Memory("it can shrink".to_owned()));
}

/// Records that are damaged or in any order, with any descriptors, cause no panic and few outputs. Accepted values are
/// within limits.
#[test]
fn hostile_messages_are_rejected() {
    let mut state = 0x5eed_u64;
    let mut draw = move |below: u64| {
        // Knuth's MMIX generator, which suffices for the tests of this crate.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let name = Name::new("them");
    let good = [
        Message::Init(Init { version: VERSION, id: 7, mode: 0, secret: [0; 24], name }),
        Message::AddRegion { index: 0, octets: 1 << 20 },
        Message::AddRing(Ring { log2_size: 5, ..ring(true) }),
        Message::AddRing(Ring { log2_size: 5, offset: 1024, ..ring(false) }),
        Message::Connect(name),
        Message::Ack,
        Message::Connected(name),
        Message::Hello(Hello {
            name,
            min_version: VERSION,
            max_version: VERSION,
            max_region: 9,
            max_m2s_ring: 9,
            max_s2m_ring: 9,
            max_log2_ring: 255,
        }),
    ];
    let mut ups = 0;
    for round in 0..20_000_u64 {
        let role = if round % 2 == 0 { Role::Master } else { Role::Slave };
        let mut machine = end(role);
        for step in 0..8_u64 {
            let next = if draw(8) == 0 { draw(8) } else { step % 8 };
            // A slave's script: Hello, four times Ack, Connected.
            let pick = if role == Role::Master { next } else { [7, 5, 5, 5, 5, 6, 0, 1][next as usize] };
            let message = &good[pick as usize];
            let mut octets = wire::encode(message).to_vec();
            for _ in 0..draw(12).saturating_sub(9) {
                octets[draw(48) as usize] = draw(256) as u8;
            }
            if draw(64) == 0 {
                octets.truncate(draw(128) as usize);
            }
            let attached = matches!(message, Message::AddRegion { .. } | Message::AddRing(_));
            let descriptors = if draw(32) == 0 { draw(3) as usize } else { attached.into() };
            machine.handle(at(step), Input::Received { message: &octets, descriptors });
            let mut outputs = 0;
            while let Some(output) = machine.poll() {
                outputs += 1;
                match output {
                    Output::Ring(ring) => {
                        let end = u64::from(ring.offset) + Ring::octets(ring.log2_size);
                        assert!(end <= REGION_OCTETS_MAX && ring.log2_size <= LOG2_RING_MAX);
                    }
                    Output::Region { octets } => assert!(octets <= REGION_OCTETS_MAX),
                    Output::Create(layout) => assert!(layout.log2_ring <= LOG2_RING_MAX),
                    Output::Up(_) => ups += 1,
                    Output::Send { .. } | Output::Down(_) => {}
                }
            }
            assert!(outputs <= OUTPUTS_MAX);
        }
    }
    assert!(
        ups > 2_000,
        "only {ups} message sequences lead to a connection, so that the test covers too little"
    );
}

/// A switch (here the master) sends on one queue per thread, and limits the number of rings. The slave offers this
/// number of rings, announces each once, and the rings do not overlap.
#[test]
fn slave_offers_rings_up_to_limit_of_master() {
    for (asked, taken, offered) in [(1, 0, 1), (16, 255, 16), (5, 1, 2)] {
        let settings = Settings { rings_to_slave: asked, log2_ring: 4, ..Settings::new(Role::Slave, 0) };
        let mut slave = Machine::new(Time::ZERO, settings).unwrap();
        let hello = Hello {
            name: Name::new("switch"),
            min_version: VERSION,
            max_version: VERSION,
            max_region: 0,
            max_m2s_ring: taken,
            max_s2m_ring: 0,
            max_log2_ring: 14,
        };
        let mut answer = Message::Hello(hello);
        let mut rings = Vec::new();
        let mut layout = None;
        for _ in 0..32 {
            let octets = wire::encode(&answer);
            slave.handle(Time::ZERO, Input::Received { message: &octets, descriptors: 0 });
            answer = Message::Ack;
            while let Some(output) = slave.poll() {
                match output {
                    Output::Create(own) => layout = Some(own),
                    Output::Send { message, .. } => match wire::decode(&message[..]).unwrap() {
                        Message::AddRing(ring) => rings.push(ring),
                        Message::Connect(_) => answer = Message::Connected(Name::new("switch")),
                        _ => {}
                    },
                    Output::Down(down) => panic!("{down}"),
                    _ => {}
                }
            }
            if slave.is_up() {
                break;
            }
        }
        let layout = layout.unwrap();
        assert!(slave.is_up() && layout.rings == [1, offered]);
        let back: Vec<Ring> = rings.iter().copied().filter(|ring| !ring.to_master).collect();
        assert_eq!(back.iter().map(|ring| ring.index).collect::<Vec<_>>(), (0..offered).collect::<Vec<_>>());
        assert!(back.iter().all(|ring| ring.offset == layout.place(false, ring.index).0));
    }
    for wrong in [0, 17] {
        let slave = || Settings::new(Role::Slave, 0);
        let all = [
            Settings { rings_to_slave: wrong, ..slave() },
            Settings { rings_to_master: wrong, ..slave() },
            Settings { rings_least: wrong, ..slave() },
        ];
        assert!(all.iter().all(|settings| settings.check() == Err(SettingsError::Rings(wrong))));
    }
}

/// A switch with several cores needs one ring for each core in each direction. A peer with fewer rings is rejected with
/// a reason, whether the switch is master or slave.
#[test]
fn fewer_rings_than_cores_are_refused_with_reason() {
    let of = |role, settings: &dyn Fn(Settings) -> Settings| {
        Machine::new(Time::ZERO, settings(Settings { log2_ring: 4, ..Settings::new(role, 0) })).unwrap()
    };
    let mut master = of(Role::Master, &|s| s.each_way(3));
    let mut slave = of(Role::Slave, &|s| s.each_way(3));
    let [at_master, _] = talk(&mut master, &mut slave);
    assert!(master.is_up() && slave.is_up());
    let rings: Vec<(bool, u16)> = at_master
        .iter()
        .filter_map(|output| match output {
            Output::Ring(ring) => Some((ring.to_master, ring.index)),
            _ => None,
        })
        .collect();
    assert_eq!(rings, [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2)]);
    for (to_master, to_slave, way, there) in [(2, 3, "to the master", 2), (3, 1, "to the slave", 1)] {
        let offers = |s: Settings| Settings { rings_to_master: to_master, rings_to_slave: to_slave, ..s };
        let mut master = of(Role::Master, &|s| s.each_way(3));
        let mut slave = of(Role::Slave, &offers);
        let [at_master, at_slave] = talk(&mut master, &mut slave);
        let few = Refusal::FewRings { way, there, needed: 3 };
        assert_eq!(at_master.last(), Some(&Output::Down(Down::Refused(few))));
        let words = format!("the peer has {there} memif rings {way}; 3 are needed, one for each core");
        assert!(words.contains(match at_slave.last() {
            // The message has room for 96 bytes.
            Some(Output::Down(Down::Peer { reason, .. })) => reason.as_str(),
            other => panic!("{other:?}"),
        }));
    }
    let mut slave = of(Role::Slave, &|s| s.each_way(3));
    let hello = Hello {
        name: Name::new("x"),
        min_version: VERSION,
        max_version: VERSION,
        max_region: 0,
        max_m2s_ring: 7,
        max_s2m_ring: 1,
        max_log2_ring: 14,
    };
    let outputs = received(&mut slave, &Message::Hello(hello), 0);
    assert_eq!(refused(&outputs), Refusal::FewRings { way: "to the master", there: 2, needed: 3 });
}
