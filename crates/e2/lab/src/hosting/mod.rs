//! Resources of xApps that the RIC starts. The module reads the installed manifests and opens private sockets for
//! each xApp. It starts, watches and ends processes as [`ranlab_ric::hosting::Supervisor`] decides.
mod supervisor_thread;

use std::collections::BTreeMap;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ranlab_host::cgroup::ResourceLimits;
use ranlab_host::confine::{self, Confinement, User};
use ranlab_host::trusted;
use ranlab_http::token::Token;
use ranlab_ric::commons::Access;
use ranlab_ric::hosting::manifest::MANIFEST_BYTES_MAX;
use ranlab_ric::hosting::{HOSTED_MAX, Host, HostingHandle, Manifest, Supervisor, XappSpec};
use ranlab_ric::xapps::XappRules;
use ranlab_ric_server::hosted::{Hosted, XappEndpoint};
use ranlab_sdk::RicHandle;
use ranlab_sdk::e2::ric::ListenerProtocol;
use ranlab_sdk::transport::Address;

use ranlab_lab::folder::Folder;
use ranlab_lab::output::{Output, OutputLimits};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

pub(crate) use supervisor_thread::ProcessSupervisor;

/// Maximum number of entries read from the folder.
const ENTRIES_MAX: usize = 1_024;
/// Maximum number of E42 connections per xApp. 64 xApps at this limit leave half of the RIC's connections to others.
const CONNECTIONS_MAX: usize = 8;
/// Number of output lines of an xApp that the REST API shows.
const TAIL_LINES: usize = 100;
/// Maximum number of characters per output line that the REST API shows.
const TAIL_CHARS: usize = 4_096;

/// An installed xApp and its resources.
pub(crate) struct Installed {
    manifest: Manifest,
    user: User,
    /// Folder of the xApp at the RIC, with sockets that only this xApp can open.
    folder: PathBuf,
    token: (Token, String),
    output: Arc<Output>,
}

/// All installed xApps, none of which has been started yet.
pub(crate) struct Installation {
    xapps: Vec<Installed>,
    /// Access rights of each xApp outside its own namespace.
    access: BTreeMap<String, Access>,
    _folder: Folder,
}

impl Installation {
    /// Reads the manifests in a folder and creates a folder for each xApp. Only the operator may have write access to
    /// the files.
    ///
    /// # Errors
    ///
    /// Returns an error if another user has write access, a manifest is invalid, or this process may not start
    /// processes as other users.
    pub(crate) fn read(from: &Path) -> Result<Self, ComponentError> {
        if trusted::own_uid() != 0 {
            return Err(environment(
                "--manifests starts each xApp as a separate user, which requires root (or omit the flag and start the xApps yourself)",
            ));
        }
        let wrong = |path: &Path, why: &dyn std::fmt::Display| rig(format!("{}: {why}", path.display()));
        trusted::check_folder(from).map_err(rig)?;
        let entries = std::fs::read_dir(from).map_err(|error| wrong(from, &error))?;
        let mut files: Vec<PathBuf> = entries.take(ENTRIES_MAX).flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
        files.sort();
        if files.is_empty() || files.len() > HOSTED_MAX {
            let why = format!("{} manifests (NAME.toml) found; 1 to {HOSTED_MAX} are allowed", files.len());
            return Err(wrong(from, &why));
        }
        let mut folder = Folder::default();
        let place = folder.passable()?;
        let mut xapps = Vec::new();
        let mut users = BTreeMap::new();
        for file in files {
            let text = trusted::read(&file, MANIFEST_BYTES_MAX).map_err(rig)?;
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let manifest = Manifest::from_toml(&name, &text).map_err(|why| wrong(&file, &why))?;
            let user = User::named(&manifest.said.user).map_err(|why| wrong(&file, &why))?;
            if let Some(other) = users.insert(user.uid, name.clone()) {
                let why =
                    format!("user {} already belongs to {other}; each xApp needs a separate user", user.uid);
                return Err(wrong(&file, &why));
            }
            let program = trusted::program(&manifest.said.command).map_err(|why| wrong(&file, &why))?;
            for path in [&program, &manifest.said.folder] {
                check_seen(path).map_err(|why| wrong(&file, &why))?;
            }
            xapps.push(Installed::new(manifest, user, &place)?);
        }
        Ok(Self { xapps, access: BTreeMap::new(), _folder: folder })
    }

    /// Assigns to each xApp the rule that its manifest names.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule does not exist.
    pub(crate) fn bind(&mut self, rules: &mut XappRules) -> Result<(), ComponentError> {
        for xapp in &self.xapps {
            let address = Address::Unix(xapp.e42()).to_string();
            let name = &xapp.manifest.name;
            rules
                .host(name, &address, &xapp.manifest.said.rule)
                .map_err(|why| rig(format!("xApp {name}: {why}")))?;
            self.access.insert(name.clone(), rules.access(name));
        }
        Ok(())
    }

    /// Returns the access rights of each xApp outside its own namespace, after [`bind`](Self::bind).
    pub(crate) fn access(&self) -> BTreeMap<String, Access> {
        self.access.clone()
    }

    /// Opens the private E42 socket of each xApp at the RIC.
    ///
    /// # Errors
    ///
    /// Returns an error if a socket cannot be bound.
    pub(crate) async fn listen(&self, ric: &RicHandle) -> Result<(), ComponentError> {
        for xapp in &self.xapps {
            let address = Address::Unix(xapp.e42());
            let listens = ric.listen_within(ListenerProtocol::E42, &address, CONNECTIONS_MAX, |_| true).await;
            listens.map_err(environment)?;
            xapp.give(&xapp.e42())?;
        }
        Ok(())
    }

    /// Creates the control mailbox of all xApps with its iApp at the RIC, and the private HTTP socket of each xApp.
    ///
    /// # Errors
    ///
    /// Returns an error if a socket cannot be created.
    pub(crate) fn doors(
        &self,
        ric: &RicHandle,
        supervisor: &Supervisor,
    ) -> Result<(HostingHandle, Hosted), ComponentError> {
        let tail = |xapp: &Installed| -> Arc<dyn Fn() -> Vec<String> + Send + Sync> {
            let output = xapp.output.clone();
            Arc::new(move || output.last_lines())
        };
        let desk = HostingHandle::new(supervisor.statuses(), self.xapps.iter().map(tail).collect());
        ric.add_iapp(Box::new(Host::new(desk.clone())));
        let mut doors = Vec::new();
        for xapp in &self.xapps {
            let path = xapp.http();
            let socket = UnixListener::bind(&path)
                .map_err(|error| environment(format!("cannot listen at {}: {error}", path.display())))?;
            xapp.give(&path)?;
            doors.push(XappEndpoint::new(xapp.manifest.name.clone(), xapp.token.0.clone(), socket));
        }
        Ok((desk.clone(), Hosted::new(desk, doors)))
    }

    /// Returns the supervisor, which decides when xApps run.
    pub(crate) fn supervisor(&self) -> Supervisor {
        let spec = |xapp: &Installed| XappSpec {
            name: xapp.manifest.name.clone(),
            restart: xapp.manifest.restart(),
            start: xapp.manifest.said.start,
        };
        Supervisor::new(ranlab_sdk::now(), self.xapps.iter().map(spec).collect())
    }
}

/// Checks that a path is visible inside an xApp's sandbox.
fn check_seen(path: &Path) -> Result<(), String> {
    let real = std::fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if confine::is_hidden(&real) {
        let why = format!(
            "{} is not visible to an xApp, because xApps see private folders in place of {}; use another folder",
            path.display(),
            confine::OWN_FOLDERS.join(", ")
        );
        return Err(why);
    }
    Ok(())
}

impl Installed {
    fn new(manifest: Manifest, user: User, place: &Path) -> Result<Self, ComponentError> {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        let name = &manifest.name;
        let cannot = |path: &Path, error: &dyn std::fmt::Display| {
            environment(format!("cannot create {}: {error}", path.display()))
        };
        let folder = place.join(name);
        // The folder belongs to this process, so that an xApp cannot replace the sockets in it. The group of the xApp
        // may enter the folder.
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .and_then(|()| std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o710)))
            .map_err(|error| cannot(&folder, &error))?;
        chown(&folder, None, Some(user.gid)).map_err(|error| cannot(&folder, &error))?;
        let log = &manifest.said.log;
        let path = log.file.clone().unwrap_or_else(|| place.join(format!("{name}.log")));
        let file = trusted::append(&path).map_err(|why| rig(format!("log of xApp {name}: {why}")))?;
        let keep = OutputLimits {
            file_bytes: log.file_kib << 10,
            lines: TAIL_LINES,
            chars: TAIL_CHARS,
            bytes_per_s: Some(log.kib_per_s << 10),
        };
        let output = Output::keeping(path.clone(), file, keep).map_err(|error| cannot(&path, &error))?;
        let token = Token::made().map_err(|error| environment(format!("cannot create a token: {error}")))?;
        Ok(Self { manifest, user, folder, token, output: Arc::new(output) })
    }

    fn e42(&self) -> PathBuf {
        self.folder.join("e42.sock")
    }

    fn http(&self) -> PathBuf {
        self.folder.join("http.sock")
    }

    /// Changes the owner of a socket to the xApp's user. Then only that user and root can use the socket.
    fn give(&self, path: &Path) -> Result<(), ComponentError> {
        use std::os::unix::fs::PermissionsExt;
        let given = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .and_then(|()| chown(path, Some(self.user.uid), Some(self.user.gid)));
        given.map_err(|error| environment(format!("cannot change the owner of {}: {error}", path.display())))
    }

    fn confinement(&self) -> Confinement {
        let settings = &self.manifest.said;
        let bounds = ResourceLimits {
            memory_bytes: settings.limits.memory_mib << 20,
            cpus: settings.limits.cpus,
            processes: settings.limits.processes,
        };
        Confinement {
            user: self.user,
            bounds,
            open_files: settings.limits.open_files,
            network: settings.network,
        }
    }

    /// Returns the environment variables of the xApp: variables that the manifest allows or sets, and the RIC's
    /// addresses.
    fn environment(&self, http: Option<&str>) -> Vec<(String, String)> {
        let settings = &self.manifest.said;
        let mut all = vec![
            ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME".to_owned(), settings.folder.display().to_string()),
        ];
        let own =
            settings.environment.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?)));
        all.extend(own);
        all.extend(settings.set.iter().map(|(name, value)| (name.clone(), value.clone())));
        all.extend([
            ("RANLAB_XAPP".to_owned(), self.manifest.name.clone()),
            ("RANLAB_E42".to_owned(), Address::Unix(self.e42()).to_string()),
        ]);
        if let Some(http) = http {
            all.extend([
                ("RANLAB_HTTP".to_owned(), http.to_owned()),
                ("RANLAB_HTTP_SOCKET".to_owned(), self.http().display().to_string()),
                ("RANLAB_TOKEN".to_owned(), self.token.1.clone()),
            ]);
        }
        all
    }
}
