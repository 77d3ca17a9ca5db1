/**
 * Redacts a session: removes content from its log, and from the child sessions of its calls.
 */
import { anyValue, checkOptions, type OptionTable } from "../../check-options.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { minSecretLength } from "../../core/data/mask.js";
import { PawlError } from "../../errors.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import { checkNoteAndBy } from "./check-answer.js";
import { redactDelayed } from "./delayed.js";
import { type RedactionTarget, redactSession } from "./redact-session.js";

/** What to remove from a session: strings, entries, calls, or several of them. */
export type RedactionOptions = {
  /**
   * Strings of 6 characters or more, such as a key. Each is replaced wherever it occurs: in messages, inputs, outputs, prompts, summaries,
   * the title, the session's data, stored files and delayed messages, including where JSON has escaped it. Child sessions are also
   * searched.
   */
  readonly text?: string | readonly string[];
  /** Entries of the log: everything from people, models and tools in them is replaced, including files. */
  readonly seq?: number | readonly number[];
  /** Tool calls: their inputs, outputs and questions are replaced. */
  readonly callKey?: string | readonly string[];
  /** The person who requests it. The log records it. */
  readonly by?: string;
  /** Why, in at most 10,000 characters. The log records it; it must not repeat what is removed. */
  readonly note?: string;
};

/** What was removed from a session. */
export type RedactionResult = {
  readonly sessionId: string;
  /** The entry that records the redaction; null if no entry had anything to replace. */
  readonly seq: number | null;
  /** The entries whose content was replaced, in ascending order. */
  readonly entries: readonly number[];
  /** How many stored prompts, outputs and files were removed or replaced. */
  readonly blobs: number;
  /** The results of those child sessions that contained one of the strings. */
  readonly children: readonly RedactionResult[];
};

/** Removes content from sessions. */
export type Redacting = {
  /**
   * Replaces content with `[redacted]` for all later readers of the session, and removes it from the store. The numbers of entries and the
   * cursors of events stay the same. The log records who requested it, when, and which entries changed. A redaction can be repeated.
   *
   * The session and its child sessions must be at rest. Copies outside the session are not affected: requests to the model's provider,
   * exports, traces, backups, forks, and whatever clients have displayed.
   * @throws PawlError `session_busy` while a run is in progress or waits; `no_session`, `bad_input`, `store_failed`
   */
  readonly redact: (options: RedactionOptions) => Promise<RedactionResult>;
};

const optionRules: OptionTable<RedactionOptions> = {
  text: anyValue,
  seq: anyValue,
  callKey: anyValue,
  by: anyValue,
  note: anyValue,
};
const otherNames = {
  texts: "text",
  secret: "text",
  value: "text",
  seqs: "seq",
  entry: "seq",
  entries: "seq",
  call: "callKey",
  user: "by",
  reason: "note",
};

const maxTexts = 100;
const maxNote = 10_000;

type RedactionDeps = { readonly store: Store; readonly clock: Clock };

export function createRedacting(id: string, deps: RedactionDeps): Redacting {
  return {
    async redact(options) {
      checkOptions("redact()", optionRules, options, { code: "bad_input", otherNames });
      const { by, note } = options;
      checkNoteAndBy({ by, note });
      if (note !== undefined && note.length > maxNote)
        throw new PawlError("bad_input", `\`note\` has ${note.length} characters; at most ${maxNote} are kept.`);
      const target = toTarget(options);
      return deepFreeze(await redactFamily(deps, id, target, defined({ by, note })));
    },
  };
}

/** Children come first: if a child is not at rest, the parent is not redacted either, so the redaction cannot appear complete. */
async function redactFamily(
  deps: RedactionDeps,
  sessionId: string,
  target: RedactionTarget,
  reason: { readonly by?: string; readonly note?: string },
): Promise<RedactionResult> {
  const children: RedactionResult[] = [];
  if (target.texts.length > 0) {
    const childTarget: RedactionTarget = { texts: target.texts, seqs: new Set(), callKeys: new Set() };
    for await (const childId of listChildren(deps.store, sessionId)) {
      const child = await redactFamily(deps, childId, childTarget, reason);
      if (child.seq !== null || child.blobs > 0 || child.children.length > 0) children.push(child);
    }
  }
  await redactDelayed(deps.store, sessionId, target.texts);
  return { sessionId, ...(await redactSession(deps, sessionId, target, reason)), children };
}

const pageSize = 100;

async function* listChildren(store: Store, parent: string): AsyncGenerator<string, void, undefined> {
  const ids: string[] = [];
  // A redaction moves a session to the front of the list, so all ids are read before the first redaction.
  for (let after: { readonly updatedAt: number; readonly sessionId: string } | undefined; ; ) {
    const page = await store.list({ parent, limit: pageSize, ...defined({ after }) });
    ids.push(...page.filter(({ seq }) => seq > 0).map(({ sessionId }) => sessionId));
    const last = page.at(-1);
    if (last === undefined || page.length < pageSize) break;
    after = { updatedAt: last.updatedAt, sessionId: last.sessionId };
  }
  yield* ids;
}

function toTarget({ text, seq, callKey }: RedactionOptions): RedactionTarget {
  const texts = toList(text);
  const seqs = toList(seq);
  const callKeys = toList(callKey);
  if (texts.length + seqs.length + callKeys.length === 0)
    throw new PawlError("bad_input", "redact() has nothing to remove. Give text, seq or callKey.");
  if (texts.length > maxTexts)
    throw new PawlError("bad_input", `redact() accepts at most ${maxTexts} strings at once; got ${texts.length}.`);
  // Error messages never repeat the string: it is a secret.
  if (!texts.every((one) => typeof one === "string" && one.length >= minSecretLength))
    throw new PawlError(
      "bad_input",
      `\`text\` must be a string of at least ${minSecretLength} characters, or a list of such strings: a shorter string is likely to be part of other words. To remove a short secret, name the entries that contain it with \`seq\`.`,
    );
  if (!seqs.every((one) => Number.isSafeInteger(one) && (one as number) >= 1))
    throw new PawlError("bad_input", "`seq` must be an entry number, 1 or more, or a list of such numbers.");
  if (!callKeys.every((one) => typeof one === "string" && one !== ""))
    throw new PawlError(
      "bad_input",
      '`callKey` must be the key of a tool call, such as "run/1/1", or a list of such keys.',
    );
  return { texts: texts as string[], seqs: new Set(seqs as number[]), callKeys: new Set(callKeys as string[]) };
}

function toList(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
