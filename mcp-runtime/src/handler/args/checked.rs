//! [`CheckedFn`]: a handler's function behind the rules of its arguments.

use super::Args;
use super::rules::{ArgumentPolicy, ArgumentRules};
use crate::call::invocation::Origin;
use crate::jsonrpc::error::shorten;
use crate::jsonrpc::raw::Raw;
use crate::outcome::{ArgumentErrors, Step};

pub(crate) type CallFn = Box<dyn for<'a> Fn(&Args<'a>, Origin<'a>) -> Result<Step, ArgumentErrors> + Send + Sync>;

/// A function that is called with arguments of the wire.
pub(crate) struct CheckedFn {
    call: CallFn,
    /// Whether the schema demands more than the types check.
    has_constraints: bool,
    /// What the schema demands of the arguments. None if the function checks them itself, as a layered one does, and if
    /// the schema is wrong: then the handler cannot be registered.
    rules: Option<Box<ArgumentRules>>,
}

impl CheckedFn {
    pub(crate) fn new(call: CallFn, rules: Option<Box<ArgumentRules>>) -> Self {
        let has_constraints = rules.as_ref().is_some_and(|rules| rules.has_constraints());
        CheckedFn { call, has_constraints, rules }
    }

    #[cfg(test)]
    pub(crate) fn has_constraints(&self) -> bool {
        self.has_constraints
    }

    /// Whether the variables of a URI match the schema and can be decoded, without calling. The errors say why not.
    pub(crate) fn fits(&self, args: &Args<'_>, policy: ArgumentPolicy) -> Result<(), ArgumentErrors> {
        let Some(rules) = &self.rules else { return Ok(()) };
        let mut problems = rules.all_problems(args, policy);
        if problems.is_empty() {
            problems.extend(rules.undecodable(args));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Checks and decodes the arguments, and starts the handler.
    #[inline]
    pub(crate) fn call<'a>(
        &self,
        args: &Args<'a>,
        origin: Origin<'a>,
        policy: ArgumentPolicy,
    ) -> Result<Step, ArgumentErrors> {
        // Most handlers have types that check all there is to check.
        if (self.has_constraints || policy.strict)
            && self.rules.as_ref().is_some_and(|rules| !rules.accept(args, policy))
        {
            return self.call_leniently(args, origin, policy, Vec::new());
        }
        // Returned as it is: a step is large, and each move of it would cost.
        let step = (self.call)(args, origin);
        match &step {
            Ok(_) if !args.has_untaken() => {}
            Ok(_) => self.log_near_miss(args),
            Err(errors) => return self.call_leniently(args, origin, policy, errors.clone()),
        }
        step
    }

    /// Calls with the lenient reading of the arguments, if there is one, or else says all that is wrong with them.
    #[cold]
    fn call_leniently<'a>(
        &self,
        args: &Args<'a>,
        origin: Origin<'a>,
        policy: ArgumentPolicy,
        errors: ArgumentErrors,
    ) -> Result<Step, ArgumentErrors> {
        let Some(rules) = &self.rules else { return Err(errors) };
        let lenient = if policy.exact_types { None } else { rules.lenient(args) };
        let Some(json) = lenient else { return Err(rules.explain(args, None, policy, errors)) };
        let Ok(read) = Args::json(Some(Raw::new_unchecked(&json))) else {
            return Err(rules.explain(args, None, policy, errors));
        };
        if !rules.accept(&read, policy) {
            return Err(rules.explain(&read, Some(args), policy, Vec::new()));
        }
        (self.call)(&read, origin).map_err(|errors| rules.explain(&read, Some(args), policy, errors))
    }

    /// Logs an unknown argument that looks like a misspelt one: the call goes on without it.
    #[cold]
    fn log_near_miss(&self, args: &Args<'_>) {
        if let Some((sent, meant)) = self.rules.as_ref().and_then(|rules| rules.near_miss(args)) {
            tracing::info!("unknown argument `{}` is ignored; did the caller mean `{meant}`?", shorten(&sent));
        }
    }
}
