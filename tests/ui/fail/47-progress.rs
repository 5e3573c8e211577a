//! Progress: a total that may be unknown, an amount that is no number.
use mcp_runtime::prelude::*;

#[tool]
async fn total(ctx: &Context, total: Option<u64>) {
    ctx.progress(1, total).await;
}

#[tool]
async fn message(ctx: &Context, total: Option<usize>) {
    ctx.progress_message(1, total, "one").await;
}

#[tool]
fn sync(ctx: &Context, total: Option<i32>) {
    ctx.try_progress(1, total);
}

#[tool]
async fn amount(ctx: &Context) {
    ctx.progress("one", 2).await;
}

fn main() {
    let _ = tools![total, message, sync, amount];
}
