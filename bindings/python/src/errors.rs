//! Errors as exceptions. They are classes of `ranlab.errors`, which also derive from Python's built-in classes
//! (`ValueError`, `TimeoutError`).
use pyo3::prelude::*;
use ranlab_lab::worker::{ComponentError, FaultOwner as Side};
use ranlab_sdk::e2::xapp::Failure;
use ranlab_sdk::wire::e2sm::SmError;
use ranlab_sdk::{
    Closed, ControlFailure, EffectFailure, FindNodeError, RequestError, StartError, SubscriptionError,
    XappConnectError,
};

/// A class of `ranlab.errors`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A setting or value that is not allowed.
    Config,
    /// A requirement of the machine or the network is missing.
    Environment,
    /// There is no connection.
    Connection,
    /// A RIC or base station refused a request.
    Refused,
    /// No response arrived before the time limit.
    Timeout,
    /// The object is closed.
    Closed,
}

/// An error that becomes a Python exception.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) class: Class,
    pub(crate) text: String,
    /// Outcome that the node sent with a refusal, if any.
    pub(crate) outcome: Option<Vec<u8>>,
}

impl Fault {
    pub(crate) fn new(class: Class, text: impl ToString) -> Self {
        Self { class, text: text.to_string(), outcome: None }
    }

    pub(crate) fn config(text: impl ToString) -> Self {
        Self::new(Class::Config, text)
    }

    fn from_failure(failure: Failure, text: String) -> Self {
        let class = match failure {
            Failure::Cause(_) => Class::Refused,
            Failure::Unanswered => Class::Timeout,
            Failure::Disconnected => Class::Connection,
        };
        Self::new(class, text)
    }
}

impl From<Fault> for PyErr {
    fn from(fault: Fault) -> Self {
        Python::attach(|py| {
            let name = match fault.class {
                Class::Config => "ConfigError",
                Class::Environment => "EnvironmentLacksError",
                Class::Connection => "ConnectionFailedError",
                Class::Refused => "RefusedError",
                Class::Timeout => "UnansweredError",
                Class::Closed => "ClosedError",
            };
            let made = py.import("ranlab.errors").and_then(|errors| {
                let made = errors.getattr(name)?.call1((fault.text,))?;
                if let Some(outcome) = fault.outcome {
                    made.setattr("octets", outcome)?;
                }
                Ok(made)
            });
            made.map_or_else(|error| error, Self::from_value)
        })
    }
}

impl From<ComponentError> for Fault {
    fn from(trouble: ComponentError) -> Self {
        let class = match trouble.fault {
            Side::Rig => Class::Config,
            Side::Environment => Class::Environment,
            Side::Sut => Class::Refused,
        };
        Self::new(class, trouble.what)
    }
}

impl From<SmError> for Fault {
    fn from(error: SmError) -> Self {
        Self::config(error)
    }
}

impl From<XappConnectError> for Fault {
    fn from(error: XappConnectError) -> Self {
        let class = match error {
            XappConnectError::Address(_) => Class::Config,
            XappConnectError::Refused { .. } => Class::Refused,
            _ => Class::Connection,
        };
        Self::new(class, error)
    }
}

impl<E: Into<Self>> From<StartError<E>> for Fault {
    fn from(error: StartError<E>) -> Self {
        match error {
            StartError::Failed(error) => error.into(),
            StartError::Thread(error) => {
                Self::new(Class::Environment, format!("cannot start a thread: {error}"))
            }
            _ => Self::new(Class::Closed, "the thread ended while it started"),
        }
    }
}

impl From<Closed> for Fault {
    fn from(error: Closed) -> Self {
        Self::new(Class::Closed, error)
    }
}

impl From<FindNodeError> for Fault {
    fn from(error: FindNodeError) -> Self {
        match error {
            FindNodeError::Closed(error) => error.into(),
            error => Self::config(error),
        }
    }
}

impl From<RequestError> for Fault {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Subscription(error) => error.into(),
            error => Self::config(error),
        }
    }
}

impl From<SubscriptionError> for Fault {
    fn from(error: SubscriptionError) -> Self {
        match error {
            SubscriptionError::Failed { failure, .. } => Self::from_failure(failure, error.to_string()),
            SubscriptionError::Impossible(_) => Self::config(error),
            _ => Self::new(Class::Closed, error),
        }
    }
}

impl From<ControlFailure> for Fault {
    fn from(error: ControlFailure) -> Self {
        let text = error.to_string();
        match error {
            ControlFailure::Failed { failure, outcome } => {
                Self { outcome: outcome.map(Vec::from), ..Self::from_failure(failure, text) }
            }
            ControlFailure::Impossible(_) => Self::config(text),
            _ => Self::new(Class::Closed, text),
        }
    }
}

impl From<EffectFailure> for Fault {
    fn from(error: EffectFailure) -> Self {
        match error {
            EffectFailure::Control(error) => error.into(),
            EffectFailure::Subscription(error) => error.into(),
            EffectFailure::Silent(_) => Self::new(Class::Timeout, error),
            _ => Self::config(error),
        }
    }
}
