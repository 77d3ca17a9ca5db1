/**
 * Lists the calls in all sessions of a store that wait for a person or an outside program. This needs no agent and no
 * lease. A question of a child session is listed once, under the child.
 */

import { anObject, checkOptions, nonEmptyString, numberFrom, type OptionTable } from "../../check-options.js";
import { parseCallKey } from "../../core/data/call-key.js";
import type { SessionInfo } from "../../core/machine/state.js";
import { askedAt, type PendingApproval } from "../../core/view/outcome.js";
import type { AskingSession, Store } from "../../ports/store.js";
import { createCheckedStore } from "../log/checked-store.js";
import { emptyIfUnreadable, listOwnQuestions } from "../log/open-questions.js";

/** A waiting call, and its session. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & {
  /** The binding of its session. */
  readonly session: SessionInfo;
  /** When its session began to wait, in epoch milliseconds. The list is in this order. */
  readonly waitsSince: number;
};

/** Which waiting calls to list. */
export type PendingApprovalsOptions = {
  /** Only calls of this session. */
  readonly sessionId?: string;
  /** Only calls after this one in the list, for example after the last one of a page. */
  readonly after?: Pick<StoredApproval, "waitsSince" | "sessionId" | "callKey" | "questionId">;
};

type ApprovalCursor = NonNullable<PendingApprovalsOptions["after"]>;

const optionRules: OptionTable<PendingApprovalsOptions> = { sessionId: nonEmptyString, after: anObject };
const cursorRules: OptionTable<ApprovalCursor> = {
  waitsSince: numberFrom(0),
  sessionId: nonEmptyString,
  callKey: nonEmptyString,
  questionId: nonEmptyString,
};

/**
 * The calls in all sessions of a store that wait for a person or an outside program. The session that has waited longest
 * comes first. The store is read while the calls are consumed.
 *
 * Answered calls are omitted, even if no driver has consumed the answer yet. Sessions that a later version wrote are
 * also omitted, because this version cannot answer in them.
 *
 * @example
 * ```ts
 * for await (const { sessionId, callKey, name, input } of pendingApprovals(store)) {
 *   console.log(`${sessionId}: ${name} ${JSON.stringify(input)} (${callKey})`);
 * }
 * ```
 * @throws PawlError `bad_configuration`, `store_corrupt`, `store_failed`
 */
export async function* pendingApprovals(
  store: Store,
  options: PendingApprovalsOptions = {},
): AsyncGenerator<StoredApproval, void, undefined> {
  checkOptions("pendingApprovals()", optionRules, options);
  const { sessionId, after: cursor } = options;
  if (cursor !== undefined) checkOptions("the option after of pendingApprovals()", cursorRules, cursor);
  const checked = createCheckedStore(store);
  const first = sessionId ?? cursor?.sessionId;
  if (first !== undefined) yield* skipTo(await loadSessionApprovals(checked, first), cursor);
  if (sessionId !== undefined) return;
  let after = cursor === undefined ? undefined : { askedAt: cursor.waitsSince, sessionId: cursor.sessionId };
  // Pages grow while the consumer continues, so that a consumer of a few calls causes few reads.
  for (let limit = readAtOnce; ; limit = Math.min(2 * limit, maxPage)) {
    const page: readonly AskingSession[] = await checked.asking({ limit, ...(after === undefined ? {} : { after }) });
    for (let at = 0; at < page.length; at += readAtOnce) {
      const reads = page.slice(at, at + readAtOnce).map((session) => toStoredApprovals(checked, session));
      // Errors are thrown in turn, below. The consumer may have stopped before that.
      for (const read of reads) read.catch(() => {});
      for (const read of reads) yield* await read;
    }
    after = page.at(-1);
    if (page.length < limit) return;
  }
}

const maxPage = 128;
/** How many sessions are read in parallel: each read over a network has latency. */
const readAtOnce = 16;

/** The calls of one session. */
async function loadSessionApprovals(store: Store, sessionId: string): Promise<readonly StoredApproval[]> {
  return emptyIfUnreadable(async () => {
    const state = (await store.load(sessionId))?.state ?? null;
    const waitsSince = state === null ? null : askedAt(state);
    return waitsSince === null ? [] : toStoredApprovals(store, { sessionId, askedAt: waitsSince, state, inbox: 1 });
  });
}

/**
 * Returns the calls of the cursor's session that come after the cursor. If the session has continued and waits again, it comes later in the
 * list. A call may ask several questions: if the cursor's question is already answered, the call's other questions are listed again, so
 * that none is missed.
 */
function skipTo(approvals: readonly StoredApproval[], cursor: ApprovalCursor | undefined): readonly StoredApproval[] {
  if (cursor === undefined || approvals[0]?.sessionId !== cursor.sessionId) return approvals;
  if (approvals[0].waitsSince !== cursor.waitsSince) return [];
  const at = approvals.findIndex(
    ({ callKey, questionId }) => callKey === cursor.callKey && questionId === cursor.questionId,
  );
  if (at >= 0) return approvals.slice(at + 1);
  return approvals.filter(({ callKey }) => parseCallKey(callKey).position >= parseCallKey(cursor.callKey).position);
}

async function toStoredApprovals(
  store: Store,
  { sessionId, askedAt: waitsSince, state, inbox }: AskingSession,
): Promise<readonly StoredApproval[]> {
  const session = state?.session;
  if (state === null || session === null || session === undefined) return [];
  const questions = await listOwnQuestions(store, sessionId, state, inbox > 0);
  return questions.map(({ toolCallId: _, ...approval }) => ({ ...approval, session, waitsSince }));
}
