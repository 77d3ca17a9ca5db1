/**
 * Loads what a session and its child sessions used, and what is new of it while the session goes on.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import type { TraceRecord } from "../../index.js";
import type { ListedSession } from "../../server/client/index.js";
import { formatErrorMessage } from "../api.js";
import { addRecords, type Costs, emptyCosts } from "../state/costs.js";
import type { SessionState } from "../state/session-state.js";
import { useInspector } from "./hooks.js";

/** A busy session is not asked for each of its entries, but after this time, in milliseconds. */
const refreshMs = 1_000;

/** Loads the trace page by page. Of its records, only what they cost is kept. */
export function useCosts(session: SessionState) {
  const inspector = useInspector();
  const { id } = session;
  const [costs, setCosts] = useState<Costs>(emptyCosts);
  const [isWhole, setIsWhole] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  /** Where the last page begins, and the costs before it: that page is loaded again when the log has grown. */
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

/** The child sessions, oldest first, with what the last run of each used. */
export function useChildren(session: SessionState): readonly ListedSession[] {
  const inspector = useInspector();
  const [children, setChildren] = useState<readonly ListedSession[]>([]);
  useRefresh(session, async () => {
    try {
      const page = await inspector.api.get<{ readonly sessions: readonly ListedSession[] }>("/v1/sessions", {
        ...{ parent: session.id, limit: 500 },
      });
      setChildren([...page.sessions].sort((a, b) => a.createdAt - b.createdAt));
    } catch {
      // The trace, which is loaded beside it, says what is wrong.
    }
  });
  return children;
}

/** Loads at once, and again when the session's log has grown: one load at a time, and none while nothing is new. */
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
