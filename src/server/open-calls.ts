/**
 * Requests whose answer takes as long as a run, and which are answered before this process leaves: their clients could not
 * ask for the answer again.
 */

/** How long an answer may take, when it is wanted at once, in milliseconds. */
export const mostAnswerMs = 1_000;

export type OpenCall = {
  /** Aborted when the call is to be answered now. */
  readonly leaving: AbortSignal;
  readonly leave: () => void;
  /** Tells that the call has its answer. */
  readonly done: () => void;
};

export type OpenCalls = {
  readonly begin: () => OpenCall;
  /** Has all of them answered, and waits for it. */
  readonly leaveAll: () => Promise<void>;
};

export function createOpenCalls(): OpenCalls {
  const open = new Set<OpenCall>();
  let isLeaving = false;
  let onDone = () => {};
  return {
    begin() {
      const controller = new AbortController();
      const call: OpenCall = {
        leaving: controller.signal,
        leave: () => controller.abort(),
        done() {
          open.delete(call);
          onDone();
        },
      };
      open.add(call);
      if (isLeaving) call.leave();
      return call;
    },
    async leaveAll() {
      isLeaving = true;
      if (open.size === 0) return;
      for (const call of open) call.leave();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, mostAnswerMs);
        onDone = () => {
          if (open.size > 0) return;
          clearTimeout(timer);
          // The answer is written in this turn of the event loop.
          setImmediate(resolve);
        };
      });
    },
  };
}
