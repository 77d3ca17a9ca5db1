/**
 * The details of an event between two steps: a steer, a compaction with what it replaced, a restart, a late result.
 */

import { useEffect } from "preact/hooks";
import type { PublicEvent } from "../../index.js";
import { formatCursor } from "../../stream/cursor.js";
import { formatCount, formatExactTime } from "../state/format.js";
import { formatMark } from "../state/marks.js";
import type { SessionState } from "../state/session-state.js";
import { toStepItems } from "../state/step-items.js";
import { EmptyState, PlainText, RouteLink } from "./common.js";
import { EventLines } from "./event-lines.js";
import { useInspector } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { StepItems } from "./step-items.js";

export function MarkDetail({ session, cursor }: { readonly session: SessionState; readonly cursor: string }) {
  const inspector = useInspector();
  const mark = session.marks.find((one) => formatCursor(one) === cursor);
  const event = session.whole.get(cursor);
  useEffect(() => inspector.loadEvent(cursor), [cursor, session.id]);
  if (mark === undefined)
    return (
      <section class="step-detail">
        {session.isIndexed ? <EmptyState title="There is no event here" /> : <p class="loading">Loading…</p>}
      </section>
    );
  return (
    <section class="step-detail" aria-label="Between steps">
      <div class="step-head">
        <RouteLink to={{ screen: "session", sessionId: session.id, tab: "step" }} class="back">
          ‹ Steps
        </RouteLink>
        <h2>{titles[mark.type]}</h2>
        <time class="num dim">{formatExactTime(mark.at)}</time>
      </div>
      <div class="step-body" tabIndex={0}>
        {event === undefined ? (
          <p class="loading">{formatMark(mark).text}</p>
        ) : (
          <>
            {event.type === "compacted" ? (
              <Compaction event={event} />
            ) : (
              <StepItems items={toStepItems([event], null)} sessionId={session.id} />
            )}
            <EventLines events={[event]} />
          </>
        )}
      </div>
    </section>
  );
}

const titles = {
  run_queued: "Queued",
  run_started: "Request",
  steered: "Steered",
  compacted: "Compaction",
  restarted: "Restart",
  late_result: "Late result",
  abort_requested: "Abort",
  handed_off: "Handoff",
  content_redacted: "Redaction",
  final: "End of the run",
} as const;

function Compaction({ event }: { readonly event: Extract<PublicEvent, { readonly type: "compacted" }> }) {
  const { replaced, tokensBefore, tokensAfter, summary, retained = [], model, fault } = event;
  return (
    <>
      {fault !== undefined && <p class="note bad">{fault.message}</p>}
      <dl class="facts wide">
        <Fact name="messages replaced" value={formatCount(replaced?.messages)} />
        <Fact name="from entry" value={formatCount(replaced?.from)} />
        <Fact name="tokens before" value={formatCount(tokensBefore)} />
        <Fact name="tokens after" value={formatCount(tokensAfter)} />
        {model !== undefined && <Fact name="summary by" value={model} />}
      </dl>
      {summary !== undefined && (
        <article class="said user">
          <h3>The summary that replaces them</h3>
          <Markdown text={summary} />
        </article>
      )}
      {retained.length > 0 && (
        <article class="said user">
          <h3>Kept verbatim</h3>
          {retained.map((text, at) => (
            <PlainText text={text} key={at} />
          ))}
        </article>
      )}
    </>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="num">{value}</dd>
    </div>
  );
}
