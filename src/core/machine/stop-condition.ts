/**
 * Stop conditions as data. They are checked between two steps of a run, which ends when one of them holds.
 */
import type { CallOutcome } from "./state.js";

/** A condition that any process can check: on the number of steps, on a call, or on the text of the last step. */
export type PlainCondition =
  | {
      /** The run stops after this many model calls. */
      readonly steps: number;
    }
  | {
      /** The run stops when this tool was called. */
      readonly tool: string;
      /** Only calls with this outcome count. Default: any. */
      readonly outcome?: CallOutcome;
    }
  /** The source and flags of a regular expression. */
  | {
      /** A regular expression that the text of the step matches. */
      readonly text: string;
      /** The flags of the regular expression. */
      readonly flags?: string;
    };

/** A condition of a run as the log stores it. For a function, the log stores only its name. */
export type RecordedCondition =
  | PlainCondition
  | {
      /** The name of the author's function. */
      readonly function: string;
    };

/** The name of a condition in events, results and traces. A long pattern is cut. */
export function nameOfCondition(condition: RecordedCondition): string {
  if ("steps" in condition) return `stepCount(${condition.steps})`;
  if ("function" in condition) return `${functionPrefix}${condition.function}`;
  if ("tool" in condition) {
    const outcome = condition.outcome === undefined ? "" : `, ${condition.outcome}`;
    return `toolCalled(${condition.tool}${outcome})`;
  }
  const { text, flags = "" } = condition;
  return `textMatches(/${text.length > maxPattern ? `${text.slice(0, maxPattern)}…` : text}/${flags})`;
}

/** Whether a recorded name belongs to a function. */
export function isFunctionCondition(condition: string): boolean {
  return condition.startsWith(functionPrefix);
}

const functionPrefix = "function ";
const maxPattern = 200;
