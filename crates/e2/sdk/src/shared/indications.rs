//! Indications of one subscription, on any thread.
use super::queue::{Item, Queue, QueueCounts};
use super::xapp::Xapp;
use crate::typed::{Malformed, Report};
use crate::xapp::Route;
use futures_core::Stream;
use ranlab_e2::xapp::IndicationView;
use ranlab_e2_codec::e2sm::{Encoding, Model, ServiceModel, SmError, Table};
use std::future::poll_fn;
use std::io;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Indications of one subscription. Dropping the value ends the subscription.
///
/// The queue keeps the latest [`UNREAD_MAX`](crate::UNREAD_MAX) unread indications, with a total size of at most
/// [`UNREAD_BYTES_MAX`](crate::UNREAD_BYTES_MAX). Older indications are dropped and counted
/// ([`counts`](Self::counts)). A slow reader therefore delays no other request.
pub struct Indications {
    /// Handle that keeps the thread of the xApp alive.
    xapp: Xapp,
    queue: Arc<Queue>,
    route: Route,
    model: Option<&'static dyn Model>,
}

impl Indications {
    pub(super) fn new(
        xapp: Xapp,
        queue: Arc<Queue>,
        route: Route,
        model: Option<&'static dyn Model>,
    ) -> Self {
        Self { xapp, queue, route, model }
    }

    /// Returns the next indication, or `None` once the xApp has ended. Cancel-safe.
    pub async fn next(&self) -> Option<Item> {
        poll_fn(|cx| self.queue.poll(cx)).await
    }

    /// Returns the next indication if one is available.
    pub fn try_next(&self) -> Option<Item> {
        self.queue.take()
    }

    /// Decodes an indication to a table. Returns `None` if the service model is unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes do not belong to the model.
    pub fn table(&self, item: &Item) -> Result<Option<Table>, SmError> {
        let IndicationView { header, message, .. } = &item.indication;
        self.model.map(|model| model.table(model.encoding(), header, message)).transpose()
    }

    /// Returns the counters of the queue.
    pub fn counts(&self) -> QueueCounts {
        self.queue.counts()
    }

    /// Returns whether the subscription has ended and all indications were read.
    pub fn is_over(&self) -> bool {
        self.queue.is_over()
    }

    /// Ends the subscription. Unread indications can still be read.
    pub fn end(&self) {
        // If the queue ended before, its route has already been released, or the xApp has ended.
        if self.queue.end() {
            let route = self.route;
            self.xapp.actor().release(move |state| state.handle.end_route(route));
        }
    }

    /// Returns a descriptor for event loops of other languages. It is readable while there are indications, or after
    /// the end.
    ///
    /// # Errors
    /// Returns an error if the process has no free descriptor.
    pub fn descriptor(&self) -> io::Result<RawFd> {
        self.queue.descriptor()
    }
}

/// Stream of the indications; it ends with the xApp.
impl Stream for Indications {
    type Item = Item;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Item>> {
        self.queue.poll(cx)
    }
}

impl Drop for Indications {
    fn drop(&mut self) {
        self.end();
    }
}

/// Decoded reports of a service model, usable on any thread. Dropping the value ends the subscription.
pub struct ReportStream<M> {
    indications: Indications,
    encoding: Encoding,
    model: PhantomData<fn() -> M>,
}

impl<M: ServiceModel> ReportStream<M> {
    pub(super) fn new(indications: Indications, encoding: Encoding) -> Self {
        Self { indications, encoding, model: PhantomData }
    }

    /// Returns the next report, or an indication that cannot be decoded; `None` once the xApp has ended. Cancel-safe.
    pub async fn next(&self) -> Option<Result<Report<M>, Box<Malformed>>> {
        Some(self.read(self.indications.next().await?))
    }

    /// Returns the next report if one is available.
    pub fn try_next(&self) -> Option<Result<Report<M>, Box<Malformed>>> {
        self.indications.try_next().map(|item| self.read(item))
    }

    /// Returns the counters of the queue.
    pub fn counts(&self) -> QueueCounts {
        self.indications.counts()
    }

    fn read(&self, item: Item) -> Result<Report<M>, Box<Malformed>> {
        let Item { node, subscription, indication } = item;
        Report::decode(self.encoding, node, subscription, indication)
    }
}

/// Stream of the results of [`ReportStream::next`]; it ends with the xApp.
impl<M: ServiceModel> Stream for ReportStream<M> {
    type Item = Result<Report<M>, Box<Malformed>>;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.indications.queue.poll(cx).map(|item| item.map(|item| self.read(item)))
    }
}
