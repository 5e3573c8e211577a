//! The same call by callers with a token: one that is known, and one that is new.

use super::{
    Era,
    server::Server,
    tokens::{Issuer, Tokens},
};
use crate::{
    Result,
    options::Lengths,
    report::{self, Report},
    subject::{Program, Subject},
    valgrind,
};

pub const BEARER: &str = "known bearer token";
pub const CACHED_JWT: &str = "cached JWT";
pub const NEW_JWT: &str = "uncached JWT";

/// Tokens whose user is found in a table.
pub const KNOWN_TOKENS: [&str; 2] = [BEARER, CACHED_JWT];

/// A new token takes many times the instructions of a known one, and so many times the time of the driver.
const FEWER: usize = 5;

pub fn instructions(lengths: Lengths, report: &mut Report) -> Result<()> {
    let issuer = Issuer::new()?;
    let (keys, token) = (issuer.keys().to_string(), issuer.token(0)?);
    let secret = "a-token-of-32-characters-or-so-1";
    for era in Era::ALL {
        for (kind, program, token) in [
            (BEARER, Program::ours_authorized("bearer", secret)?, secret),
            (CACHED_JWT, Program::ours_authorized("jwt", &keys)?, &token),
        ] {
            let tokens = Tokens::of(vec![token.to_owned()]);
            count((era, kind), &program, lengths, &tokens, report)?;
        }
    }
    let lengths = Lengths { counted_calls: lengths.counted_calls / FEWER, ..lengths };
    let tokens = (0..2 * lengths.counted_calls).map(|number| issuer.token(number)).collect::<Result<_>>()?;
    count((Era::Modern, NEW_JWT), &Program::ours_authorized("jwt", &keys)?, lengths, &Tokens::of(tokens), report)?;

    eprintln!("counting instructions: the signature of a JWT");
    let [modulus, exponent] = issuer.public_key();
    let program = Program::signature([&modulus, &exponent, &token])?;
    let count = valgrind::instructions_per_call(&program, lengths, |mut command, times| {
        let status = command.arg(times.to_string()).status()?;
        if status.success() { Ok(()) } else { Err(format!("`signature` ended with {status}").into()) }
    })?;
    report.add(report::SIGNATURE, Subject::Ours, count);
    Ok(())
}

fn count(
    (era, kind): (Era, &str),
    program: &Program,
    lengths: Lengths,
    tokens: &Tokens,
    report: &mut Report,
) -> Result<()> {
    eprintln!("counting instructions: {}, HTTP {era}, {kind}", Subject::Ours);
    let count = valgrind::instructions_per_call(program, lengths, |command, calls| {
        let mut server = Server::start(command)?;
        let client = server.connect_with(era, 1, tokens)?;
        server.call(client, calls)?;
        server.stop()
    })?;
    report.add(report::http_authorized(era, kind), Subject::Ours, count);
    Ok(())
}
