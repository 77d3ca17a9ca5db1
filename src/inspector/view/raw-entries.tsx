/**
 * The stored entries of a step, as JSON.
 */
import { useEffect, useState } from "preact/hooks";
import { formatErrorMessage } from "../api.js";
import type { Loaded, SessionState } from "../state/session-state.js";
import type { StepRow } from "../state/step-rows.js";
import { LoadFailure, PlainText } from "./common.js";
import { CopyButton } from "./copy-button.js";
import { useInspector } from "./hooks.js";

type Entry = { readonly seq: number; readonly event: { readonly type: string } };

const maxEntries = 500;

export function RawEntries({ session, row }: { readonly session: SessionState; readonly row: StepRow }) {
  const inspector = useInspector();
  const [entries, setEntries] = useState<Loaded<readonly Entry[]>>({ status: "loading" });
  const next = session.rows[session.rows.indexOf(row) + 1];
  useEffect(() => {
    let isCurrent = true;
    const setIfCurrent = (loaded: Loaded<readonly Entry[]>) => isCurrent && setEntries(loaded);
    const path = `/v1/sessions/${encodeURIComponent(session.id)}/entries`;
    inspector.api.get<{ readonly entries: readonly Entry[] }>(path, { after: row.seq - 1, limit: maxEntries }).then(
      ({ entries: all }) =>
        setIfCurrent({
          status: "ready",
          value: all.filter(({ seq }) => seq < (next?.seq ?? Number.POSITIVE_INFINITY)),
        }),
      (error: unknown) => setIfCurrent({ status: "failed", message: formatErrorMessage(error) }),
    );
    return () => {
      isCurrent = false;
    };
  }, [session.id, row.key, row.seq, next?.seq, session.last.seq]);
  if (entries.status === "loading") return <p class="loading">Loading…</p>;
  if (entries.status === "failed") return <LoadFailure message={entries.message} />;
  const { value } = entries;
  return (
    <>
      <div class="request-head">
        <p class="dim">The entries of the log, without secrets.</p>
        <CopyButton text={() => JSON.stringify(value, null, 2)} />
      </div>
      <div class="event-lines">
        {value.map((entry) => (
          <details class="event" key={entry.seq}>
            <summary>
              <span class="num dim">{entry.seq}</span>
              <span class="mono">{entry.event.type}</span>
            </summary>
            <PlainText text={JSON.stringify(entry.event, null, 2)} mono />
          </details>
        ))}
      </div>
    </>
  );
}
