/**
 * Lists the calls in all sessions of a store that wait for a person or an outside program. This needs no agent and no
 * lease. A question of a child session is listed once, under the child.
 */

import type { SessionInfo } from "../../core/machine/state.js";
import type { PendingApproval } from "../../core/view/outcome.js";
import type { AskingSession, Store } from "../../ports/store.js";
import { checkedStore } from "../log/checked-store.js";
import { ownQuestions } from "../log/open-questions.js";

/** A waiting call, and its session. */
export type StoredApproval = Omit<PendingApproval, "toolCallId"> & {
  /** What its session is bound to. */
  readonly session: SessionInfo;
};

/**
 * The calls in all sessions of a store that wait for a person or an outside program. The session that has asked for the
 * longest comes first. The store is read while the calls are consumed.
 *
 * An answered call is left out, even if no driver has taken the answer yet. Sessions that a later version wrote are
 * left out, because this version cannot answer in them.
 *
 * @throws PawlError `store_corrupt`, `store_failed`
 */
export async function* pendingApprovals(store: Store): AsyncGenerator<StoredApproval, void, undefined> {
  const checked = checkedStore(store);
  let after: AskingSession | undefined;
  for (;;) {
    const page: readonly AskingSession[] = await checked.asking({
      limit: pageSize,
      ...(after === undefined ? {} : { after }),
    });
    for (let at = 0; at < page.length; at += readAtOnce) {
      const reads = page.slice(at, at + readAtOnce).map((session) => approvalsIn(checked, session));
      // An error is thrown when its turn comes. The consumer may have left by then.
      for (const read of reads) read.catch(() => {});
      for (const read of reads) yield* await read;
    }
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}

const pageSize = 100;
/** Sessions that are read side by side: a store behind a network answers each read after a while. */
const readAtOnce = 16;

async function approvalsIn(
  store: Store,
  { sessionId, state, inbox }: AskingSession,
): Promise<readonly StoredApproval[]> {
  const session = state?.session;
  if (state === null || session === null || session === undefined) return [];
  const questions = await ownQuestions(store, sessionId, state, inbox > 0);
  return questions.map(({ toolCallId: _, ...approval }) => ({ ...approval, session }));
}
