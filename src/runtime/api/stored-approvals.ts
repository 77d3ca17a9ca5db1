/**
 * Lists the calls in all sessions of a store that wait for a person or an outside program. This needs no agent and no
 * lease. A question of a child session is listed once, under the child.
 */

import { anObject, checkOptions, nonEmptyString, numberFrom, type OptionTable } from "../../check-options.js";
import type { SessionInfo } from "../../core/machine/state.js";
import { askedAt, type PendingApproval } from "../../core/view/outcome.js";
import type { AskingSession, Store } from "../../ports/store.js";
import { createCheckedStore } from "../log/checked-store.js";
import { emptyIfUnreadable, listOwnQuestions } from "../log/open-questions.js";

/** A waiting call, and its session. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & {
  /** What its session is bound to. */
  readonly session: SessionInfo;
  /** Since when its session has waited, in epoch milliseconds: the list is in this order. */
  readonly waitsSince: number;
};

/** Which of the waiting calls are listed. */
export type PendingApprovalsOptions = {
  /** Only calls of this session. */
  readonly sessionId?: string;
  /** Only calls behind this one in the list, for example behind the last one of a page. */
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
 * The calls in all sessions of a store that wait for a person or an outside program. The session that has asked for the
 * longest comes first. The store is read while the calls are consumed.
 *
 * An answered call is left out, even if no driver has taken the answer yet. Sessions that a later version wrote are
 * left out, because this version cannot answer in them.
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
  // Whoever wants a few reads a few: pages grow as long as the consumer goes on.
  for (let limit = readAtOnce; ; limit = Math.min(2 * limit, maxPage)) {
    const page: readonly AskingSession[] = await checked.asking({ limit, ...(after === undefined ? {} : { after }) });
    for (let at = 0; at < page.length; at += readAtOnce) {
      const reads = page.slice(at, at + readAtOnce).map((session) => toStoredApprovals(checked, session));
      // An error is thrown when its turn comes. The consumer may have left by then.
      for (const read of reads) read.catch(() => {});
      for (const read of reads) yield* await read;
    }
    after = page.at(-1);
    if (page.length < limit) return;
  }
}

const maxPage = 128;
/** Sessions that are read side by side: a store behind a network answers each read after a while. */
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
 * Of the calls of one session, those behind a place. If the session has gone on since, and waits anew, it stands further behind in
 * the list, and comes there. A call may ask several questions; if the one of the place is answered, the call's others are listed
 * again: better than to leave one out.
 */
function skipTo(approvals: readonly StoredApproval[], cursor: ApprovalCursor | undefined): readonly StoredApproval[] {
  if (cursor === undefined || approvals[0]?.sessionId !== cursor.sessionId) return approvals;
  if (approvals[0].waitsSince !== cursor.waitsSince) return [];
  const at = approvals.findIndex(
    ({ callKey, questionId }) => callKey === cursor.callKey && questionId === cursor.questionId,
  );
  if (at >= 0) return approvals.slice(at + 1);
  return approvals.filter(({ callKey }) => callPosition(callKey) >= callPosition(cursor.callKey));
}

/** The position of a call in its step. */
function callPosition(callKey: string): number {
  return Number(callKey.slice(callKey.lastIndexOf("/") + 1));
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
