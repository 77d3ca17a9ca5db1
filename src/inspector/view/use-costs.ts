/**
 * Loads the usage of a session and its child sessions, and updates it while the session is active.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TraceRecord } from "../../inspect.js";
import type { ListedSession } from "../../server/client/index.js";
import { formatErrorMessage } from "../api.js";
import { addRecords, type Costs, emptyCosts } from "../state/costs.js";
import type { SessionState } from "../state/session-state.js";
import { useInspector } from "./hooks.js";

/** The minimum time between two loads in milliseconds, so that a busy session does not cause a request for each entry. */
const refreshMs = 1_000;

/** Loads the trace page by page, and retains only the costs of its records. */
export function useCosts(session: SessionState) {
  const inspector = useInspector();
  const { id } = session;
  const [costs, setCosts] = useState<Costs>(emptyCosts);
  const [isWhole, setIsWhole] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  /** The start of the last page, and the costs before it: that page is loaded again when the log has grown. */
  const lastPage = useRef({ after: 0, before: emptyCosts });

  const load = async () => {
    try {
      for (let next: number | null = lastPage.current.after; next !== null; ) {
        const query = { after: next, limit: 500 };
        const page: TracePage = await inspector.api.get(`/v1/sessions/${encodeURIComponent(id)}/trace`, query);
        const total = addRecords(lastPage.current.before, page.records);
        setCosts(total);
        if (page.next !== null) lastPage.current = { after: page.next, before: total };
        next = page.next;
      }
      setIsWhole(true);
      setProblem(null);
    } catch (error) {
      setProblem(formatErrorMessage(error));
    }
  };
  useRefresh(session, load);
  return { costs, isWhole, problem, load: () => void load() };
}

type TracePage = { readonly records: readonly TraceRecord[]; readonly next: number | null };

/** The child sessions, oldest first, each with the usage of its last run. */
export function useChildren(session: SessionState): readonly ListedSession[] {
  const inspector = useInspector();
  const [children, setChildren] = useState<readonly ListedSession[]>([]);
  useRefresh(session, async () => {
    try {
      const page = await inspector.api.get<{ readonly sessions: readonly ListedSession[] }>("/v1/sessions", {
        parent: session.id,
        limit: 500,
      });
      setChildren([...page.sessions].sort((a, b) => a.createdAt - b.createdAt));
    } catch {
      // The trace is loaded at the same time, and that request reports the error.
    }
  });
  return children;
}

/** Loads immediately, and again when the session's log has grown. At most one load runs at a time, and none without changes. */
function useRefresh({ id, last: { seq } }: SessionState, load: () => Promise<void>): void {
  const newest = useRef({ seq, load });
  newest.current = { seq, load };
  useEffect(() => {
    let loadedSeq = -1;
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const refresh = async () => {
      if (newest.current.seq !== loadedSeq) {
        loadedSeq = newest.current.seq;
        await newest.current.load();
      }
      if (isCurrent) timer = setTimeout(() => void refresh(), refreshMs);
    };
    void refresh();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [id]);
}
