/**
 * Tracks the running commands of Notification hooks. Every command of `pawl` waits for them at its end, so this module does not import
 * the code that starts them.
 */

const running = new Set<Promise<unknown>>();
const maxWaitMs = 5_000;

/** @returns `work` */
export function trackNotification<Result>(work: Promise<Result>): Promise<Result> {
  running.add(work);
  return work.finally(() => running.delete(work));
}

/** Waits for running commands, for at most 5 seconds. */
export async function finishNotifications(): Promise<void> {
  if (running.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise((resolve) => {
    timer = setTimeout(resolve, maxWaitMs);
  });
  await Promise.race([Promise.allSettled([...running]), timeUp]);
  clearTimeout(timer);
}
