use std::{
    future::Future,
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use futures_timer::Delay;

use crate::{Error, ErrorKind, Result};

/// Waits for `future` no longer than `limit`; needs no particular runtime. What is ready at once starts
/// no timer: that would wake the timer's thread for every call.
pub(super) async fn within<T>(
    limit: Duration,
    what: &'static str,
    future: impl Future<Output = T>,
) -> Result<T> {
    let mut future = pin!(future);
    let mut delay = None;
    std::future::poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        let delay = Pin::new(delay.get_or_insert_with(|| Delay::new(limit)));
        delay.poll(cx).map(|()| {
            let message = format!("{what} was not free within {} ms", limit.as_millis());
            Err(Error::new(ErrorKind::Timeout, message))
        })
    })
    .await
}
