/**
 * Runs an author's code on inbox messages before they are committed: on approvals, on answers of agents that are used as tools, and on
 * outside results for tools with `toModelOutput`.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { type Cancellation, createCancellation } from "../lib/cancellation.js";
import { type Coroutine, runCoroutine } from "../lib/coroutine.js";
import { type Closing, toClosing } from "../log/closing.js";
import type { EffectContext } from "../work/effect-context.js";
import { checkApproval, findApprovedCall } from "./approval-checks.js";
import { findAnsweredCall, runAfterToolCallHooks } from "./child-results.js";
import { agentMissingClosing, createEffectContext } from "./create-effect-context.js";
import type { Driver, MessageChange, MessageCheck } from "./driver-types.js";
import { createModelResult, findProvidedCall } from "./outside-results.js";
import type { PendingCommit } from "./pending-commit.js";

type Deps = {
  /** Creates the commit of the message, as changed by its check. */
  readonly toCommit: (change?: MessageChange) => PendingCommit;
  readonly addLater: (addition: PendingCommit) => void;
  readonly close: (why: Closing) => void;
};

/**
 * The commit of a message, with the check that it needs. A check runs in the message's turn, when no commit is in progress:
 * the message may refer to that commit. A synchronous check keeps the order of the messages: an abort sent after an
 * approval is committed after it. An asynchronous check may be overtaken by later messages.
 */
export function withCheck(driver: Driver, message: InboxMessage, { toCommit, addLater, close }: Deps): PendingCommit {
  const approvedCallKey = findApprovedCall(message);
  const callKey = approvedCallKey ?? findAnsweredCall(message) ?? findProvidedCall(message);
  if (callKey === undefined) return toCommit();
  const cancellation = createCancellation();
  let resolve = () => {};
  const done = new Promise<void>((settle) => {
    resolve = settle;
  });
  const check: MessageCheck = { callKey, cancellation, done };
  driver.checks = [...(driver.checks ?? []), check];
  const end = (change?: MessageChange): PendingCommit => {
    forget(driver, check);
    resolve();
    return toCommit(change);
  };
  const fail = (error: unknown): PendingCommit => {
    close(toClosing(error));
    return end();
  };
  const run = (): PendingCommit | null => {
    const work = createEffectContext(driver, driver.state);
    if (work === null) close(agentMissingClosing(driver));
    if (work === null || driver.closed) return end();
    const checked = runCoroutine(runCheck(message, approvedCallKey, work, cancellation));
    if (!(checked instanceof Promise)) return end(checked);
    void checked.then(end, fail).then(addLater);
    return null;
  };
  return {
    ...toCommit(),
    check() {
      try {
        return run();
      } catch (error) {
        return fail(error);
      }
    },
  };
}

function forget(driver: Driver, check: MessageCheck): void {
  const left = driver.checks?.filter((other) => other !== check) ?? [];
  driver.checks = left.length === 0 ? null : left;
}

function runCheck(
  message: InboxMessage,
  approvedCallKey: string | undefined,
  work: EffectContext,
  cancellation: Cancellation,
): Coroutine<MessageChange | undefined> {
  if (approvedCallKey !== undefined) return checkApproval(approvedCallKey, work, cancellation);
  return findAnsweredCall(message) === undefined
    ? createModelResult(message, work, cancellation)
    : runAfterToolCallHooks(message, work);
}
