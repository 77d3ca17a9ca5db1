/**
 * A guard: a hook that checks the request to a model and its answer, while the model streams.
 */
import {
  aBoolean,
  aFunction,
  anyValue,
  checkOptions,
  type OptionTable,
  oneOf,
  timeLimit,
} from "../../check-options.js";
import type { Message } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { Hook, HookContext, ModelStreamSubject } from "../../ports/hook.js";

/** The argument of an `input` guard. */
export type GuardInput = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** The messages of the request, without the system prompt. */
  readonly messages: readonly Message[];
};

/** The argument of an `output` guard. */
export type GuardOutput = GuardInput & {
  /** The text of the answer so far. */
  readonly text: string;
  /** False while the answer is being streamed. */
  readonly isComplete: boolean;
};

/** The verdict of a guard: undefined accepts the content, `trip` ends the run. */
// biome-ignore lint/suspicious/noConfusingVoidType: a guard that lets it pass needs no return statement.
export type GuardVerdict = void | {
  /** Why the run ends. */
  readonly trip: string;
};

/** What a guard checks, and when. */
export type GuardOptions = {
  /** Its name in events and messages: 1 to 100 characters. */
  readonly name: string;
  /** Checks the request. A trip ends the run with `refused`. */
  readonly input?: (view: GuardInput, context: HookContext) => GuardVerdict | Promise<GuardVerdict>;
  /** Checks the answer. A trip ends the run with `output_refused`: no event and no result contains the answer. */
  readonly output?: (view: GuardOutput, context: HookContext) => GuardVerdict | Promise<GuardVerdict>;
  /**
   * "run": `input` is called in the first step of a run, and `output` at the end of an answer without calls. "step": both
   * are called in each step, and `output` also every 500 characters while the answer is streamed. Default: "run".
   */
  readonly every?: "run" | "step";
  /** Holds back the deltas of each answer until all guards accept it. Default: false. */
  readonly hold?: boolean;
  /** The time limit of one call of the guard, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Whether a guard that throws or times out trips ("closed") or not ("open"). Default: "closed". */
  readonly onFailure?: "open" | "closed";
};

const guardRules: OptionTable<GuardOptions> = {
  name: anyValue,
  input: aFunction,
  output: aFunction,
  every: oneOf("run", "step"),
  hold: aBoolean,
  timeoutMs: timeLimit,
  onFailure: oneOf("open", "closed"),
};

/**
 * Creates a hook from a guard. It runs in parallel with the model: no tool runs and no answer counts before the guard has returned. After a
 * crash, it is called again.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * const polite = guard({
 *   name: "polite",
 *   input: ({ messages }) => (tellsSecrets(JSON.stringify(messages)) ? { trip: "The request asks for a secret." } : undefined),
 *   output: ({ text }) => (text.includes(secret) ? { trip: "The answer contains a secret." } : undefined),
 * });
 * const agent = createAgent({ model, hooks: [polite] });
 * ```
 */
export function guard(options: GuardOptions): Hook {
  checkOptions("guard()", guardRules, options);
  const { name, input, output, every = "run", hold, timeoutMs, onFailure } = options;
  if (input === undefined && output === undefined)
    throw new PawlError(
      "bad_configuration",
      `The guard "${name}" has neither input nor output. Give it at least one of them.`,
    );
  const isWanted = (subject: ModelStreamSubject): boolean =>
    every === "step" ||
    (subject.stage === "input" ? subject.modelCallIndex === 1 : subject.isComplete && !subject.hasCalls);
  return {
    name,
    ...(hold === undefined ? {} : { hold }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(onFailure === undefined ? {} : { onFailure }),
    besideLLMCall(subject, context) {
      if (!isWanted(subject)) return undefined;
      if (subject.stage === "input") return input?.(subject, context);
      return output?.(subject, context);
    },
  };
}
