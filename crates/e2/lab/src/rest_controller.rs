//! The association, slicing and traffic controllers as components. Each is a RIC with the respective iApp, and serves
//! a REST API over HTTP.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ranlab_ric::association::{self, Association};
use ranlab_ric::bus::Bus;
use ranlab_ric::slicing::{self, Slicing};
use ranlab_ric::traffic::{self, Traffic};
use ranlab_ric_server::rest::{LocalBus, Resources};
use ranlab_sdk::e2::ric::IApp;
use ranlab_sdk::wire::e2ap::Version;

use crate::e2_fields::E2Names;
use crate::ric::HttpListener;
use crate::{E2_PORT, Ric, RicComponent};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{AllowedPeer, Listen, config, environment, loopback, rig, setting_by_text};

/// Default port of the slicing controller.
pub const SLICING_PORT: u16 = 8091;
/// Default port of the traffic controller.
pub const TRAFFIC_PORT: u16 = 8092;
/// Default port of the association controller.
pub const ASSOCIATION_PORT: u16 = 8093;

config! {
    /// The association controller.
    pub struct AssociationComponent {
        /// address on which the controller accepts base stations; they must use it as default controller; repeatable
        e2: Vec<Listen> = vec![Listen::At(loopback(E2_PORT))], wiring();
        /// address of the HTTP server, which serves /v1/nodes, /v1/policy and /openapi.json
        http: SocketAddr = SocketAddr::from(([127, 0, 0, 1], ASSOCIATION_PORT)), wiring();
        /// file with the bearer token that HTTP requests must carry; required on a non-loopback address
        http_token_file: Option<PathBuf> = None, local();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// address of a second HTTP server, which serves the resources of the slicing controller for the carrier that
        /// operators share
        slicing: Option<SocketAddr> = None, wiring();
        /// accept TCP connections of base stations only from these addresses; repeatable [default: all]
        allow: Vec<AllowedPeer> = Vec::new(), wiring();
        /// E2AP version: 1.01, 2.03 or 3.01; with 3.01, nodes that set up with version 2 or later are treated as
        /// version 3
        e2ap: Version as E2Names = Version::V2_03;
        /// with --slicing: period of the slice statistics requested from base stations
        period: Duration = Duration::from_millis(100);
    }
}

config! {
    /// The slicing controller.
    pub struct SlicingComponent {
        /// address on which the controller accepts base stations; repeatable
        e2: Vec<Listen> = vec![Listen::At(loopback(E2_PORT))], wiring();
        /// address of the HTTP server, which serves /v1/nodes, /v1/policy and /openapi.json
        http: SocketAddr = SocketAddr::from(([127, 0, 0, 1], SLICING_PORT)), wiring();
        /// file with the bearer token that HTTP requests must carry; required on a non-loopback address
        http_token_file: Option<PathBuf> = None, local();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// accept TCP connections of base stations only from these addresses; repeatable [default: all]
        allow: Vec<AllowedPeer> = Vec::new(), wiring();
        /// E2AP version: 1.01, 2.03 or 3.01; with 3.01, nodes that set up with version 2 or later are treated as
        /// version 3
        e2ap: Version as E2Names = Version::V2_03;
        /// period of the slice statistics requested from base stations
        period: Duration = Duration::from_millis(100);
    }
}

config! {
    /// The traffic controller.
    pub struct TrafficComponent {
        /// address on which the controller accepts base stations; repeatable
        e2: Vec<Listen> = vec![Listen::At(loopback(E2_PORT))], wiring();
        /// address of the HTTP server, which serves /v1/nodes, /v1/events and /openapi.json
        http: SocketAddr = SocketAddr::from(([127, 0, 0, 1], TRAFFIC_PORT)), wiring();
        /// file with the bearer token that HTTP requests must carry; required on a non-loopback address
        http_token_file: Option<PathBuf> = None, local();
        /// additional host name accepted in the Host header of HTTP requests, besides IP addresses and localhost;
        /// repeatable
        host: Vec<String> = Vec::new(), wiring();
        /// destination of RLC and TRAFFIC statistics: local (/v1/events) or redis://HOST:PORT
        bus: BusUrl = BusUrl::Local, wiring();
        /// accept TCP connections of base stations only from these addresses; repeatable [default: all]
        allow: Vec<AllowedPeer> = Vec::new(), wiring();
        /// E2AP version: 1.01, 2.03 or 3.01; with 3.01, nodes that set up with version 2 or later are treated as
        /// version 3
        e2ap: Version as E2Names = Version::V2_03;
        /// period of the statistics requested from base stations
        period: Duration = Duration::from_millis(10);
    }
}

/// The address of a bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusUrl {
    /// A bus inside the controller, accessible over its HTTP server.
    Local,
    /// A Redis server: `redis://HOST:PORT`.
    Redis(String),
}
setting_by_text!(BusUrl);

impl FromStr for BusUrl {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "local" => Ok(Self::Local),
            url if url.starts_with("redis://") => Ok(Self::Redis(url.to_owned())),
            // An address without a scheme is the address of a Redis server.
            place if !place.contains("://") && place.contains(':') => {
                Ok(Self::Redis(format!("redis://{place}")))
            }
            _ => Err(format!(
                "\"{text}\" is not a bus: expected local or redis://HOST:PORT, for example redis://127.0.0.1:6379"
            )),
        }
    }
}

impl fmt::Display for BusUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Redis(url) => f.write_str(url),
        }
    }
}

impl AssociationComponent {
    /// Listens and serves. Must be called inside a `LocalSet`. The RIC's `bound` also contains `http` and, if
    /// configured, `slicing`.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, or the period is not supported.
    pub async fn serve(&self) -> Result<Ric, ComponentError> {
        let door = |address| HttpListener::new(address, &self.host, self.http_token_file.as_deref());
        let iapp = Association::new().map_err(rig)?;
        let resources = Resources { iapp: association::NAME, document: association::DOCUMENT, events: None };
        let ric = RicComponent {
            e2: self.e2.clone(),
            allow: self.allow.clone(),
            e2ap: self.e2ap,
            ..RicComponent::default()
        };
        let mut ric = together(ric, Box::new(iapp), door(self.http)?, resources).await?;
        if let Some(address) = self.slicing {
            let iapp = Slicing::new(self.period).map_err(rig)?;
            let resources = Resources { iapp: slicing::NAME, document: slicing::DOCUMENT, events: None };
            ric.handle.add_iapp(Box::new(iapp));
            ric.serve("slicing", door(address)?, Some(resources)).await?;
        }
        Ok(ric)
    }
}

impl SlicingComponent {
    /// Returns the settings of the controller's RIC.
    pub(crate) fn ric(&self) -> RicComponent {
        RicComponent {
            e2: self.e2.clone(),
            allow: self.allow.clone(),
            e2ap: self.e2ap,
            ..RicComponent::default()
        }
    }

    /// Returns the slicing iApp of the controller.
    ///
    /// # Errors
    ///
    /// Returns an error if the period is not supported.
    pub(crate) fn iapp(&self) -> Result<Slicing, ComponentError> {
        Slicing::new(self.period).map_err(rig)
    }

    /// Listens and serves. Must be called inside a `LocalSet`. The RIC's `bound` also contains `http`.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, or the period is not supported.
    pub async fn serve(&self) -> Result<Ric, ComponentError> {
        let iapp = self.iapp()?;
        let resources = Resources { iapp: slicing::NAME, document: slicing::DOCUMENT, events: None };
        let door = HttpListener::new(self.http, &self.host, self.http_token_file.as_deref())?;
        together(self.ric(), Box::new(iapp), door, resources).await
    }
}

impl TrafficComponent {
    /// Returns the settings of the controller's RIC.
    pub(crate) fn ric(&self) -> RicComponent {
        RicComponent {
            e2: self.e2.clone(),
            allow: self.allow.clone(),
            e2ap: self.e2ap,
            ..RicComponent::default()
        }
    }

    /// Returns the traffic iApp of the controller, which publishes on this bus.
    ///
    /// # Errors
    ///
    /// Returns an error if the period is not supported.
    pub(crate) fn iapp(&self, bus: Box<dyn Bus>) -> Result<Traffic, ComponentError> {
        Traffic::new(self.period, bus).map_err(rig)
    }

    /// Listens and serves. Must be called inside a `LocalSet`. The RIC's `bound` also contains `http`.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, the period is not supported, or the bus is unreachable.
    pub async fn serve(&self) -> Result<Ric, ComponentError> {
        let local = LocalBus::default();
        let (bus, events): (Box<dyn Bus>, _) = match &self.bus {
            BusUrl::Local => (Box::new(local.clone()), Some(local)),
            BusUrl::Redis(url) => (redis(url)?, None),
        };
        let iapp = self.iapp(bus)?;
        let resources = Resources { iapp: traffic::NAME, document: traffic::DOCUMENT, events };
        let door = HttpListener::new(self.http, &self.host, self.http_token_file.as_deref())?;
        together(self.ric(), Box::new(iapp), door, resources).await
    }
}

async fn together(
    ric: RicComponent,
    iapp: Box<dyn IApp>,
    door: HttpListener,
    resources: Resources,
) -> Result<Ric, ComponentError> {
    let mut ric = Ric::start(&ric).await?;
    ric.handle.add_iapp(iapp);
    ric.serve("http", door, Some(resources)).await?;
    Ok(ric)
}

#[cfg(feature = "redis")]
fn redis(url: &str) -> Result<Box<dyn Bus>, ComponentError> {
    Ok(Box::new(ranlab_ric_server::redis::RedisBus::connect(url).map_err(environment)?))
}

#[cfg(not(feature = "redis"))]
fn redis(url: &str) -> Result<Box<dyn Bus>, ComponentError> {
    Err(environment(no_redis(url)))
}

/// Returns the error of a build without a Redis client.
#[cfg(feature = "redis")]
pub(crate) fn sdl(url: &str, termination: Option<String>) -> Result<Box<dyn IApp>, ComponentError> {
    Ok(Box::new(ranlab_ric_server::sdl::Sdl::connect(url, termination).map_err(environment)?))
}

#[cfg(not(feature = "redis"))]
pub(crate) fn sdl(url: &str, _: Option<String>) -> Result<Box<dyn IApp>, ComponentError> {
    Err(environment(format!(
        "{url} needs a Redis client, which this build lacks: build it with --features redis"
    )))
}

#[cfg(not(feature = "redis"))]
pub(crate) fn no_redis(url: &str) -> String {
    format!(
        "{url} needs a Redis client, which this build lacks: build it with --features redis, or use --bus local"
    )
}
