/**
 * The one stream of this tab: changes of the list, the number of approvals, and the session on the screen.
 *
 * 1. A browser opens at most six connections to a host. Each tab therefore has one stream, and none once the tab has been hidden for 30 s,
 *    or while it is hidden and another tab opens its stream.
 * 2. The stream continues after the last event that was seen: after a lost connection, sleep, or a restart of the server.
 * 3. It reconnects immediately when the tab is shown again or the network returns.
 */
import { followSession, type StreamFrame, StreamRefused, type StreamView } from "../server/client/index.js";
import type { Api } from "./api.js";
import type { Connection } from "./state/app-state.js";

export type WatchTarget = { readonly sessionId: string; readonly after: string };

export type PageStream = {
  /** Watches the list and, if given, this session. The previous session is no longer watched. */
  readonly watch: (target: WatchTarget | null) => void;
};

export type StreamListener = {
  readonly onFrame: (frame: StreamFrame, view: StreamView) => void;
  readonly onConnection: (connection: Connection) => void;
  /** The server has permanently refused the stream. */
  readonly onRefused: (status: number) => void;
};

/** How long a tab may be hidden before its stream is closed, in milliseconds. */
const closeAfterHiddenMs = 30_000;

export function createPageStream(api: Api, listener: StreamListener): PageStream {
  let target: WatchTarget | null = null;
  let isStarted = false;
  let lastId: string | null = null;
  let currentController: AbortController | null = null;
  let hideTimer: ReturnType<typeof setTimeout> | undefined;

  /** The other tabs of this page in this browser. */
  const tabs = new BroadcastChannel("pawl.tabs");
  tabs.onmessage = () => {
    if (document.visibilityState === "hidden") closeConnection();
  };

  function closeConnection(): void {
    currentController?.abort();
    currentController = null;
    api.setConnected(false);
  }

  async function follow(controller: AbortController): Promise<void> {
    const session = target;
    const url = new URL(api.url("/v1/stream", { session: session?.sessionId }), location.href);
    const after = lastId === null ? {} : { after: lastId };
    const options = { url, signal: controller.signal, fetch: createReportingFetch(controller), ...after };
    try {
      for await (const { frame, view } of followSession(options)) {
        if (controller.signal.aborted) return;
        if (frame.id !== undefined) lastId = frame.id;
        if (frame.data.type === "reset") lastId = null;
        listener.onFrame(frame, view);
      }
    } catch (error) {
      if (!controller.signal.aborted) listener.onRefused(error instanceof StreamRefused ? error.status : 0);
    }
  }

  /** A `fetch` that reports when the stream has opened and when it is lost. */
  function createReportingFetch(controller: AbortController): typeof fetch {
    const reportConnection = (connection: Connection) => {
      if (controller === currentController) api.setConnected(connection === "open");
      if (!controller.signal.aborted) listener.onConnection(connection);
    };
    return async (input, init) => {
      try {
        const response = await api.fetch(input, init);
        if (!response.ok || response.body === null) return response;
        reportConnection("open");
        return new Response(
          notifyAtEnd(response.body, () => reportConnection("lost")),
          response,
        );
      } catch (error) {
        reportConnection("lost");
        throw error;
      }
    };
  }

  function openConnection(): void {
    closeConnection();
    tabs.postMessage("open");
    currentController = new AbortController();
    void follow(currentController);
  }

  function reconnect(): void {
    clearTimeout(hideTimer);
    if (!isStarted) return;
    if (document.visibilityState === "visible") openConnection();
    else hideTimer = setTimeout(closeConnection, closeAfterHiddenMs);
  }

  document.addEventListener("visibilitychange", () => {
    // A stream that has not been closed meanwhile continues.
    if (document.visibilityState === "visible" && currentController !== null) clearTimeout(hideTimer);
    else reconnect();
  });
  addEventListener("online", reconnect);
  addEventListener("offline", () => listener.onConnection("lost"));

  return {
    watch(nextTarget) {
      target = nextTarget;
      lastId = nextTarget?.after ?? null;
      isStarted = true;
      openConnection();
    },
  };
}

function notifyAtEnd(body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        onEnd();
        controller.close();
      } catch (error) {
        onEnd();
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
