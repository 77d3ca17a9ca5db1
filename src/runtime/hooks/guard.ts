/**
 * A guard: a hook that looks at what a model is sent and what it answers, while it answers.
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

/** What an `input` guard sees. */
export type GuardInput = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** What the model is sent, without the system prompt. */
  readonly messages: readonly Message[];
};

/** What an `output` guard sees. */
export type GuardOutput = GuardInput & {
  /** The text of the answer so far. */
  readonly text: string;
  /** False while the answer is being streamed. */
  readonly isComplete: boolean;
};

/** What a guard says: nothing lets it pass, `trip` ends the run. */
// biome-ignore lint/suspicious/noConfusingVoidType: a guard that lets it pass needs no return statement.
export type GuardVerdict = void | {
  /** Why the run ends. */
  readonly trip: string;
};

/** What a guard looks at, and when. */
export type GuardOptions = {
  /** Its name in events and messages: 1 to 100 characters. */
  readonly name: string;
  /** Looks at what the model is sent. A trip ends the run with `refused`. */
  readonly input?: (view: GuardInput, context: HookContext) => GuardVerdict | Promise<GuardVerdict>;
  /** Looks at the answer. A trip ends the run with `output_refused`: no event and no result holds the answer. */
  readonly output?: (view: GuardOutput, context: HookContext) => GuardVerdict | Promise<GuardVerdict>;
  /**
   * "run": `input` is asked in the first step of a run, and `output` at the end of an answer without calls. "step": both
   * are asked in each step, and `output` also every 500 characters while the answer is streamed. Default: "run".
   */
  readonly every?: "run" | "step";
  /** Keeps the deltas of each answer back until all guards let it pass. Default: false. */
  readonly hold?: boolean;
  /** Milliseconds after which a call of the guard counts as failed. Default: 10,000. */
  readonly timeoutMs?: number;
  /** Whether a guard that throws or takes too long trips ("closed"). Default: "closed". */
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
 * Makes a hook of a guard. It is asked side by side with the model: no tool runs and no answer counts before it has
 * answered. A crash asks it again.
 * @throws PawlError `bad_configuration`
 *
 * @example
 * ```ts
 * const polite = guard({
 *   name: "polite",
 *   input: ({ messages }) => (tellsSecrets(JSON.stringify(messages)) ? { trip: "That may not be asked." } : undefined),
 *   output: ({ text }) => (text.includes(secret) ? { trip: "It tells a secret." } : undefined),
 * });
 * const agent = createAgent({ model, hooks: [polite] });
 * ```
 */
export function guard(options: GuardOptions): Hook {
  checkOptions("guard()", guardRules, options);
  const { name, input, output, every = "run", hold, timeoutMs, onFailure } = options;
  if (input === undefined && output === undefined)
    throw new PawlError("bad_configuration", `The guard "${name}" has neither input nor output. Give it one of them.`);
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
