//! REST interface of a controller. It has the routes of the controller, and routes that all controllers share.
#![allow(clippy::result_large_err, reason = "one refusal a request")]

use super::{ControllerLogic, Progress, Served};
use ranlab_http::ThreadBridge;
use ranlab_http::guard::Access;
use ranlab_http::openapi::openapi;
use ranlab_http::server::{Answered, Handler, HttpCall, Response, Server, Table, json_response, refused};
use ranlab_machine::routes::{Document, HttpProblem, Routed};
use ranlab_transport::driver::Driver;
use serde_json::{Value, json};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Timeout of an order, and the interval at which its outcome is checked.
const ORDER_PATIENCE: Duration = Duration::from_secs(2);
const ORDER_LOOK: Duration = Duration::from_millis(2);

type Outcome = Result<Value, HttpProblem>;

/// Routes of every controller.
struct Common {
    /// Returns a future that resolves to the counters.
    counters: Box<dyn Fn() -> Answered + Send + Sync>,
    /// OpenAPI description of all routes.
    description: Value,
}

ranlab_machine::routes! {
    async impl Common: Handler<Common>, at "", faults [401, 403, 405, 421, 503] {
        Get "/healthz" health -> 200, Operator, "health check";
        Get "/openapi.json" description -> 200, Operator, "this description";
        Get "/v1/counters" counters -> 200, Operator, "counters, and whether the controller is overloaded";
    }
}

impl Common {
    async fn health(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        Ok(json_response(&json!({ "status": "ok" })))
    }

    async fn description(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        Ok(json_response(&self.description))
    }

    async fn counters(self: Arc<Self>, _: HttpCall) -> Result<Response, Response> {
        (self.counters)().await
    }
}

/// Returns the server of a controller.
pub(crate) fn server<P: ControllerLogic>(driver: Rc<Driver<Served<P>>>, access: Access) -> Server {
    let desk = ThreadBridge::open(driver);
    let own = Document { routes: P::ROUTES, details: P::DETAILS };
    let common = Document { routes: Common::ROUTES, details: "{}" };
    let counting = desk.clone();
    let counters = move || {
        let desk = counting.clone();
        let answer: Answered = Box::pin(async move {
            let counters = desk.ask(|driver| driver.with(|served, _| counters(&served.policy))).await?;
            Ok(json_response(&counters))
        });
        answer
    };
    let common = Common { counters: Box::new(counters), description: openapi(&[own, common]) };
    let own = Table::new(P::ROUTES, move |index, call| Box::pin(ask(desk.clone(), index, call)));
    Server::new(access).with(own).with(Table::routed(Arc::new(common)))
}

fn counters(policy: &impl ControllerLogic) -> Value {
    let counters = policy.counters();
    let overload = ranlab_sdran::controller::overload(&counters);
    let guidelines = ranlab_sdran::controller::guidelines(&counters);
    json!({ "counters": counters, "overload": overload, "guidelines": guidelines })
}

async fn ask<P: ControllerLogic>(
    desk: ThreadBridge<Rc<Driver<Served<P>>>>,
    index: usize,
    call: HttpCall,
) -> Result<Response, Response> {
    let wrong = |_| refused(&HttpProblem::new(400, "the body is not valid UTF-8"));
    let body = String::from_utf8(call.body.to_vec()).map_err(wrong)?;
    let parameters = call.parameters;
    let outcome = desk.ask_for(move |driver: &Rc<Driver<Served<P>>>, reply| {
        let progress = driver.with(|served, _| P::HANDLERS[index](&mut served.policy, &parameters, &body));
        let driver = driver.clone();
        tokio::task::spawn_local(async move {
            let outcome: Outcome = match progress {
                Ok(Progress::Done(value)) => Ok(value),
                Ok(Progress::Later(order)) => ended(&driver, order).await,
                Err(fault) => Err(fault),
            };
            // Sending fails if the requester has disconnected, which is no error.
            drop(reply.send(outcome));
        });
    });
    match outcome.await? {
        Ok(value) => Ok(json_response(&value)),
        Err(fault) => Err(refused(&fault)),
    }
}

/// Waits for the outcome of an order.
async fn ended<P: ControllerLogic>(driver: &Driver<Served<P>>, order: u64) -> Outcome {
    let begun = tokio::time::Instant::now();
    loop {
        if let Some(ended) = driver.with(|served, _| served.policy.outcome(order)) {
            return ended;
        }
        if begun.elapsed() > ORDER_PATIENCE {
            driver.with(|served, _| served.policy.forget(order));
            let silent = "the base station does not confirm commands; only ranlab's do";
            return Err(HttpProblem::new(504, silent));
        }
        tokio::time::sleep(ORDER_LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::empower::EmpowerServer;
    use crate::flexran::{FlexranServer, ThreadUse};
    use ranlab_http::audit::breaches;
    use ranlab_http::openapi::lines;
    use ranlab_http::token::Token;
    use ranlab_sdran::empower::controller::EmpowerControllerSettings;
    use ranlab_sdran::flexran::controller::FlexranControllerSettings;
    use std::net::{Ipv4Addr, SocketAddr};
    use std::path::Path;

    async fn servers(access: &Access) -> [(&'static str, Server); 2] {
        let anywhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = FlexranControllerSettings::default();
        let flexran = FlexranServer::start(settings, ThreadUse::Inline, anywhere).await.unwrap();
        let empower = EmpowerServer::start(EmpowerControllerSettings::default(), anywhere).await.unwrap();
        [("flexran", flexran.rest(access.clone())), ("empower", empower.rest(access.clone()))]
    }

    async fn ask(server: &Server, method: &str, path: &str, body: &str) -> (u16, String, Value) {
        let request = axum::extract::Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.body(axum::body::Body::from(body.to_owned())).unwrap();
        let response = server.answer(Ipv4Addr::LOCALHOST.into(), request).await;
        let allow = response.headers().get("allow").map(|allow| allow.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, allow.unwrap_or_default(), serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn every_route_rejects_foreign_hosts_and_missing_tokens() {
        ranlab_transport::run(async {
            let (token, text) = Token::made().unwrap();
            for (name, server) in servers(&Access { token: Some(token), ..Access::default() }).await {
                let (breaches, requests) = breaches(&server, &text).await;
                assert!(breaches.is_empty() && requests > 150, "{name}, {requests}: {breaches:?}");
            }
        });
    }

    #[test]
    fn requests_reach_the_controllers() {
        ranlab_transport::run(async {
            let [(_, flexran), (_, empower)] = servers(&Access::default()).await;
            for (server, method, path, body, status, allow) in [
                (&flexran, "GET", "/stats_manager/all", "", 200, ""),
                (&flexran, "GET", "/dl_sched", "", 200, ""),
                (&flexran, "GET", "/v1/counters", "", 200, ""),
                (&flexran, "POST", "/dl_sched/2", "", 404, ""),
                (&flexran, "POST", "/dl_sched/1/enb/x", "", 404, ""),
                (&flexran, "POST", "/dl_sched/1/enb/7", "", 404, ""),
                (&flexran, "POST", "/slice", "{", 400, ""),
                (&flexran, "POST", "/slice/enb/7", "{}", 422, ""),
                (&flexran, "POST", "/rrc/ho/senb/1/ue/70000/tenb/2", "", 404, ""),
                (&flexran, "PUT", "/slice", "{}", 405, "POST"),
                (&flexran, "POST", "/stats_manager/all", "", 405, "GET"),
                (&flexran, "GET", "/stats", "", 404, ""),
                (&empower, "GET", "/api/v1/vbses/", "", 200, ""),
                (&empower, "POST", "/api/v1/vbses", "{}", 404, ""),
                (&empower, "POST", "/api/v1/vbses", r#"{"addr": "00:00:00:00:00:07"}"#, 200, ""),
                (&empower, "GET", "/api/v1/vbses/x", "", 404, ""),
                (&empower, "DELETE", "/api/v1/vbses", "", 405, "GET, POST"),
            ] {
                let answer = ask(server, method, path, body).await;
                assert_eq!((answer.0, &*answer.1), (status, allow), "{method} {path}: {}", answer.2);
            }
        });
    }

    #[test]
    fn stored_openapi_documents_match_the_routes() {
        ranlab_transport::run(async {
            for (name, server) in servers(&Access::default()).await {
                let file = format!("../../../docs/reference/openapi/{name}.json");
                let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                let text = lines(&ask(&server, "GET", "/openapi.json", "").await.2);
                if std::env::var_os("RANLAB_WRITE_OPENAPI").is_some() {
                    std::fs::write(&file, text).unwrap();
                } else {
                    let stored = std::fs::read_to_string(&file).unwrap_or_default();
                    assert!(
                        stored == text,
                        "{} is out of date; run the test with RANLAB_WRITE_OPENAPI=1 to write it",
                        file.display()
                    );
                }
            }
        });
    }
}
