/**
 * Tracks requests whose response takes as long as a run: MCP calls, and requests that wait for a result. They get a response before
 * this process exits.
 */

/** How long responses may take during a drain, in milliseconds. */
export const maxResponseMs = 1_000;

export type OpenCall = {
  /** Aborted when the call must respond now. */
  readonly drainSignal: AbortSignal;
  readonly drain: () => void;
  /** Called when the response is ready. */
  readonly finish: () => void;
};

export type OpenCalls = {
  readonly begin: () => OpenCall;
  /** Makes all open calls respond, and waits for their responses. */
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
          // The response is written in this turn of the event loop.
          setImmediate(resolve);
        };
      });
    },
  };
}

/** Tracks responses that are not ready yet. */
export type PendingResponses = {
  readonly track: <Result>(response: Promise<Result>) => Promise<Result>;
  /** Resolves when all currently pending responses are ready, or after `maxResponseMs`. */
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
