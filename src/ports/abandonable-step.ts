/**
 * Marks a step that a shutdown does not wait for: it changes nothing, so whoever continues the call begins it again. Not part of the
 * public API.
 */
import type { StepOptions } from "./tool.js";

const abandonableMark = Symbol("abandonable");

export function markAbandonable(options: StepOptions): StepOptions {
  return Object.assign({}, options, { [abandonableMark]: true });
}

export function isAbandonable(options: StepOptions): boolean {
  return abandonableMark in options;
}
