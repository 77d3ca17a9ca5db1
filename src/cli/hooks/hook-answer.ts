/**
 * Parses the answer of a hook's command, in the format of Claude Code.
 *
 * 1. Exit code 0: the JSON on standard output counts, or its text if the event takes text. 2: it blocks, and standard error is the
 *    reason. Any other code: the hook has failed.
 * 2. An answer that cannot be read is a failure, so that a denial with a typo is not an approval.
 */

import { isJsonObject } from "../../core/data/is-object.js";
import { parseJson } from "../../core/index.js";
import type { Json } from "../../index.js";
import { endsInHalfPair } from "../terminal/surrogate-pairs.js";
import type { HookEvent } from "./hooks-file.js";
import type { CommandEnd } from "./run-hook-command.js";

type HookVerdict = "allow" | "ask" | "deny";

export type HookAnswer = {
  /** Why the run ends. */
  readonly stop?: string;
  /** Why what follows is blocked. */
  readonly block?: string;
  /** Text for the model. */
  readonly context?: string;
  /** Whether the call may run, for the permission check. */
  readonly verdict?: Exclude<HookVerdict, "deny">;
  /** The question for the person. */
  readonly question?: string;
  /** The fields of the tool's input that change. */
  readonly input?: { readonly [field: string]: Json };
};

type Members = { readonly [key: string]: Json };

const maxContextCharacters = 10_000;
const maxErrorCharacters = 500;

/** At these events, plain text on standard output is for the model. */
const textEvents: ReadonlySet<HookEvent> = new Set(["SessionStart", "UserPromptSubmit", "SubagentStart", "PreCompact"]);

/** @throws Error that says why the hook has failed */
export function readHookAnswer({ code, stdout, stderr }: CommandEnd, event: HookEvent): HookAnswer {
  if (code === 2) return { block: stderr.trim() || "A hook blocks this, and gives no reason." };
  if (code !== 0) {
    const error = stderr.trim().slice(-maxErrorCharacters);
    throw new Error(`its command ended with exit code ${code}${error === "" ? "" : `: ${error}`}`);
  }
  const text = stdout.trim();
  const isJson = text.startsWith("{");
  if (isJson) {
    const parsed = parseJson(text);
    if (parsed.ok) return readAnswerMembers(parsed.value as Members, event);
    if (!textEvents.has(event)) throw new Error(`its answer is not valid JSON (${parsed.error})`);
  }
  return text === "" || !textEvents.has(event) ? {} : { context: cutContext(text) };
}

function readAnswerMembers(answer: Members, event: HookEvent): HookAnswer {
  const { continue: goesOn, stopReason, decision, reason, hookSpecificOutput = {} } = answer;
  if (goesOn === false) return { stop: readText("stopReason", stopReason) ?? "A hook ends the run." };
  const specific = readMembers("hookSpecificOutput", hookSpecificOutput);
  const context = readText("additionalContext", specific.additionalContext);
  const common = context === undefined || context.trim() === "" ? {} : { context: cutContext(context) };
  if (event === "PermissionRequest" && specific.decision !== undefined)
    return { ...common, ...readRequestDecision(readMembers("decision", specific.decision)) };
  const why = readText("permissionDecisionReason", specific.permissionDecisionReason) ?? readText("reason", reason);
  const verdict = readVerdict(specific.permissionDecision ?? decision);
  if (verdict === "deny") return { ...common, block: why?.trim() || "A hook blocks this, and gives no reason." };
  const { updatedInput } = specific;
  return {
    ...common,
    ...(verdict === undefined ? {} : { verdict }),
    ...(verdict === "ask" && why !== undefined ? { question: why } : {}),
    ...(updatedInput === undefined ? {} : { input: readMembers("updatedInput", updatedInput) }),
  };
}

/** The answer format of PermissionRequest: the hook answers instead of a person. */
function readRequestDecision({ behavior, message, interrupt, updatedInput }: Members): HookAnswer {
  const reason = readText("message", message)?.trim();
  if (behavior === "deny" && interrupt === true) return { stop: reason || "A hook ends the run." };
  if (behavior === "deny") return { block: reason || "A hook blocks this, and gives no reason." };
  if (behavior !== "allow")
    throw new Error(
      `its behavior is ${JSON.stringify(behavior ?? null).slice(0, 100)}, which is neither allow nor deny`,
    );
  return {
    verdict: "allow",
    ...(updatedInput === undefined ? {} : { input: readMembers("updatedInput", updatedInput) }),
  };
}

/** `approve` and `block` are the older words of `decision`. */
const verdicts: { readonly [word: string]: HookVerdict } = {
  allow: "allow",
  approve: "allow",
  ask: "ask",
  deny: "deny",
  block: "deny",
};

function readVerdict(word: Json | undefined): HookVerdict | undefined {
  if (word === undefined || word === null) return undefined;
  const verdict = typeof word === "string" && Object.hasOwn(verdicts, word) ? verdicts[word] : undefined;
  if (verdict === undefined) throw new Error(`its decision is ${JSON.stringify(word).slice(0, 100)}, which is unknown`);
  return verdict;
}

function readText(field: string, value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw new Error(`its ${field} is not a string`);
  return value;
}

function readMembers(field: string, value: Json): Members {
  if (isJsonObject(value)) return value;
  throw new Error(`its ${field} is not an object`);
}

function cutContext(text: string): string {
  if (text.length <= maxContextCharacters) return text;
  const kept = text.slice(0, maxContextCharacters);
  return `${endsInHalfPair(kept) ? kept.slice(0, -1) : kept}\n[The hook wrote ${text.length - maxContextCharacters} more characters, which are left out.]`;
}
