/**
 * Requests whose answer takes as long as a run: calls of MCP, and requests that wait for a result. They are answered before
 * this process leaves.
 */

/** How long an answer may take, when it is wanted at once, in milliseconds. */
export const maxResponseMs = 1_000;

export type OpenCall = {
  /** Aborted when the call is to be answered now. */
  readonly drainSignal: AbortSignal;
  readonly drain: () => void;
  /** Tells that the call has its answer. */
  readonly finish: () => void;
};

export type OpenCalls = {
  readonly begin: () => OpenCall;
  /** Has all of them answered, and waits for it. */
  readonly drainAll: () => Promise<void>;
};

export function createOpenCalls(): OpenCalls {
  const open = new Set<OpenCall>();
  let isDraining = false;
  let onFinished = () => {};
  return {
    begin() {
      const controller = new AbortController();
      const call: OpenCall = {
        drainSignal: controller.signal,
        drain: () => controller.abort(),
        finish() {
          open.delete(call);
          onFinished();
        },
      };
      open.add(call);
      if (isDraining) call.drain();
      return call;
    },
    async drainAll() {
      isDraining = true;
      if (open.size === 0) return;
      for (const call of open) call.drain();
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, maxResponseMs);
        onFinished = () => {
          if (open.size > 0) return;
          clearTimeout(timer);
          // The answer is written in this turn of the event loop.
          setImmediate(resolve);
        };
      });
    },
  };
}

/** Answers that are being made. */
export type PendingResponses = {
  readonly track: <Result>(response: Promise<Result>) => Promise<Result>;
  /** Resolves when those of this moment are made, at the latest after `mostAnswerMs`. */
  readonly whenSettled: () => Promise<void>;
};

export function createPendingResponses(): PendingResponses {
  const open = new Set<Promise<unknown>>();
  return {
    track(response) {
      const forget = () => void open.delete(response);
      open.add(response);
      response.then(forget, forget);
      return response;
    },
    async whenSettled() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, maxResponseMs);
      });
      await Promise.race([Promise.allSettled(open), timeout]);
      clearTimeout(timer);
    },
  };
}
