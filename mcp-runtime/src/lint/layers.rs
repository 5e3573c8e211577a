//! Layers of tools that never do anything, because of what the tool says about itself.

use super::finding::{Findings, Rule, tool_place};
use crate::surface::Surface;

pub(super) fn check(surface: &Surface, found: &mut Findings) {
    for tool in &surface.tools {
        for (text, remedy) in &tool.idle_layers {
            found.add(Rule::IdleLayer, &tool_place(&tool.item.name), *text, *remedy);
        }
    }
}
