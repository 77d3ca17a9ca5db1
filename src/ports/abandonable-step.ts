/**
 * Marks a step that a shutdown does not wait for. The step changes nothing, so the process that continues the call runs it again. Not part
 * of the public API.
 */
import type { StepOptions } from "./tool.js";

const abandonableMark = Symbol("abandonable");

export function markAbandonable(options: StepOptions): StepOptions {
  return Object.assign({}, options, { [abandonableMark]: true });
}

export function isAbandonable(options: StepOptions): boolean {
  return abandonableMark in options;
}
