/**
 * What hooks in files say about the permission of a call: `ask` asks about a call that would run, and `allow` lets a call run that would
 * ask.
 *
 * 1. Ask beats allow, and rules beat hooks: no hook allows what a rule denies or asks about, what plan mode denies, or what leaves the
 *    sandbox.
 * 2. The hook and the permission check are parts of one decision in one process, so nothing is stored between them.
 * 3. `allow` is about the input that the hook returned or read. It does not count for an input that a later hook has changed.
 */
import { isDeepStrictEqual } from "node:util";
import type { Json } from "../../index.js";
import type { RuleDecision } from "./decide.js";

export type HookVerdict = {
  readonly verdict: "allow" | "ask";
  /** The question for the person. */
  readonly question?: string | undefined;
  /** The input of the call that the verdict is about. */
  readonly input: Json;
};

/** Sessions may have runs, and so calls, with the same names. */
type CallName = { readonly sessionId: string; readonly callKey: string };

/** The key of a call in maps of this process. */
export function formatCallName({ sessionId, callKey }: CallName): string {
  return JSON.stringify([sessionId, callKey]);
}

export type HookVerdicts = {
  readonly add: (call: CallName, verdict: HookVerdict) => void;
  /** Returns the verdict about a call so far. */
  readonly get: (call: CallName) => HookVerdict | undefined;
  /** Returns the verdict about a call with this input, once. */
  readonly take: (call: CallName, input: Json) => HookVerdict | undefined;
};

/** An interrupted decision never takes its verdict. The oldest verdicts are dropped. */
const maxVerdicts = 1_000;

export function createHookVerdicts(): HookVerdicts {
  const verdicts = new Map<string, HookVerdict>();
  return {
    add(call, verdict) {
      const key = formatCallName(call);
      if (verdicts.get(key)?.verdict === "ask") return;
      const [oldest] = verdicts.keys();
      if (verdicts.size >= maxVerdicts && oldest !== undefined) verdicts.delete(oldest);
      verdicts.set(key, verdict);
    },
    get: (call) => verdicts.get(formatCallName(call)),
    take(call, input) {
      const key = formatCallName(call);
      const verdict = verdicts.get(key);
      verdicts.delete(key);
      return verdict?.verdict === "allow" && !isDeepStrictEqual(verdict.input, input) ? undefined : verdict;
    },
  };
}

/** The beginning of each question from a hook. It is in the log, so other processes also recognize such a question. */
const questionPrefix = "A hook asks about this call";

/** Whether a hook asked this. Only a person answers it: a rule that allows the call does not. */
export function isHookQuestion(question: string | undefined): boolean {
  return question?.startsWith(questionPrefix) === true;
}

/** Applies the verdict of a hook to the decision of the rules. */
export function applyHookVerdict(decided: RuleDecision, hook: HookVerdict | undefined): RuleDecision {
  if (hook === undefined || decided.verdict === "deny") return decided;
  const path = decided.path === undefined ? {} : { path: decided.path };
  if (hook.verdict === "ask") {
    if (decided.verdict === "ask" && decided.rule !== undefined) return decided;
    const question = `${questionPrefix}${hook.question === undefined ? "." : `: ${hook.question}`}`;
    // The person also has to know what the call asks for otherwise, such as to run outside of the sandbox.
    return { ...path, verdict: "ask", question: [question, decided.question].filter(Boolean).join("\n") };
  }
  const { verdict, rule, isBeyondSandbox, mayBeDenied } = decided;
  const isOpen = verdict === "ask" && rule === undefined && isBeyondSandbox !== true && mayBeDenied !== true;
  return isOpen ? { ...path, verdict: "allow" } : decided;
}
