/**
 * Messages of the inbox that code of the author looks at before they are committed: approvals, and answers of agents behind tools.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { createCancellation } from "../lib/cancellation.js";
import { type MaybePromise, runCoroutine } from "../lib/coroutine.js";
import { type Closing, closingOf } from "../log/closing.js";
import { approvedCall, checkApproval } from "./approval-checks.js";
import { answeredByAgent, seeResult } from "./child-results.js";
import type { Driver, MessageChange } from "./driver-parts.js";
import { withoutAgent, workIn } from "./work-in.js";

type Then = {
  /** Commits the message, or what became of it. */
  readonly take: (change?: MessageChange) => Promise<boolean>;
  readonly close: (why: Closing) => void;
};

/**
 * Lets `take` commit the message, after the check that it needs. The check may answer at once. If a commit is under way, it
 * may be the one that the message is about, so the check comes after it.
 */
export function takeChecked(driver: Driver, message: InboxMessage, { take, close }: Then): Promise<boolean> {
  const approved = approvedCall(message);
  const callKey = approved ?? answeredByAgent(message);
  if (callKey === undefined) return take();
  const cancellation = createCancellation();
  const check = (): MaybePromise<MessageChange | undefined> => {
    const work = workIn(driver, driver.state);
    if (work === null) close(withoutAgent(driver));
    if (work === null || driver.closed) return undefined;
    return runCoroutine(
      approved === undefined ? seeResult(message, work) : checkApproval(approved, work, cancellation),
    );
  };
  const checked = driver.flushing === null ? check() : driver.flushing.then(check);
  if (!(checked instanceof Promise)) return take(checked);
  let taken: Promise<boolean> = Promise.resolve(false);
  const done = checked.then(
    (change) => {
      driver.checks?.delete(callKey);
      if (driver.checks?.size === 0) driver.checks = null;
      taken = take(change);
    },
    (error) => close(closingOf(error)),
  );
  driver.checks = (driver.checks ?? new Map()).set(callKey, { cancellation, done });
  return done.then(() => taken);
}
