//! Tests of the connection to a RIC.

use super::*;
use ranlab_sdk::transport::Listener;

#[test]
fn ric_that_crashes_at_setup_is_reported_with_dialect_hint() {
    ranlab_sdk::run(async {
        let options = SocketOptions::default();
        let at = |text: String| text.parse::<Address>().unwrap();
        let listener = Listener::bind(&at("tcp://127.0.0.1:0".to_owned()), &options).await.unwrap();
        let place = listener.address().to_string();
        let xapp = XappHandle::start(XappConfig::new(place.clone()), options.clone());
        // The server behaves like a FlexRIC that crashes: it reads the setup request and exits.
        let (stream, _) = listener.accept().await.unwrap();
        stream.readable().await.unwrap();
        drop((stream, listener));
        let error = joined(&xapp).await.unwrap_err();
        assert!(error.contains(&place) && error.ends_with("--dialect flexric"), "{error}");
        // No RIC ever accepted a connection here, so the error has no hint about the dialect.
        let xapp = XappHandle::start(XappConfig::new(place.clone()), options);
        assert_eq!(joined(&xapp).await.unwrap_err(), format!("no program listens at {place}"));
    });
}
