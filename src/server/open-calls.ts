/**
 * Requests whose answer takes as long as a run: calls of MCP, and requests that wait for a result. They are answered before
 * this process leaves.
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

/** Answers that are being made. */
export type OpenAnswers = {
  readonly track: <Result>(answer: Promise<Result>) => Promise<Result>;
  /** Resolves when those of this moment are made, at the latest after `mostAnswerMs`. */
  readonly settled: () => Promise<void>;
};

export function createOpenAnswers(): OpenAnswers {
  const open = new Set<Promise<unknown>>();
  return {
    track(answer) {
      const forget = () => void open.delete(answer);
      open.add(answer);
      answer.then(forget, forget);
      return answer;
    },
    async settled() {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, mostAnswerMs);
      });
      await Promise.race([Promise.allSettled(open), late]);
      clearTimeout(timer);
    },
  };
}
