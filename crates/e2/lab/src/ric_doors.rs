//! Sockets of a RIC for other programs: HTTP and RMR.
use super::*;
use ranlab_http::guard::Access;
use ranlab_http::token::TrustedNetworks;
use ranlab_ric_server::hosted::Hosted;
use ranlab_ric_server::rest::{self, Resources, RestConfig};
use ranlab_ric_server::rmr::{self, RmrConfig};

/// Address of an HTTP server, and the peers that may use it.
pub(crate) struct HttpListener {
    address: SocketAddr,
    access: Access,
    hosted: Option<Hosted>,
}

impl HttpListener {
    /// Reads the token and creates the listener settings.
    ///
    /// # Errors
    ///
    /// Returns an error if the file contains no token.
    pub(crate) fn new(
        address: SocketAddr,
        hosts: &[String],
        token: Option<&Path>,
    ) -> Result<Self, ComponentError> {
        Ok(Self { address, access: Access::read(hosts, token, None).map_err(rig)?, hosted: None })
    }

    /// Sets the peers that do not need the token.
    fn trusting(self, trust: Option<TrustedNetworks>) -> Self {
        Self { access: Access { trust, ..self.access }, ..self }
    }
}

impl Ric {
    /// Listens for HTTP and RMR according to the settings.
    ///
    /// # Errors
    ///
    /// Returns an error if an address cannot be bound, or RMR is requested without HTTP.
    pub(super) async fn listen(
        &mut self,
        part: &RicComponent,
        hosted: Option<Hosted>,
    ) -> Result<(), ComponentError> {
        if part.rmr.is_some() && part.http.is_none() {
            return Err(rig("--rmr requires --http, because RMR xApps subscribe over HTTP"));
        }
        let trust = || AllowedPeer::any_of(&part.trust).map(TrustedNetworks::new);
        if let Some(address) = part.rmr {
            // RMR is served before HTTP, because the HTTP API returns the RMR address.
            self.rmr = Some(self.serve_rmr(address, trust()).await?);
        }
        if let Some(address) = part.http {
            let door = HttpListener::new(address, &part.host, part.http_token_file.as_deref())?;
            self.serve("http", HttpListener { hosted, ..door.trusting(trust()) }, None).await?;
        }
        if let Some(address) = self.rmr.clone() {
            self.bound.push(("rmr", address));
        }
        Ok(())
    }

    /// Serves the REST API over HTTP, with an iApp's resources. `name` is the name of the address in `bound`.
    ///
    /// # Errors
    ///
    /// Returns an error if the address cannot be bound.
    pub(crate) async fn serve(
        &mut self,
        name: &'static str,
        door: HttpListener,
        iapp: Option<Resources>,
    ) -> Result<(), ComponentError> {
        let HttpListener { address, access, hosted } = door;
        let console = self.console.get_or_insert_with(|| rest::console(&self.handle)).clone();
        let commons = self.commons.clone();
        let a1 = self.a1.clone();
        let published = self.inside.iter().find_map(|inside| match inside {
            HostedHandle::Monitor { published, .. } => published.clone(),
            HostedHandle::Ping { .. } | HostedHandle::Slicing => None,
        });
        let kpis = self.inside.iter().find_map(|inside| match inside {
            HostedHandle::Monitor { handle, series_max, .. } => {
                Some(KpiExport { monitor: handle.clone(), series_max: *series_max })
            }
            HostedHandle::Ping { .. } | HostedHandle::Slicing => None,
        });
        let termination = self.rmr.clone();
        let config =
            RestConfig { address, access, iapp, console, hosted, commons, a1, published, kpis, termination };
        let served = rest::serve(self.handle.clone(), config).await;
        let served =
            served.map_err(|error| environment(format!("cannot listen for HTTP at {address}: {error}")))?;
        self.bound.push((name, format!("{}://{served}", ranlab_http::https::scheme())));
        Ok(())
    }

    async fn serve_rmr(
        &mut self,
        address: SocketAddr,
        trust: Option<TrustedNetworks>,
    ) -> Result<String, ComponentError> {
        let console = self.console.get_or_insert_with(|| rest::console(&self.handle)).clone();
        let served = rmr::serve(self.handle.clone(), RmrConfig { address, trust, console }).await;
        let cannot = |error| environment(format!("cannot listen for RMR at {address}: {error}"));
        Ok(served.map_err(cannot)?.to_string())
    }
}
