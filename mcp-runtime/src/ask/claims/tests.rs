//! Claims on `once` blocks: one runs, the copies wait, and all of it expires.

use super::*;

fn block(number: usize) -> Block {
    Block { dialogue: "d".into(), key: number.to_string().into() }
}

fn owner(principal: &str, until: u64) -> Owner {
    Owner { principal: Some(principal.into()), until }
}

fn granted(claim: &Result<Option<Claim>>) -> bool {
    matches!(claim, Ok(Some(Claim::Granted)))
}

#[test]
fn flood_costs_the_greediest_its_own_memory() {
    let mut table = ClaimTable::default();
    assert!(granted(&table.claim(&block(0))));
    table.settle(&block(0), owner("ada", u64::MAX), Some("1".into()));
    for number in 1..3 * MAX_BLOCKS {
        assert!(granted(&table.claim(&block(number))));
        table.settle(&block(number), owner("mallory", u64::MAX), None);
        assert!(table.blocks.len() <= MAX_BLOCKS);
    }
    assert!(matches!(table.claim(&block(0)), Ok(Some(Claim::Done(Some(_))))), "hers is kept");
    assert!(granted(&table.claim(&block(1))), "the flood's oldest is forgotten");
}

#[test]
fn results_are_bounded_in_bytes_and_expire() {
    let mut table = ClaimTable::default();
    let long: Box<str> = "x".repeat(1024 * 1024).into();
    for number in 0..100 {
        assert!(granted(&table.claim(&block(number))));
        table.settle(&block(number), owner("ada", u64::MAX), Some(long.clone()));
        assert!(table.bytes <= MAX_BYTES);
    }
    let mut table = ClaimTable::default();
    for number in 0..MAX_BLOCKS {
        table.settle(&block(number), owner("ada", 1), None);
    }
    assert!(granted(&table.claim(&block(MAX_BLOCKS))));
    assert_eq!(table.blocks.len(), 1, "what has expired is gone");
}

#[test]
fn sweep_forgets_what_has_expired_and_tells_when_to_come_again() {
    let mut table = ClaimTable::default();
    for number in 0..1000 {
        table.settle(&block(number), owner("ada", 100), Some("1".into()));
    }
    table.settle(&block(1000), owner("ada", 500), Some("1".into()));
    assert!(granted(&table.claim(&block(1001))), "running");
    assert_eq!(table.sweep(100), Some(SWEEP_INTERVAL), "many are forgotten together");
    assert_eq!((table.blocks.len(), table.sweep(101)), (1002, Some(Duration::from_secs(400))));
    assert!(table.blocks.len() == 2 && table.blocks.capacity() < 100, "{}", table.blocks.capacity());
    assert_eq!(table.sweep(501), None, "a block that runs is settled or abandoned");
    assert_eq!(table.bytes, block(1001).bytes());
}

#[tokio::test(start_paused = true)]
async fn expired_results_are_forgotten_though_nobody_comes() {
    let claims = MemoryClaims::swept_by(&Arc::new(Sweeper::new(Duration::from_secs(1))));
    claims.settle(&block(1), &owner("ada", now() - 1), Some("1".into()));
    assert_eq!(lock(&claims.table).blocks.len(), 1);
    tokio::time::sleep(2 * SWEEP_INTERVAL).await;
    let table = lock(&claims.table);
    assert_eq!((table.blocks.len(), table.bytes), (0, 0));
}

#[test]
fn running_blocks_are_never_forgotten() {
    let mut table = ClaimTable::default();
    for number in 0..MAX_BLOCKS {
        assert!(granted(&table.claim(&block(number))));
    }
    assert!(table.claim(&block(MAX_BLOCKS)).is_err());
    assert!(matches!(table.claim(&block(0)), Ok(None)));
    table.remove(&block(0));
    assert!(granted(&table.claim(&block(MAX_BLOCKS))));
    assert_eq!(table.bytes, table.blocks.keys().map(Block::bytes).sum::<usize>());
}
