use std::{future::Future, pin::pin, task::Poll, time::Duration};

use futures_timer::Delay;

use crate::{Error, ErrorKind, Result};

/// Waits for `future` no longer than `limit`; needs no particular runtime.
pub(super) async fn within<T>(
    limit: Duration,
    what: &'static str,
    future: impl Future<Output = T>,
) -> Result<T> {
    let mut future = pin!(future);
    let mut delay = pin!(Delay::new(limit));
    std::future::poll_fn(|cx| {
        if let Poll::Ready(value) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        delay.as_mut().poll(cx).map(|()| {
            let message = format!("{what} was not free within {} ms", limit.as_millis());
            Err(Error::new(ErrorKind::Timeout, message))
        })
    })
    .await
}
