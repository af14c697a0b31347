//! Components and the registry that knows all of them.
//!
//! A component has a typed configuration ([`Component`]), which starts the running component ([`RunningComponent`]). Each domain
//! has a table of its components and rigs ([`Domain`]). A [`Registry`] joins the tables of the domains that a program was built
//! with.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use ranlab_campaign::rig::{Rig, RigDescription};
use ranlab_host::Subject;
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

use crate::divide::PLACES_MAX;
use crate::lab::RigContext;
use crate::worker::{ComponentError, Counters, Report, WorkerTrust};
use crate::{ConfigFields, environment, rig};

/// Default timeout until a component is ready.
pub const START_WAIT: Duration = Duration::from_secs(60);
/// Timeout of an orderly shutdown.
pub const LEAVE_WAIT: Duration = Duration::from_secs(3);

/// Metric: 1 when the load has ended, 0 before.
pub const OVER: &str = "over";
/// Metric of a share of a divided load: 1 when the share is set up and waits for the common start.
pub const SET_UP: &str = "set_up";

/// A started component, or the error of its start.
pub type Started = Result<Box<dyn RunningComponent>, ComponentError>;

/// The configuration of a component, which starts the running component.
pub trait Component: ConfigFields + Serialize + DeserializeOwned + Clone + fmt::Debug + 'static {
    /// Name of the component in messages to workers (`type`). It never changes.
    const TYPE: &'static str;

    /// Starts the component and waits until it is ready.
    fn start(&self, trust: WorkerTrust) -> impl Future<Output = Started>;

    /// Returns the shares of a load for a number of locations (2 to [`PLACES_MAX`]), in the order of the locations.
    ///
    /// # Errors
    /// The component cannot be divided, or the load is too small.
    fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        Err(rig(format!("this load cannot be divided among {places} places")))
    }

    /// Returns the time limits of the component.
    fn waits(&self) -> Waits {
        Waits::default()
    }

    /// Returns the third-party programs that the component runs.
    fn foreign(&self) -> Foreign<'_> {
        Foreign::Nothing
    }

    /// Prepares the component for a repeat, with a folder for the output of third-party programs. Returns whether it may
    /// keep running between repeats.
    fn admit(&mut self, _folder: Option<&Path>) -> bool {
        false
    }
}

/// Time limits of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Time until the component is ready.
    pub start: Duration,
    /// Time until the component has ended.
    pub end: Duration,
    /// Time after the end of the campaign until physical resources of the machine are returned; 0 without such
    /// resources.
    pub restore: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { start: START_WAIT, end: LEAVE_WAIT, restore: Duration::ZERO }
    }
}

/// Third-party programs that a component runs. They need the user's permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign<'a> {
    /// No third-party program.
    Nothing,
    /// A plug-in, as named in the configuration.
    Plugin(&'a str),
    /// The commands of a profile.
    Commands,
}

/// A running component.
pub trait RunningComponent {
    /// Returns the subject of the meters, or `None` if the component does not run on this machine.
    fn subject(&self) -> Option<Subject> {
        Some(Subject::Process { pid: std::process::id() })
    }
    /// Returns the metered process, if it is a single one.
    fn pid(&self) -> Option<u32> {
        if let Some(Subject::Process { pid }) = self.subject() { Some(pid) } else { None }
    }
    /// Returns the listening addresses of the component, by name.
    fn addresses(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Returns an error if the component has failed.
    fn check(&mut self) -> Result<(), ComponentError> {
        Ok(())
    }
    /// Returns the current numbers of the component.
    fn counters(&mut self) -> Counters {
        Counters::new()
    }
    /// Begins a measurement window.
    fn begin(&mut self) {}
    /// Ends the window. Adds the numbers and distributions of the window to the report.
    fn end(&mut self, _report: &mut Report) {}
    /// Resets the component for the next repetition.
    fn reset(&mut self) -> Pin<Box<dyn Future<Output = Result<(), ComponentError>> + '_>> {
        Box::pin(std::future::ready(Ok(())))
    }
    /// Shuts down in order within [`LEAVE_WAIT`], for systems that do not clean up by themselves.
    fn leave(&mut self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }
}

/// Type-erased interface of a component, for [`AnyComponent`].
trait Erased: fmt::Debug {
    fn name(&self) -> &'static str;
    fn copy(&self) -> Box<dyn Erased>;
    fn described(&self) -> &dyn ConfigFields;
    fn fields(&self) -> serde_json::Result<Json>;
    fn start(&self, trust: WorkerTrust) -> Pin<Box<dyn Future<Output = Started> + '_>>;
    fn divide(&self, places: usize) -> Result<Vec<AnyComponent>, ComponentError>;
    fn waits(&self) -> Waits;
    fn foreign(&self) -> Foreign<'_>;
    fn admit(&mut self, folder: Option<&Path>) -> bool;
    fn any(&self) -> &dyn Any;
}

impl<C: Component> Erased for C {
    fn name(&self) -> &'static str {
        C::TYPE
    }
    fn copy(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
    fn described(&self) -> &dyn ConfigFields {
        self
    }
    fn fields(&self) -> serde_json::Result<Json> {
        serde_json::to_value(self)
    }
    fn start(&self, trust: WorkerTrust) -> Pin<Box<dyn Future<Output = Started> + '_>> {
        Box::pin(Component::start(self, trust))
    }
    fn divide(&self, places: usize) -> Result<Vec<AnyComponent>, ComponentError> {
        Ok(Component::divide(self, places)?.into_iter().map(AnyComponent::from).collect())
    }
    fn waits(&self) -> Waits {
        Component::waits(self)
    }
    fn foreign(&self) -> Foreign<'_> {
        Component::foreign(self)
    }
    fn admit(&mut self, folder: Option<&Path>) -> bool {
        Component::admit(self, folder)
    }
    fn any(&self) -> &dyn Any {
        self
    }
}

/// The configuration of any component.
#[derive(Debug)]
pub struct AnyComponent(Box<dyn Erased>);

impl<C: Component> From<C> for AnyComponent {
    fn from(component: C) -> Self {
        Self(Box::new(component))
    }
}

impl Clone for AnyComponent {
    fn clone(&self) -> Self {
        Self(self.0.copy())
    }
}

impl Serialize for AnyComponent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut message = Map::from_iter([("type".to_owned(), Json::from(self.name()))]);
        if let Json::Object(fields) = self.0.fields().map_err(serde::ser::Error::custom)? {
            message.extend(fields);
        }
        message.serialize(serializer)
    }
}

impl AnyComponent {
    /// Returns the `type` of the component's message.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Returns the configuration, if it is of type `C`.
    pub fn get<C: Component>(&self) -> Option<&C> {
        self.0.any().downcast_ref()
    }

    /// Returns the fields of the configuration.
    pub fn described(&self) -> &dyn ConfigFields {
        self.0.described()
    }

    /// Rejects settings that an untrusted peer over TCP may not use on this machine.
    ///
    /// # Errors
    /// Names the setting.
    pub fn permitted(&self, trust: WorkerTrust) -> Result<(), ComponentError> {
        let locals = self.described().locals();
        match locals.first() {
            Some(name) if trust != WorkerTrust::Full => Err(environment(format!(
                "`{name}` names a resource of the worker's machine: only a worker started by ssh or by this program accepts \
                 it, not one over TCP"
            ))),
            _ => Ok(()),
        }
    }

    /// Starts the component and waits until it is ready.
    ///
    /// # Errors
    /// A setting is not permitted, or the component failed.
    pub async fn start(&self, trust: WorkerTrust) -> Started {
        self.permitted(trust)?;
        if let Err(error) = ranlab_net::raise_open_files() {
            // The current limit is enough for few connections. With many, some are rejected, which is reported.
            eprintln!("ranlab worker: cannot raise the limit of open files: {error}");
        }
        self.0.start(trust).await
    }

    /// Returns the shares of a load for a number of locations, in the order of the locations.
    ///
    /// # Errors
    /// The component cannot be divided, or the load is too small.
    pub fn divide(&self, places: usize) -> Result<Vec<Self>, ComponentError> {
        if places == 1 {
            return Ok(vec![self.clone()]);
        }
        if !(1..=PLACES_MAX).contains(&places) {
            return Err(rig(format!("a load has 1 to {PLACES_MAX} places, not {places}")));
        }
        self.0.divide(places)
    }

    /// Returns the time limits of the component.
    pub fn waits(&self) -> Waits {
        self.0.waits()
    }

    /// Returns the third-party programs that the component runs.
    pub fn foreign(&self) -> Foreign<'_> {
        self.0.foreign()
    }

    /// Prepares the component for a repeat; see [`Component::admit`].
    pub fn admit(&mut self, folder: Option<&Path>) -> bool {
        self.0.admit(folder)
    }
}

/// An entry in a domain's table of components.
#[derive(Debug, Clone, Copy)]
pub struct ComponentType {
    /// The `type` of the component's message.
    pub name: &'static str,
    read: fn(Json) -> serde_json::Result<AnyComponent>,
}

impl ComponentType {
    /// Returns the entry of a component.
    pub const fn new<C: Component>() -> Self {
        Self { name: C::TYPE, read: read::<C> }
    }
}

fn read<C: Component>(fields: Json) -> serde_json::Result<AnyComponent> {
    serde_json::from_value::<C>(fields).map(AnyComponent::from)
}

/// A domain's contribution to experiments: components and rigs.
#[derive(Debug)]
pub struct Domain {
    /// Name of the domain, which is also the name of its folder.
    pub name: &'static str,
    /// Components of the domain.
    pub components: &'static [ComponentType],
    /// Rigs of the domain.
    pub rigs: &'static [RigType],
}

/// An entry in a domain's table of rigs.
#[derive(Debug, Clone, Copy)]
pub struct RigType {
    /// Position of the rig in the order in which all rigs are presented.
    pub place: u8,
    /// Creates the rig.
    pub make: fn(&RigContext) -> Box<dyn Rig>,
}

/// The domains of a program.
#[derive(Debug, Clone, Copy)]
pub struct Registry(pub &'static [&'static Domain]);

impl Registry {
    /// Returns all components, by domain.
    pub fn components(&self) -> impl Iterator<Item = &'static ComponentType> + use<> {
        self.0.iter().flat_map(|domain| domain.components)
    }

    /// Reads a component from a worker's message.
    ///
    /// # Errors
    /// There is no such component in this program, or a field is wrong.
    pub fn component(&self, mut message: Json) -> Result<AnyComponent, String> {
        let name = message.as_object_mut().and_then(|message| message.shift_remove("type"));
        let name = name.as_ref().and_then(Json::as_str).ok_or("a component needs a `type`")?;
        let known = || self.components().map(|component| component.name).collect::<Vec<_>>().join(", ");
        let found = self.components().find(|component| component.name == name);
        let found =
            found.ok_or_else(|| format!("this program has no component `{name}`; it has {}", known()))?;
        (found.read)(message).map_err(|error| error.to_string())
    }

    /// Returns all rigs, in the order of presentation.
    pub fn rigs(&self, lab: &RigContext) -> Vec<Box<dyn Rig>> {
        let mut types: Vec<_> = self.0.iter().flat_map(|domain| domain.rigs).collect();
        types.sort_by_key(|rig| rig.place);
        types.into_iter().map(|rig| (rig.make)(lab)).collect()
    }

    /// Returns the rig with this name or former name.
    pub fn rig(&self, lab: &RigContext, name: &str) -> Option<Box<dyn Rig>> {
        self.rigs(lab).into_iter().find(|rig| rig.describe().is(name))
    }

    /// Returns the descriptions of all rigs, for checking scenarios, templates and `doctor`.
    pub fn descriptions(&self, lab: &RigContext) -> Vec<RigDescription> {
        self.rigs(lab).iter().map(|rig| rig.describe()).collect()
    }
}
