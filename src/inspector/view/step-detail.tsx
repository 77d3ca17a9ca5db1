/**
 * The details of a step: the model's text, each call with its input, answer and output, and the request as it was sent.
 */
import { formatCacheBreak } from "../state/cache-break.js";
import { formatCount, formatDuration } from "../state/format.js";
import type { StepTab } from "../state/route.js";
import type { SessionState } from "../state/session-state.js";
import { toStepItems } from "../state/step-items.js";
import type { StepRow } from "../state/step-rows.js";
import { Attempts } from "./attempts.js";
import { Clock, EmptyState, RouteLink, Tabs } from "./common.js";
import { EventLines } from "./event-lines.js";
import { ForkButton } from "./fork-button.js";
import { HookLines } from "./hook-lines.js";
import { RawEntries } from "./raw-entries.js";
import { RequestTab } from "./request-view.js";
import { StepItems } from "./step-items.js";

export type StepDetailProps = {
  readonly session: SessionState;
  readonly step: string;
  readonly tab: StepTab;
  readonly isFollowing: boolean;
  readonly onTab: (tab: StepTab) => void;
  readonly onFollow: () => void;
};

const tabs = [
  ["step", "Step"],
  ["request", "Request"],
  ["events", "Events"],
  ["raw", "Raw"],
] as const;

export function StepDetail({ session, step, tab, isFollowing, onTab, onFollow }: StepDetailProps) {
  const row = session.rows.findLast(({ key }) => key === step);
  if (row === undefined)
    return (
      <section class="step-detail">
        {session.isIndexed ? (
          <EmptyState title="This step does not exist">
            <button type="button" onClick={onFollow}>
              Show the newest step
            </button>
          </EmptyState>
        ) : (
          <p class="loading">Loading…</p>
        )}
      </section>
    );
  return (
    <section class="step-detail" aria-label={`Step ${row.index}`}>
      <div class="step-head">
        <RouteLink to={{ screen: "session", sessionId: session.id, tab: "step" }} class="back">
          ‹ Steps
        </RouteLink>
        <h2>
          Step <span class="num">{row.index}</span>
        </h2>
        <StepFacts row={row} />
        <div class="step-buttons">
          <ForkButton point={{ step }} />
          {!isFollowing && (
            <button
              type="button"
              class="quiet"
              onClick={onFollow}
              title="Show the newest step, and each one that follows (End)"
            >
              Newest
            </button>
          )}
          {isFollowing && <span class="following">following</span>}
        </div>
      </div>
      <Tabs names={tabs} selected={tab} onSelect={onTab} label="Views of this step" />
      <div class="step-body" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === "step" && <StepOverview session={session} row={row} />}
        {tab === "request" && <RequestTab session={session} row={row} key={row.key} />}
        {tab === "events" && <EventLines events={session.details.get(step)?.events ?? []} />}
        {tab === "raw" && <RawEntries session={session} row={row} />}
      </div>
    </section>
  );
}

function StepFacts({ row }: { readonly row: StepRow }) {
  return (
    <dl class="facts">
      {row.attempts > 1 && (
        <div>
          <dt>attempts</dt>
          <dd class="num">{row.attempts}</dd>
        </div>
      )}
      <div>
        <dt>began</dt>
        <dd>
          <Clock at={row.startedAt} />
        </dd>
      </div>
      <div>
        <dt>time</dt>
        <dd class="num">{formatDuration(row.ms)}</dd>
      </div>
      <div title="Tokens that the model read: those from its cache, and new ones">
        <dt>in</dt>
        <dd class="num">
          {formatCount(row.input)}
          {row.cacheRead !== null && row.cacheRead > 0 && (
            <span class="dim"> ({formatCount(row.cacheRead)} cached)</span>
          )}
        </dd>
      </div>
      <div title="Tokens that the model wrote">
        <dt>out</dt>
        <dd class="num">{formatCount(row.output)}</dd>
      </div>
    </dl>
  );
}

/** Describes what broke the provider's cache, and the cost. */
function CacheLine({ session, row }: { readonly session: SessionState; readonly row: StepRow }) {
  const text = formatCacheBreak(session.traces.get(row.key));
  if (text === null) return null;
  return (
    <p class="note warn cache-line">
      {text}{" "}
      <RouteLink to={{ screen: "session", sessionId: session.id, step: row.key, tab: "request" }}>
        Show the request
      </RouteLink>
    </p>
  );
}

function StepOverview({ session, row }: { readonly session: SessionState; readonly row: StepRow }) {
  const details = session.details.get(row.key);
  const { partial } = session;
  const ownPartial =
    partial !== null && partial.runId === row.runId && partial.modelCallIndex === row.index ? partial : null;
  const events = details?.events ?? [];
  const trace = session.traces.get(row.key);
  const attempts = trace?.attempts ?? [];
  const items = toStepItems(events, ownPartial, attempts.length > 0);
  const heading = session.runs.get(row.runId);
  const isFirst = session.rows.find(({ runId }) => runId === row.runId)?.key === row.key;
  const hasInput = items.some((item) => item.kind === "input" && item.how === "Request");
  const request =
    isFirst && heading !== undefined && !hasInput
      ? [{ kind: "input", how: "Request", text: heading.text, by: heading.by } as const]
      : [];
  const isLoading = details === undefined && ownPartial === null;
  return (
    <>
      <Attempts attempts={attempts} key={row.key} />
      <CacheLine session={session} row={row} />
      <StepItems items={[...request, ...items]} sessionId={session.id} hooks={trace?.hooks ?? []} />
      <HookLines hooks={(trace?.hooks ?? []).filter(({ callKey }) => callKey === undefined)} />
      {isLoading && <p class="loading">Loading…</p>}
      {!isLoading && items.length === 0 && row.flags.includes("under_way") && (
        <p class="loading">The model has not written anything yet.</p>
      )}
    </>
  );
}
