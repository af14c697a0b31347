//! Programs that call a pipeline's functions: the judge for a single frame, and the feeder that replays a trace.
//!
//! The kernel runs a program repeatedly on one frame (`BPF_PROG_TEST_RUN`) and does not restore the frame between runs.
//! The feeder copies the next frame of a trace from a map into the packet and calls the pipeline. Then it counts the
//! verdict and restores the beginning of the packet. Without a pipeline, the feeder measures only the cost of input and
//! output.

use super::object::{MapId, MapKind, MapShape, Program};
use super::path::{ACROSS, CONTEXT, Code, ETHERNET, FOUND, GONE, KEY, function};
use crate::backends::BackendRequest;
use crate::declare::{Direction, Port};
use ranlab_packet::ebpf::{ADJUST_HEAD, ADJUST_TAIL, DROP, FRAME, If, Op, STORE_BYTES, Size};

/// Length of a value of [`MapId::State`], in bytes. The value is the number of the next frame, followed by packet
/// counts by verdict.
const STATE_BYTES: u32 = 32;
/// Bytes before a frame in [`MapId::Trace`]: its port and its length.
const BEFORE: u32 = 8;
/// XDP verdict for the same port. The next value denotes the other port.
const TX: i32 = 3;

/// Returns the program of a port that returns the pipeline's verdict on a frame.
pub(super) fn judge(request: &BackendRequest<'_>, direction: Direction) -> Program {
    let mut code = Code::default();
    let asm = &mut code.asm;
    let pipeline = asm.label();
    let gone = asm.label();
    asm.call_function(pipeline);
    asm.number(Op::And, 0, 0xff);
    asm.jump_if(If::Equal, 0, GONE, gone);
    asm.number(Op::Add, 0, TX - 1);
    asm.exit();
    asm.place(gone);
    asm.end(DROP);
    function(&mut code, request, direction, pipeline);
    code.finish(request)
}

/// A trace to be fed into a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feed {
    /// Number of frames in the trace.
    pub frames: u32,
    /// Maximum length of a frame, in bytes.
    pub frame_bytes_max: u32,
}

impl Feed {
    /// Returns the definitions of two maps: the trace, and the current position.
    #[must_use]
    pub fn maps(&self) -> [MapShape; 2] {
        let value_bytes = BEFORE + self.frame_bytes_max.next_multiple_of(8);
        let array = |id, value_bytes, entries| MapShape {
            id,
            kind: MapKind::Array,
            key_bytes: 4,
            value_bytes,
            entries,
        };
        [array(MapId::Trace, value_bytes, self.frames.max(1)), array(MapId::State, STATE_BYTES, 1)]
    }

    /// Returns a frame in the form of a trace entry.
    #[must_use]
    pub fn value(&self, port: Port, frame: &[u8]) -> Vec<u8> {
        let mut value = (port as u32).to_ne_bytes().to_vec();
        value.extend((frame.len() as u32).to_ne_bytes());
        value.extend(frame);
        value.resize((BEFORE + self.frame_bytes_max.next_multiple_of(8)) as usize, 0);
        value
    }

    /// Returns the numbers of packets fed and sent from a value of [`MapId::State`].
    #[must_use]
    pub fn counted(state: &[u8]) -> (u64, u64) {
        let number = |at: usize| {
            state
                .get(at * 8..)
                .and_then(|rest| rest.first_chunk())
                .map_or(0, |eight| u64::from_ne_bytes(*eight))
        };
        (number(1) + number(2) + number(3), number(2) + number(3))
    }

    /// Returns the program that feeds the trace into a pipeline, or, if `pipeline` is false, only copies the packets.
    #[must_use]
    pub fn program(&self, request: &BackendRequest<'_>, pipeline: bool) -> Program {
        let mut code = Code::default();
        let lost = code.asm.label();
        code.asm.register(Op::Move, CONTEXT, 1);
        code.asm.store_number(Size::Four, FRAME, KEY, 0);
        code.look_up(MapId::State, KEY, lost);
        let asm = &mut code.asm;
        let more = asm.label();
        asm.register(Op::Move, FOUND, 0);
        asm.load(Size::Eight, 1, FOUND, 0);
        asm.store(Size::Four, FRAME, KEY, 1);
        asm.number(Op::Add, 1, 1);
        asm.jump_if(If::Less, 1, self.frames.max(1) as i32, more);
        asm.number(Op::Move, 1, 0);
        asm.place(more);
        asm.store(Size::Eight, FOUND, 0, 1);
        code.look_up(MapId::Trace, KEY, lost);
        self.fill(&mut code);
        let asm = &mut code.asm;
        let counted = asm.label();
        let stands = asm.label();
        let mut functions = Vec::new();
        if pipeline {
            for direction in request.directions {
                let at = asm.label();
                let other = asm.label();
                asm.load(Size::Four, 1, 8, 0);
                asm.jump_if(If::NotEqual, 1, direction.ingress() as i32, other);
                asm.register(Op::Move, 1, CONTEXT);
                asm.call_function(at);
                asm.jump(counted);
                asm.place(other);
                functions.push((*direction, at));
            }
            asm.number(Op::Move, 0, GONE);
        } else {
            asm.number(Op::Move, 0, ACROSS);
        }
        asm.place(counted);
        asm.register(Op::Move, 1, 0);
        asm.number(Op::And, 1, 3);
        asm.number(Op::LeftShift, 1, 3);
        asm.register(Op::Add, 1, FOUND);
        asm.load(Size::Eight, 2, 1, 8);
        asm.number(Op::Add, 2, 1);
        asm.store(Size::Eight, 1, 8, 2);
        // Restores the beginning of the packet. The number of removed bytes is signed.
        asm.register(Op::Move, 2, 0);
        asm.number(Op::Arithmetic, 2, 8);
        asm.number(Op::Negate, 2, 0);
        asm.jump_if(If::Equal, 2, 0, stands);
        asm.register(Op::Move, 1, CONTEXT);
        asm.call(ADJUST_HEAD);
        asm.place(stands);
        asm.place(lost);
        asm.end(DROP);
        for (direction, at) in functions {
            function(&mut code, request, direction, at);
        }
        code.finish(request)
    }

    /// Copies the frame of the entry in register 0 into the packet. Moves the entry to register 8.
    fn fill(&self, code: &mut Code) {
        let asm = &mut code.asm;
        let fits = asm.label();
        let lost = asm.label();
        asm.register(Op::Move, 8, 0);
        asm.load(Size::Four, 9, 8, 4);
        asm.load(Size::Four, 1, CONTEXT, 0);
        asm.load(Size::Four, 3, CONTEXT, 4);
        asm.register(Op::Sub, 3, 1);
        asm.register(Op::Move, 2, 9);
        asm.register(Op::Sub, 2, 3);
        asm.jump_if(If::Equal, 2, 0, fits);
        asm.register(Op::Move, 1, CONTEXT);
        asm.call(ADJUST_TAIL);
        asm.place(fits);
        asm.jump_if(If::Less, 9, ETHERNET.into(), lost);
        asm.jump_if(If::Greater, 9, self.frame_bytes_max as i32, lost);
        asm.register(Op::Move, 1, CONTEXT);
        asm.number(Op::Move, 2, 0);
        asm.register(Op::Move, 3, 8);
        asm.number(Op::Add, 3, BEFORE as i32);
        asm.register(Op::Move, 4, 9);
        asm.call(STORE_BYTES);
        asm.place(lost);
    }
}
