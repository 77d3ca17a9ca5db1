/**
 * Checks the tool choice that a caller passes for a run.
 */
import { isObject } from "../../core/data/is-object.js";
import type { RunToolChoice } from "../../core/machine/event.js";
import { normalizeToolChoice } from "../../core/machine/tool-choice.js";
import { PawlError } from "../../errors.js";

/** The choice as the log stores it. @throws PawlError `bad_input` if it has none of the valid forms */
export function toRecordedToolChoice(given: RunToolChoice): RunToolChoice {
  if (given === "auto" || given === "none" || given === "required" || isForced(given))
    return normalizeToolChoice(given);
  throw new PawlError(
    "bad_input",
    'The toolChoice of a run must be "auto", "none", "required", { tool: name } or { required: true }; the last two may have everyStep: true, to apply to every model call.',
  );
}

function isForced(given: unknown): boolean {
  if (!isObject(given)) return false;
  const { everyStep, tool, required, ...others } = given;
  if (Object.keys(others).length > 0 || (everyStep !== undefined && typeof everyStep !== "boolean")) return false;
  return tool === undefined ? required === true : typeof tool === "string" && tool !== "" && required === undefined;
}
