/**
 * The controller of the page: follows the route, loads what it shows, and puts everything into the single state.
 */
import type { ApprovalDecision, GivenAnswer, PublicEvent } from "../index.js";
import type { ListedSession, ListFrame, StreamFrame, StreamView } from "../server/client/index.js";
import { type Api, formatErrorMessage } from "./api.js";
import type { PageKey } from "./page-key.js";
import { createPageStream } from "./page-stream.js";
import { createSessionLoader, type SessionLoader } from "./session-loader.js";
import { type AnswersPage, createOwnAnswer } from "./state/answered.js";
import { type Access, type Action, type AppState, initialState, reduce, type WaitingCall } from "./state/app-state.js";
import { formatFragment, parseRoute, type Route } from "./state/route.js";

export type Inspector = {
  readonly api: Api;
  readonly state: () => AppState;
  readonly dispatch: (action: Action) => void;
  /** Calls the listener after changes: at once when the route changes, otherwise at most once per frame. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly navigate: (route: Route, options?: { readonly isReplacing?: boolean }) => void;
  readonly loadList: (options?: { readonly isMore?: boolean }) => Promise<void>;
  /** Shows the child sessions of a session in the list, or hides them. */
  readonly toggleChildren: (parent: string) => Promise<void>;
  readonly loadApprovals: () => Promise<void>;
  /** Loads answers: the newest ones, or those before the answers that are already loaded. */
  readonly loadAnswers: (options?: { readonly isMore?: boolean }) => Promise<void>;
  /** Answers a call. @throws ApiError */
  readonly answer: (approval: WaitingCall, decision: ApprovalDecision) => Promise<void>;
  /** Loads the details of a step, unless they are already loaded. */
  readonly loadStep: (key: string) => void;
  readonly loadRequest: (key: string, attempt?: number) => void;
  readonly loadTraces: SessionLoader["traces"];
  readonly loadEvent: SessionLoader["event"];
  /** The page's current login, and the login of its link. */
  readonly otherLogin: PageKey["otherLogin"];
  /** Switches to the login of the link, or keeps the current one. */
  readonly chooseLogin: (choice: "link" | "present") => Promise<void>;
  readonly start: () => Promise<void>;
};

const listPageSize = 50;
/** The maximum number of child sessions that are listed below their parent. */
const maxChildren = 200;

export function createInspector(api: Api, key: PageKey): Inspector {
  let state = initialState(parseRoute(location.hash));
  const listeners = new Set<() => void>();
  let isNotifyScheduled = false;
  let listRequestCount = 0;

  function dispatch(action: Action): void {
    const next = reduce(state, action);
    if (next === state) return;
    state = next;
    scheduleNotify();
  }

  /** A frame shows all changes before it. A hidden tab has no frames and needs none. */
  function scheduleNotify(): void {
    if (isNotifyScheduled) return;
    isNotifyScheduled = true;
    requestAnimationFrame(() => {
      isNotifyScheduled = false;
      notifyListeners();
    });
  }

  function notifyListeners(): void {
    for (const listener of listeners) listener();
  }

  const sessionLoader = createSessionLoader(api, () => state.session, dispatch);
  const stream = createPageStream(api, {
    onFrame: applyFrame,
    onConnection: (connection) => dispatch({ type: "connection", connection }),
    onRefused(status) {
      if (status === 401 && state.access === "in") dispatch({ type: "access", access: "refused" });
      else dispatch({ type: "connection", connection: "lost" });
    },
  });

  function applyFrame(frame: StreamFrame, view: StreamView): void {
    const { data } = frame;
    if (isListFrame(data)) {
      dispatch({ type: "list_frame", frame: data });
      if (data.type === "list_open" || data.type === "list_changed") void loadList();
      if (data.type !== "session" && state.route.screen === "approvals") loadInbox();
      return;
    }
    const { session } = state;
    if (session === null) return;
    const { id } = session;
    // The page's copy of a redacted session still has the removed text.
    if (data.type === "reset" || data.type === "content_redacted") openSession(id);
    else if (data.type === "open" || data.type === "live")
      dispatch({ type: "session", id, action: { type: "live", live: data.live } });
    else if (frame.id !== undefined)
      dispatch({ type: "session", id, action: { type: "event", event: data as PublicEvent, partial: view.partial() } });
    else if (data.type === "delta" || data.type === "snapshot")
      dispatch({ type: "session", id, action: { type: "partial", partial: view.partial() } });
  }

  async function loadList({ isMore = false }: { readonly isMore?: boolean } = {}): Promise<void> {
    listRequestCount += 1;
    const requestNumber = listRequestCount;
    const { next, status, agent, find } = state.list;
    try {
      const query = {
        status,
        agent,
        q: find.trim(),
        limit: listPageSize,
        cursor: isMore ? (next ?? undefined) : undefined,
      };
      const page = await api.get<{ readonly sessions: readonly ListedSession[]; readonly next: string | null }>(
        "/v1/sessions",
        query,
      );
      if (requestNumber === listRequestCount) dispatch({ type: "list_loaded", ...page, isMore });
    } catch (error) {
      if (requestNumber === listRequestCount) dispatch({ type: "list_failed", message: formatErrorMessage(error) });
    }
  }

  async function toggleChildren(parent: string): Promise<void> {
    if (state.list.children.has(parent)) return dispatch({ type: "folded", parent });
    try {
      const query = { parent, limit: maxChildren };
      const { sessions } = await api.get<{ readonly sessions: readonly ListedSession[] }>("/v1/sessions", query);
      const children = [...sessions].sort((a, b) => a.createdAt - b.createdAt);
      dispatch({ type: "unfolded", parent, children });
    } catch (error) {
      dispatch({ type: "list_failed", message: formatErrorMessage(error) });
    }
  }

  async function loadApprovals(): Promise<void> {
    try {
      const { approvals } = await api.get<{ readonly approvals: readonly WaitingCall[] }>("/v1/approvals", {
        limit: 100,
      });
      dispatch({ type: "approvals_loaded", items: { status: "ready", value: approvals } });
    } catch (error) {
      dispatch({ type: "approvals_loaded", items: { status: "failed", message: formatErrorMessage(error) } });
    }
  }

  async function loadAnswers({ isMore = false }: { readonly isMore?: boolean } = {}): Promise<void> {
    try {
      const cursor = isMore ? (state.approvals.answered.next ?? undefined) : undefined;
      const page = await api.get<AnswersPage>("/v1/approvals/answered", { limit: listPageSize, cursor });
      dispatch({ type: "answers_loaded", page, isMore });
    } catch {
      // The waiting calls are loaded at the same time, and that request reports the error.
    }
  }

  async function answer(approval: WaitingCall, decision: ApprovalDecision): Promise<void> {
    const { sessionId, callKey, inputHash, questionId, why } = approval;
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}`;
    const posted =
      why === "external" && decision.type === "result"
        ? await api.post<{ readonly counted: "first" | "second" }>(`${path}/results`, {
            callKey,
            output: decision.output,
            ...(decision.isError === true ? { isError: true } : {}),
          })
        : await api.post<{ readonly counted: "first" | "second"; readonly answer: GivenAnswer | null }>(
            `${path}/answers`,
            { callKey, decision, ...(questionId === undefined ? { inputHash } : { questionId }) },
          );
    const recordedAnswer = "answer" in posted ? (posted as { readonly answer: GivenAnswer | null }).answer : null;
    dispatch({
      type: "answered",
      approval,
      answered: createOwnAnswer(approval, decision, posted.counted, recordedAnswer),
    });
  }

  /** Loads a session from its log, then watches it from that point on. */
  function openSession(id: string): void {
    dispatch({ type: "session", id, action: { type: "reset" } });
    void sessionLoader.open(id).then((seq) => {
      if (seq !== null && state.session?.id === id) stream.watch({ sessionId: id, after: String(seq) });
    });
  }

  function applyRoute(route: Route): void {
    const previousId = state.session?.id ?? null;
    const isNewScreen = state.route.screen !== route.screen;
    dispatch({ type: "navigated", route });
    // Not deferred to the next frame: a key pressed in between would act on the previous screen, and might approve another call.
    notifyListeners();
    if (state.access !== "in") return;
    const id = state.session?.id ?? null;
    if (id !== null && id !== previousId) openSession(id);
    if (id === null && previousId !== null) stream.watch(null);
    if (route.screen === "approvals" && (isNewScreen || state.approvals.items.status !== "ready")) loadInbox();
    if (route.screen === "sessions" && state.list.sessions.status !== "ready") void loadList();
  }

  function startLoading(): void {
    if (state.session === null) stream.watch(null);
    else openSession(state.session.id);
    if (state.route.screen === "approvals") loadInbox();
  }

  function loadInbox(): void {
    void loadApprovals();
    void loadAnswers();
  }

  function applyAccess(access: Access): void {
    dispatch({ type: "access", access });
    if (access !== "in") return;
    applyRoute(parseRoute(location.hash));
    startLoading();
  }

  return {
    api,
    state: () => state,
    dispatch,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    navigate(route, { isReplacing = false } = {}) {
      const fragment = formatFragment(route);
      if (fragment === location.hash) return;
      if (isReplacing) history.replaceState(null, "", fragment);
      else history.pushState(null, "", fragment);
      applyRoute(route);
    },
    loadList,
    toggleChildren,
    loadApprovals,
    loadAnswers,
    answer,
    loadStep: sessionLoader.step,
    loadRequest: sessionLoader.request,
    loadTraces: sessionLoader.traces,
    loadEvent: sessionLoader.event,
    otherLogin: key.otherLogin,
    async chooseLogin(choice) {
      applyAccess(await key.chooseLogin(api, choice));
    },
    async start() {
      addEventListener("hashchange", () => applyRoute(parseRoute(location.hash)));
      addEventListener("popstate", () => applyRoute(parseRoute(location.hash)));
      applyAccess(await key.signIn(api));
    },
  };
}

function isListFrame(data: StreamFrame["data"]): data is ListFrame {
  return (
    data.type === "list_open" || data.type === "session" || data.type === "approvals" || data.type === "list_changed"
  );
}
