//! Routes of an HTTP interface, declared once: [`routes!`](crate::routes!) makes a constant table of the routes and their
//! handlers.
//!
//! The table serves HTTP (`ranlab-http`: dispatch, access, OpenAPI) as well as callers without HTTP: RMR messages, and
//! machines in virtual time. This module knows no HTTP library.
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::fmt;
use std::str::FromStr;

/// Method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Method {
    /// Reads the resource.
    #[default]
    Get,
    /// Performs another operation.
    Post,
    /// Creates or replaces the resource.
    Put,
    /// Deletes the resource.
    Delete,
}

impl Method {
    /// Returns the name in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    /// Returns the method with this name in HTTP, or `None` for an unsupported method. `HEAD` is treated as `GET`.
    pub fn from_name(name: &str) -> Option<Self> {
        let read = if name == "HEAD" { "GET" } else { name };
        [Self::Get, Self::Post, Self::Put, Self::Delete].into_iter().find(|method| method.name() == read)
    }

    /// Returns whether requests of this method have a body.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put)
    }
}

/// Clients that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// Clients with the operator's access.
    Operator,
    /// The operator and hosted xApps.
    Xapp,
    /// All clients, without a token.
    Anyone,
}

impl Who {
    /// Returns the name in documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Xapp => "xapp",
            Self::Anyone => "anyone",
        }
    }
}

/// Form of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// One JSON value.
    Json,
    /// Plain text.
    Text,
    /// A stream of server-sent events.
    Events,
    /// One JSON value per line, or server-sent events.
    Lines,
    /// An HTML page.
    Page,
    /// Script, style or image of a web page.
    File,
    /// Any bytes of any content type.
    Raw,
}

/// One operation of an HTTP interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// HTTP method of the operation.
    pub method: Method,
    /// Path in HTTP, with `{name}` for a segment and `{*name}` for all remaining ones; empty if the route is not served over
    /// HTTP.
    pub path: &'static str,
    /// Path for callers without HTTP.
    pub resource: &'static str,
    /// Name of the handler.
    pub handler: &'static str,
    /// Description, in one sentence without a full stop.
    pub summary: &'static str,
    /// Names of query parameters.
    pub query: &'static [&'static str],
    /// Schema and form of the request body.
    pub body: Option<(&'static str, Form)>,
    /// Status of a successful response.
    pub status: u16,
    /// Schema of the response; `None`: any object, or no body if the status has none.
    pub answer: Option<&'static str>,
    /// Form of the response.
    pub form: Form,
    /// Clients that may use the route.
    pub who: Who,
    /// Failure statuses that all routes of the table have.
    pub common_faults: &'static [u16],
    /// Further failure statuses of this route.
    pub faults: &'static [u16],
}

impl Route {
    /// Returns the names of the parameters in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(parameter)
    }

    /// Returns the path for callers without HTTP, with these texts as parameters.
    pub fn resource_with(&self, text: impl Fn(&'static str) -> String) -> String {
        let segments = self.resource.split('/');
        let filled = segments.map(|segment| match parameter(segment) {
            Some(name) => encode(&text(name)),
            None => segment.to_owned(),
        });
        filled.collect::<Vec<_>>().join("/")
    }
}

/// Routes of one interface, and details of their OpenAPI description that the routes do not contain.
#[derive(Debug, Clone, Copy)]
pub struct Document {
    /// Routes of the interface.
    pub routes: &'static [Route],
    /// JSON with `info`, `security`, `components`, `parameters` by name, and `operations`: additions to an operation by its id.
    pub details: &'static str,
}

/// Type whose operations are declared with [`routes!`](crate::routes!).
pub trait Routed: Sized + 'static {
    /// Function that handles a request.
    type Handler: Copy + 'static;
    /// Table of the operations.
    const ROUTES: &'static [Route];
    /// Handlers, in the order of the table.
    const HANDLERS: &'static [Self::Handler];

    /// Returns route, handler and parameters of a request without HTTP.
    ///
    /// # Errors
    /// There is no such resource, or it does not have this method.
    fn find(
        method: Method,
        resource: &str,
    ) -> Result<(&'static Route, Self::Handler, Parameters), RouteError> {
        let templates = Self::ROUTES.iter().map(|route| (route, route.resource));
        let (index, parameters) = find(templates, method, resource)?;
        Ok((&Self::ROUTES[index], Self::HANDLERS[index], parameters))
    }
}

/// Reason why a request has no route, or a parameter is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The path is not valid after decoding (RFC 3986 §2.1).
    #[error("the path {0:?} is not valid UTF-8 after decoding")]
    Encoding(String),
    /// No route has this path.
    #[error("unknown resource {path:?}; available: {available}")]
    Unknown {
        /// Path of the request.
        path: String,
        /// Paths of the table.
        available: String,
    },
    /// The path does not have the method.
    #[error("allowed here: {allow}")]
    Method {
        /// Methods of the path.
        allow: Allow,
        /// Clients that may use the most accessible method of the path.
        who: Who,
    },
    /// A parameter is not a number, or is too large.
    #[error("{text:?} is not a valid {what}; allowed: 0 to {most}")]
    Number {
        /// Text of the parameter.
        text: String,
        /// Meaning of the parameter.
        what: &'static str,
        /// Largest allowed value.
        most: u32,
    },
}

impl RouteError {
    /// Returns the status in HTTP.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Encoding(_) => 400,
            Self::Method { .. } => 405,
            Self::Unknown { .. } | Self::Number { .. } => 404,
        }
    }
}

/// Methods of a path. The text is the value of the header `Allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow(Vec<Method>);

impl fmt::Display for Allow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, method) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}", method.name())?;
        }
        Ok(())
    }
}

/// Error response (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpProblem {
    status: u16,
    detail: String,
    reason: Option<&'static str>,
    allow: Option<Allow>,
}

impl HttpProblem {
    /// Returns an error response with this status and description of the fault.
    pub fn new(status: u16, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), reason: None, allow: None }
    }

    /// Adds the reason that a base station reported.
    #[must_use]
    pub fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Adds a known reason for which base stations refuse a control like this one.
    #[must_use]
    pub fn explained(mut self, reason: Option<&str>) -> Self {
        // The explanation applies only if the base station has refused and stated no reason.
        if let Some(reason) = reason.filter(|_| self.reason.is_none() && matches!(self.status, 409 | 502)) {
            self.detail = format!("{}; {reason}", self.detail);
        }
        self
    }

    /// Returns the status.
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Returns the title of the status.
    pub const fn title(&self) -> &'static str {
        match self.status {
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            409 => "Conflict",
            422 => "Unprocessable Content",
            503 => "Service Unavailable",
            504 => "Gateway Timeout",
            _ => "Bad Gateway",
        }
    }

    /// Returns the description of the fault.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Returns the reason reported by the base station.
    pub const fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// Returns the methods that are allowed instead, with status 405.
    pub const fn allow(&self) -> Option<&Allow> {
        self.allow.as_ref()
    }
}

impl From<RouteError> for HttpProblem {
    fn from(error: RouteError) -> Self {
        let problem = Self::new(error.status(), error.to_string());
        let allow = if let RouteError::Method { allow, .. } = error { Some(allow) } else { None };
        Self { allow, ..problem }
    }
}

/// Decoded parameters of a path, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    /// Returns a parameter; empty if the route has none with this name.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(own, _)| *own == name).map_or("", |(_, text)| text)
    }

    /// Returns a parameter that is a number, with its meaning and largest value for the message of the error.
    ///
    /// # Errors
    /// The parameter has other characters than digits, or is too large.
    pub fn number<T: FromStr>(&self, name: &str, what: &'static str, most: u32) -> Result<T, RouteError> {
        let text = self.text(name);
        let digits = !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
        let number = Some(text).filter(|_| digits).and_then(|text| text.parse().ok());
        number.ok_or_else(|| RouteError::Number { text: text.to_owned(), what, most })
    }
}

/// Returns the name of the parameter, if the segment of a template is a parameter.
fn parameter(segment: &'static str) -> Option<&'static str> {
    let name = segment.strip_prefix('{')?.strip_suffix('}')?;
    Some(name.strip_prefix('*').unwrap_or(name))
}

/// Finds the template that matches a path. Returns its position and the parameters. A literal segment takes precedence over a
/// parameter, and an earlier template over a later one. Empty segments are ignored.
///
/// # Errors
/// There is no such path, it does not have this method, or it is not valid after decoding.
pub fn find<'a>(
    templates: impl Iterator<Item = (&'a Route, &'static str)> + Clone,
    method: Method,
    path: &str,
) -> Result<(usize, Parameters), RouteError> {
    find_any(templates, Some(method), path)
}

/// Like [`find`]. `None` stands for a method that no route has.
///
/// # Errors
/// Fails like [`find`].
pub fn find_any<'a>(
    templates: impl Iterator<Item = (&'a Route, &'static str)> + Clone,
    method: Option<Method>,
    path: &str,
) -> Result<(usize, Parameters), RouteError> {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let fitting = || {
        let all = templates.clone().enumerate();
        all.filter_map(|(index, (route, template))| {
            Some((fits(template, &segments)?, index, route, template))
        })
    };
    let Some(best) = fitting().map(|(parameters, ..)| parameters).min() else {
        let mut available: Vec<_> = templates.map(|(_, template)| template).collect();
        available.dedup();
        return Err(RouteError::Unknown { path: path.to_owned(), available: available.join(", ") });
    };
    let fitting = || fitting().filter(|(parameters, ..)| *parameters == best);
    let Some((_, index, _, template)) = fitting().find(|(_, _, route, _)| Some(route.method) == method)
    else {
        let mut allow: Vec<_> = fitting().map(|(_, _, route, _)| route.method).collect();
        allow.sort_unstable();
        allow.dedup();
        let who = fitting().map(|(_, _, route, _)| route.who).max().unwrap_or(Who::Operator);
        return Err(RouteError::Method { allow: Allow(allow), who });
    };
    let parameters = parameters(template, &segments);
    Ok((index, parameters.ok_or_else(|| RouteError::Encoding(path.to_owned()))?))
}

/// Returns the number of parameters of a template that matches the path, otherwise `None`. A parameter `{*name}` counts
/// more than all segments, so that other templates take precedence.
fn fits(template: &'static str, segments: &[&str]) -> Option<usize> {
    let mut named = 0;
    let mut rest = segments.iter();
    for expected in template.split('/').filter(|segment| !segment.is_empty()) {
        let is = rest.next()?;
        if expected.starts_with("{*") {
            return Some(named + segments.len());
        }
        match parameter(expected) {
            Some(_) => named += 1,
            None if expected == *is => {}
            None => return None,
        }
    }
    rest.next().is_none().then_some(named)
}

fn parameters(template: &'static str, segments: &[&str]) -> Option<Parameters> {
    let expected = template.split('/').filter(|segment| !segment.is_empty()).enumerate();
    let decoded = |(place, expected): (usize, &'static str)| {
        let name = parameter(expected)?;
        let end = if expected.starts_with("{*") { segments.len() } else { place + 1 };
        Some(segments.get(place..end)?.iter().map(|segment| decode(segment)).collect::<Option<Vec<_>>>())
            .map(|parts| parts.map(|parts| (name, parts.join("/"))))
    };
    expected.filter_map(decoded).collect::<Option<_>>().map(Parameters)
}

/// Characters of a path segment that are written as they are (RFC 3986 §2.3).
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Decodes a segment of a path (RFC 3986 §2.1); `None` for a `%` without two digits, and if the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let is_code = |rest: &str| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
    };
    let is_sound = text.split('%').skip(1).all(is_code);
    is_sound.then(|| percent_decode_str(text).decode_utf8().ok().map(String::from))?
}

/// Encodes a segment of a path, such that [`decode`] returns the text.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// Declares the operations of a type: a table of [`Route`]s and its handlers, which are methods of the type.
///
/// One operation is `METHOD "RESOURCE" HANDLER(BODY) ?(QUERY...) -> STATUS: ANSWER, WHO or [FAULTS], "SUMMARY";`. The path in
/// HTTP is the resource below the path of the table (`at`), or the path after `@`. `NAME = HANDLER` gives an operation
/// another name than its handler, if several operations have the same handler. `BODY` and `ANSWER` are names of schemas;
/// without `as FORM` they are JSON. `impl TYPE: HANDLER` has handlers of this function type, and `async impl` boxes their
/// futures.
///
/// ```
/// use ranlab_machine::routes::{HttpProblem, Method, Parameters, Routed, Who};
///
/// #[derive(Default)]
/// struct Shelf(Vec<String>);
///
/// ranlab_machine::routes! {
///     impl Shelf: fn(&mut Shelf, &Parameters) -> Result<String, HttpProblem>, at "/v1/", faults [405] {
///         Get "books" books -> 200: Books, Anyone, "all books";
///         Put "books/{name}" put_book(Book) -> 201: Book, Operator or [409], "add a book";
///     }
/// }
///
/// impl Shelf {
///     fn books(&mut self, _: &Parameters) -> Result<String, HttpProblem> {
///         Ok(self.0.join(", "))
///     }
///     fn put_book(&mut self, parameters: &Parameters) -> Result<String, HttpProblem> {
///         self.0.push(parameters.text("name").to_owned());
///         Ok(String::new())
///     }
/// }
///
/// let mut shelf = Shelf::default();
/// let (route, handler, parameters) = Shelf::find(Method::Put, "books/a%20b").unwrap();
/// assert_eq!((route.path, route.who, route.status), ("/v1/books/{name}", Who::Operator, 201));
/// handler(&mut shelf, &parameters).unwrap();
/// assert_eq!(shelf.0, ["a b"]);
/// assert_eq!(Shelf::find(Method::Delete, "books").unwrap_err().to_string(), "allowed here: GET");
/// ```
#[macro_export]
macro_rules! routes {
    (impl $name:ty: $handler:ty, $($rest:tt)+) => {
        $crate::routes!(@table (plain) $name, $handler, $($rest)+);
    };
    (async impl $name:ty: $handler:ty, $($rest:tt)+) => {
        $crate::routes!(@table (boxed) $name, $handler, $($rest)+);
    };
    (@table $kind:tt $name:ty, $handler_type:ty, at $base:literal, faults $common:tt {$(
        $method:ident $resource:literal $(@ $path:literal)? $handler:ident $(= $method_name:ident)? $(($body:ident $(as $body_form:ident)?))?
        $(?($($query:ident),+))? -> $status:literal $(: $answer:ident)? $(as $form:ident)?, $who:ident $(or $faults:expr)?,
        $summary:literal;
    )+}) => {
        impl $crate::routes::Routed for $name {
            type Handler = $handler_type;
            const ROUTES: &'static [$crate::routes::Route] = &[$($crate::routes::Route {
                method: $crate::routes::Method::$method,
                path: $crate::routes!(@path $base $resource $($path)?),
                resource: $resource,
                handler: stringify!($handler),
                summary: $summary,
                query: &[$($(stringify!($query)),+)?],
                body: $crate::routes!(@body $($body $($body_form)?)?),
                status: $status,
                answer: $crate::routes!(@name $($answer)?),
                form: $crate::routes!(@form $($form)?),
                who: $crate::routes::Who::$who,
                common_faults: &$common,
                faults: $crate::routes!(@faults $($faults)?),
            },)+];
            const HANDLERS: &'static [Self::Handler] = &[$($crate::routes!(@handler $kind $name, $handler $($method_name)?),)+];
        }
    };
    (@handler (plain) $name:ty, $handler:ident) => { <$name>::$handler };
    (@handler (boxed) $name:ty, $handler:ident) => { |it, call| Box::pin(<$name>::$handler(it, call)) };
    (@handler $kind:tt $name:ty, $id:ident $handler:ident) => { $crate::routes!(@handler $kind $name, $handler) };
    (@path $base:literal $resource:literal) => { concat!($base, $resource) };
    (@path $base:literal $resource:literal $path:literal) => { $path };
    (@body) => { None };
    (@body $body:ident) => { Some((stringify!($body), $crate::routes::Form::Json)) };
    (@body $body:ident $form:ident) => { Some((stringify!($body), $crate::routes::Form::$form)) };
    (@name) => { None };
    (@name $name:ident) => { Some(stringify!($name)) };
    (@form) => { $crate::routes::Form::Json };
    (@form $form:ident) => { $crate::routes::Form::$form };
    (@faults) => { &[] };
    (@faults $faults:expr) => { &$faults };
}

#[cfg(test)]
mod tests;
