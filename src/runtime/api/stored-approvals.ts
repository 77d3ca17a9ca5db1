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
    for (const session of page) yield* await approvalsIn(checked, session);
    after = page.at(-1);
    if (page.length < pageSize) return;
  }
}

const pageSize = 100;

async function approvalsIn(store: Store, { sessionId, state }: AskingSession): Promise<readonly StoredApproval[]> {
  const session = state?.session;
  if (state === null || session === null || session === undefined) return [];
  const questions = await ownQuestions(store, sessionId, state);
  return questions.map(({ toolCallId: _, ...approval }) => ({ ...approval, session }));
}
