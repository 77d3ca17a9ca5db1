/**
 * Messages of the inbox that code of the author looks at before they are committed: approvals, answers of agents behind tools, and
 * results from outside of tools that have `toModelOutput`.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { type Cancellation, createCancellation } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import { type Closing, toClosing } from "../log/closing.js";
import type { EffectContext } from "../work/effect-context.js";
import { checkApproval, findApprovedCall } from "./approval-checks.js";
import { findAnsweredCall, runAfterToolCallHooks } from "./child-results.js";
import { agentMissingClosing, createEffectContext } from "./create-effect-context.js";
import type { Driver, MessageChange, MessageCheck } from "./driver-types.js";
import { answeredOutside, resultForModel } from "./outside-results.js";

type MessageActions = {
  /** Commits the message, or what became of it. */
  readonly take: (change?: MessageChange) => Promise<boolean>;
  readonly close: (why: Closing) => void;
};

/**
 * Lets `take` commit the message, after the check that it needs. The check may answer at once. If a commit is under way, it
 * may be the one that the message is about, so the check comes after it.
 */
export function takeCheckedMessage(
  driver: Driver,
  message: InboxMessage,
  { take, close }: MessageActions,
): Promise<boolean> {
  const approvedCallKey = findApprovedCall(message);
  const callKey = approvedCallKey ?? findAnsweredCall(message) ?? answeredOutside(message);
  if (callKey === undefined) return take();
  const cancellation = createCancellation();
  const fail = (error: unknown) => close(toClosing(error));
  const run = (): MaybePromise<MessageChange | undefined> => {
    const work = createEffectContext(driver, driver.state);
    if (work === null) close(agentMissingClosing(driver));
    if (work === null || driver.closed) return undefined;
    return runCoroutine(checkOf(message, approvedCallKey, work, cancellation));
  };
  let checked: MaybePromise<MessageChange | undefined>;
  try {
    checked = driver.flushing === null ? run() : driver.flushing.then(run);
  } catch (error) {
    fail(error);
    return Promise.resolve(false);
  }
  if (!(checked instanceof Promise)) return take(checked);
  let taking: Promise<boolean> = Promise.resolve(false);
  const check: MessageCheck = {
    callKey,
    cancellation,
    done: checked
      .then((change) => {
        forget(driver, check);
        taking = take(change);
      })
      .catch(fail),
  };
  driver.checks = [...(driver.checks ?? []), check];
  return check.done.then(() => taking);
}

function forget(driver: Driver, check: MessageCheck): void {
  const left = driver.checks?.filter((other) => other !== check) ?? [];
  driver.checks = left.length === 0 ? null : left;
}

function checkOf(
  message: InboxMessage,
  approvedCallKey: string | undefined,
  work: EffectContext,
  cancellation: Cancellation,
): Coroutine<MessageChange | undefined> {
  if (approvedCallKey !== undefined) return checkApproval(approvedCallKey, work, cancellation);
  return findAnsweredCall(message) === undefined
    ? resultForModel(message, work, cancellation)
    : runAfterToolCallHooks(message, work);
}
