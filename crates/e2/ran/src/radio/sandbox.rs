//! A traffic control stage as an interpreted WebAssembly module. It can only compute: it has no imports, no floating
//! point (whose NaNs differ between machines), and no start function.
//!
//! | export | role | meaning |
//! |---|---|---|
//! | `admits(packet_bytes: i32, bearer_bytes: i64, now_us: i64) -> i32` | pacer | whether a packet may go to RLC; 0: no |
//! | `queues() -> i32` | scheduler | address in `memory` where the queues are written; called once |
//! | `pick(queues: i32, now_us: i64) -> i32` | scheduler | index of the next queue (`queues`: number of queues); negative: no queue now |
//! | `memory` | scheduler | |
//!
//! A queue takes 32 bytes, little endian: its number (u32), the length of its first packet (u32; 0 if the queue is
//! empty or a shaper holds it back), bytes queued (u64), packets queued (u64), and bytes sent (u64).
use super::stage::{StageFactory, StageMeter};
use ed25519_dalek::{Signature, VerifyingKey};
use ranlab_e2_codec::e2sm::control::{Reason, Refusal};
use ranlab_e2_codec::e2sm::traffic::{StageModule, StageRole};
use ranlab_radio::user_plane::{QUEUES_MAX, QueueView, TcStage};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use wasmi::{
    CompilationMode, Config, EnforcedLimits, Engine, Linker, Memory, Module, Store, StoreLimits,
    StoreLimitsBuilder, TypedFunc,
};

/// Fuel per call; about one unit per instruction.
const FUEL_PER_CALL: u64 = 20_000;
/// Maximum memory of a module: twenty pages of 64 KiB. A small module built with rustc has seventeen.
const MEMORY_BYTES_MAX: usize = 20 << 16;
const TABLE_ELEMENTS_MAX: usize = 256;
const STACK_BYTES_MAX: usize = 64 << 10;
const RECURSION_MAX: usize = 64;
/// Length of a queue in the module's memory, in bytes.
const QUEUE_BYTES: usize = 32;

/// Checks that keys are valid Ed25519 public keys.
pub(super) fn check_keys(keys: &[[u8; 32]]) -> Result<(), String> {
    let wrong = keys.iter().any(|key| VerifyingKey::from_bytes(key).is_err());
    if wrong { Err("a stage key is not a public key of Ed25519".to_owned()) } else { Ok(()) }
}

/// Creates a stage from a module that was signed with one of these keys.
pub(super) fn made(
    keys: &[[u8; 32]],
    role: StageRole,
    module: &StageModule,
) -> Result<StageFactory, Refusal> {
    let signature = Signature::from_bytes(&module.signature);
    let has_signed = |key: &[u8; 32]| {
        let key = VerifyingKey::from_bytes(key);
        key.is_ok_and(|key| key.verify_strict(&module.wasm, &signature).is_ok())
    };
    if !keys.iter().any(has_signed) {
        let why =
            format!("the module is signed by none of the {} keys that the base station trusts", keys.len());
        return Err(Refusal::new(Reason::Untrusted, why));
    }
    let sandbox = Sandbox::new(role, &module.wasm).map_err(|why| Refusal::new(Reason::Invalid, why))?;
    let meter = Arc::clone(&sandbox.meter);
    Ok((Box::new(sandbox), meter))
}

enum Entry {
    Admits(TypedFunc<(u32, u64, u64), i32>),
    Pick { function: TypedFunc<(u32, u64), i32>, memory: Memory, at: usize },
}

/// A running module.
struct Sandbox {
    store: Store<StoreLimits>,
    entry: Entry,
    meter: Arc<StageMeter>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("meter", &self.meter).finish_non_exhaustive()
    }
}

fn engine() -> Engine {
    let mut config = Config::default();
    config.consume_fuel(true).floats(false).allow_start_fn(false).enforced_limits(EnforcedLimits::strict());
    config.set_max_recursion_depth(RECURSION_MAX).set_min_stack_height(1 << 10);
    config.set_max_stack_height(STACK_BYTES_MAX).compilation_mode(CompilationMode::Eager);
    Engine::new(&config)
}

impl Sandbox {
    fn new(role: StageRole, wasm: &[u8]) -> Result<Self, String> {
        let engine = engine();
        let lacks =
            |name| move |error: wasmi::Error| format!("the export {name} of the module is invalid: {error}");
        let module_error = |error: wasmi::Error| format!("the module is invalid: {error}");
        let module = Module::new(&engine, wasm).map_err(module_error)?;
        let limits =
            StoreLimitsBuilder::new().memory_size(MEMORY_BYTES_MAX).table_elements(TABLE_ELEMENTS_MAX);
        let mut store = Store::new(&engine, limits.memories(1).tables(1).instances(1).build());
        store.limiter(|limits| limits);
        store.set_fuel(FUEL_PER_CALL).map_err(module_error)?;
        let instance =
            Linker::new(&engine).instantiate_and_start(&mut store, &module).map_err(module_error)?;
        let entry = match role {
            StageRole::Pacer => {
                Entry::Admits(instance.get_typed_func(&store, "admits").map_err(lacks("admits"))?)
            }
            StageRole::Scheduler => {
                let function = instance.get_typed_func(&store, "pick").map_err(lacks("pick"))?;
                let memory = instance.get_memory(&store, "memory").ok_or("the module exports no memory")?;
                let queues: TypedFunc<(), u32> =
                    instance.get_typed_func(&store, "queues").map_err(lacks("queues"))?;
                let at = queues.call(&mut store, ()).map_err(module_error)? as usize;
                if memory.data_size(&store).saturating_sub(QUEUES_MAX * QUEUE_BYTES) < at {
                    return Err(format!(
                        "the memory of the module has no room for {QUEUES_MAX} queues at address {at}"
                    ));
                }
                Entry::Pick { function, memory, at }
            }
        };
        Ok(Self { store, entry, meter: Arc::default() })
    }

    /// Calls the module, unless it has failed before. The result of a failed call is ignored.
    fn call(
        &mut self,
        call: impl FnOnce(&mut Store<StoreLimits>, &Entry) -> Result<i32, wasmi::Error>,
    ) -> Option<i32> {
        if self.meter.failed.get().is_some() {
            return None;
        }
        self.meter.calls.fetch_add(1, Relaxed);
        let fuelled = self.store.set_fuel(FUEL_PER_CALL);
        let answer = fuelled.and_then(|()| call(&mut self.store, &self.entry));
        let left = self.store.get_fuel().unwrap_or(0);
        self.meter.fuel.fetch_add(FUEL_PER_CALL.saturating_sub(left), Relaxed);
        match answer {
            Ok(answer) => Some(answer),
            Err(error) => {
                // Reports contain ASCII only, so other characters are replaced. Only the first failure is stored.
                let why =
                    error.to_string().chars().map(|c| if c.is_ascii_graphic() { c } else { ' ' }).collect();
                let _ = self.meter.failed.set(why);
                None
            }
        }
    }

    fn refuse<T>(&self, nothing: T) -> T {
        self.meter.refusals.fetch_add(1, Relaxed);
        nothing
    }
}

fn first(queues: &[QueueView]) -> Option<usize> {
    queues.iter().position(|queue| queue.head_bytes.is_some())
}

/// A failed stage passes all packets and selects the first queue, until it is removed.
impl TcStage for Sandbox {
    fn pick(&mut self, queues: &[QueueView], now_us: u64) -> Option<usize> {
        let picked = self.call(|store, entry| {
            let Entry::Pick { function, memory, at } = entry else { return Ok(-1) };
            for (index, queue) in queues.iter().take(QUEUES_MAX).enumerate() {
                let mut octets = [0; QUEUE_BYTES];
                octets[..4].copy_from_slice(&queue.id.to_le_bytes());
                octets[4..8].copy_from_slice(&queue.head_bytes.unwrap_or(0).to_le_bytes());
                octets[8..16].copy_from_slice(&queue.stats.bytes.to_le_bytes());
                octets[16..24].copy_from_slice(&queue.stats.packets.to_le_bytes());
                octets[24..].copy_from_slice(&queue.stats.forwarded_bytes.to_le_bytes());
                memory.write(&mut *store, at + index * QUEUE_BYTES, &octets).map_err(|error| {
                    // The write cannot fail: memory cannot shrink, and its size was checked when the module was loaded.
                    wasmi::Error::new(error.to_string())
                })?;
            }
            // There are at most 16 queues.
            function.call(store, (queues.len() as u32, now_us))
        });
        let Some(picked) = picked else { return first(queues) };
        let index = usize::try_from(picked).ok();
        let sends = index.filter(|index| queues.get(*index).is_some_and(|queue| queue.head_bytes.is_some()));
        sends.or_else(|| self.refuse(None))
    }

    fn admits(&mut self, packet_bytes: u32, bearer_bytes: u64, now_us: u64) -> bool {
        let admitted = self.call(|store, entry| {
            let Entry::Admits(function) = entry else { return Ok(1) };
            function.call(store, (packet_bytes, bearer_bytes, now_us))
        });
        match admitted {
            Some(0) => self.refuse(false),
            _ => true,
        }
    }
}
