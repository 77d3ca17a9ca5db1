/**
 * Evals: the latest report of each, its cases by variant, and a trial next to the recorded session.
 */
import { useMemo } from "preact/hooks";
import type { Report, TrialReport } from "../../evals/index.js";
import type { PublicEvent } from "../../index.js";
import type { Inspector } from "../inspector.js";
import { type ComparedCall, compareCalls, findCellSign, groupTrials, listCalls } from "../state/eval-report.js";
import { formatCost, formatCount, toOneLine } from "../state/format.js";
import type { Route } from "../state/route.js";
import { stepKeyOfCall } from "../state/route.js";
import { ColumnHeads, EmptyState, ExactText, LoadFailure, RouteLink } from "./common.js";
import { useInspector, useKeys, useLoaded } from "./hooks.js";
import { Icon, signOfOutcome } from "./icons.js";

type EvalsRoute = Extract<Route, { readonly screen: "evals" }>;
type ListedReport = Omit<Report, "trials"> & { readonly trialCount: number };

export function EvalsPage({ route }: { readonly route: EvalsRoute }) {
  const inspector = useInspector();
  const evals = useLoaded(() => inspector.api.get<{ readonly evals: readonly ListedReport[] }>("/v1/evals"), []);
  useKeys({
    Escape: () => inspector.navigate(route.name === undefined ? { screen: "sessions" } : { screen: "evals" }),
    a: () => inspector.navigate({ screen: "approvals" }),
  });
  if (evals.status === "loading") return <p class="loading center">…</p>;
  if (evals.status === "failed")
    return (
      <main class="evals">
        <LoadFailure message={evals.message} />
      </main>
    );
  if (evals.value.evals.length === 0)
    return (
      <main class="evals">
        <EmptyState title="No evals yet">
          <p>Play an eval and keep the logs of its trials:</p>
          <pre>pawl eval --keep-logs</pre>
        </EmptyState>
      </main>
    );
  return (
    <main class="evals">
      {route.name === undefined ? (
        <EvalList evals={evals.value.evals} />
      ) : (
        <EvalReport name={route.name} trial={route.trial} key={route.name} />
      )}
    </main>
  );
}

function EvalList({ evals }: { readonly evals: readonly ListedReport[] }) {
  return (
    <table class="eval-table">
      <ColumnHeads heads={["Eval", "Variant", "Passed", "Worse than the baseline", "Paid"]} />
      <tbody>
        {evals.flatMap((report) =>
          Object.entries(report.variants).map(([variant, { passed, trials, worse, broken }]) => (
            <tr key={`${report.name}/${variant}`}>
              <td>
                <RouteLink to={{ screen: "evals", name: report.name }}>{report.name}</RouteLink>
              </td>
              <td>{variant}</td>
              <td class="num">
                {formatCount(passed)} of {formatCount(trials)}
              </td>
              <td>{[...broken.map((rule) => `${rule} (rule)`), ...worse].join(", ") || "–"}</td>
              <td class="num">{formatCost(report.paidUsd)}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  );
}

function EvalReport({ name, trial }: { readonly name: string; readonly trial: string | undefined }) {
  const { api } = useInspector();
  const loaded = useLoaded(() => api.get<{ readonly report: Report }>(`/v1/evals/${encodeURIComponent(name)}`), [name]);
  if (loaded.status === "loading") return <p class="loading center">…</p>;
  if (loaded.status === "failed") return <LoadFailure message={loaded.message} />;
  const { report } = loaded.value;
  const selected = report.trials.find((one) => toTrialKey(one) === trial);
  return (
    <div class={selected === undefined ? "eval-report" : "eval-report with-trial"}>
      <CaseTable report={report} selected={trial} />
      {selected !== undefined && <TrialDetail trial={selected} />}
    </div>
  );
}

function toTrialKey({ variant, case: name, repetition }: TrialReport): string {
  return `${variant}/${name}/${repetition}`;
}

function CaseTable({ report, selected }: { readonly report: Report; readonly selected: string | undefined }) {
  const variants = Object.keys(report.variants);
  const rows = useMemo(() => groupTrials(report.trials), [report]);
  return (
    <div class="eval-cases">
      <h1 class="cut">
        <RouteLink to={{ screen: "evals" }}>Evals</RouteLink> / {report.name}
      </h1>
      <table class="eval-table">
        <thead>
          <tr>
            <th scope="col">Case</th>
            {variants.map((variant) => (
              <th scope="col" key={variant}>
                {variant}: {formatCount(report.variants[variant]?.passed)} of{" "}
                {formatCount(report.variants[variant]?.trials)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, byVariant }) => (
            <tr key={name}>
              <th scope="row" class="cut" title={name}>
                {name}
              </th>
              {variants.map((variant) => (
                <td key={variant}>
                  {(byVariant.get(variant) ?? []).map((trial) => (
                    <RouteLink
                      key={trial.repetition}
                      to={{ screen: "evals", name: report.name, trial: toTrialKey(trial) }}
                      class={toTrialKey(trial) === selected ? "selected" : ""}
                      title={trial.passed ? "passed" : "failed"}
                    >
                      <Icon sign={findCellSign(trial)} label={trial.passed ? "passed" : "failed"} />
                    </RouteLink>
                  ))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function TrialDetail({ trial }: { readonly trial: TrialReport }) {
  const { scores, noVerdict = {}, departure, status, text, sessionId, recordedSessionId } = trial;
  return (
    <section class="eval-trial" aria-label={`The trial of ${trial.case}`}>
      <h2>
        {trial.case}, {trial.variant}
        {trial.repetition > 1 ? ` (${trial.repetition})` : ""}: {trial.passed ? "passed" : "failed"}
      </h2>
      {departure !== undefined && (
        <p class="note warn">
          <ExactText text={departure} />
        </p>
      )}
      <dl class="scores">
        {Object.entries(scores).map(([judge, { score, passed, why }]) => (
          <div key={judge}>
            <dt>
              <Icon sign={passed === null ? "idle" : passed ? "done" : "failed"} /> {judge} {score.toFixed(2)}
            </dt>
            {why !== undefined && (
              <dd>
                <ExactText text={why} />
              </dd>
            )}
          </div>
        ))}
        {Object.entries(noVerdict).map(
          ([judge, why]) =>
            scores[judge] === undefined && (
              <div key={judge}>
                <dt>
                  <Icon sign="idle" /> {judge}
                </dt>
                <dd>
                  <ExactText text={why} />
                </dd>
              </div>
            ),
        )}
      </dl>
      <p class="eval-answer">
        <span class="dim">{status}:</span> {toOneLine(text) || "no text"}
      </p>
      {sessionId === undefined ? (
        <p class="note">The log of this trial was not kept. Play the eval with --keep-logs.</p>
      ) : (
        <BothLogs recorded={recordedSessionId} played={sessionId} key={sessionId} />
      )}
    </section>
  );
}

/** The calls of the recorded session and of the trial, side by side. */
function BothLogs({ recorded, played }: { readonly recorded: string | undefined; readonly played: string }) {
  const { api } = useInspector();
  const then = useLoaded(async () => {
    if (recorded === undefined) throw new Error("There is no recorded session.");
    return loadCalls(api, recorded);
  }, [recorded]);
  const now = useLoaded(() => loadCalls(api, played), [played]);
  if (now.status === "failed") return <LoadFailure message={now.message} />;
  if (now.status === "loading" || then.status === "loading") return <p class="loading">…</p>;
  const rows = compareCalls(then.status === "ready" ? then.value : [], now.value);
  return (
    <>
      {then.status === "failed" && (
        <p class="note">The recorded session is not in this store, so only the trial is shown.</p>
      )}
      <table class="sides mono">
        <thead>
          <tr>
            <th scope="col">
              Recorded{" "}
              {recorded !== undefined && then.status === "ready" && (
                <RouteLink to={{ screen: "session", sessionId: recorded, tab: "step" }}>open</RouteLink>
              )}
            </th>
            <th scope="col">
              Now <RouteLink to={{ screen: "session", sessionId: played, tab: "step" }}>open</RouteLink>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ recorded: one, played: other, isSame }, index) => (
            <tr key={index} class={isSame ? "" : "differs"}>
              <td class={isSame || one === null ? "" : "removed"}>{one !== null && <CallCell call={one} />}</td>
              <td class={isSame || other === null ? "" : "added"}>{other !== null && <CallCell call={other} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function CallCell({ call }: { readonly call: ComparedCall }) {
  const { sessionId, callKey, name, input, outcome } = call;
  return (
    <RouteLink to={{ screen: "session", sessionId, step: stepKeyOfCall(callKey), tab: "step" }}>
      <Icon sign={signOfOutcome(outcome)} label={outcome ?? "open"} />
      <span>
        {name} <ExactText text={toOneLine(JSON.stringify(input))} />
      </span>
    </RouteLink>
  );
}

const pageSize = 500;
/** Longer logs are compared up to this number of pages. */
const maxPages = 20;

async function loadCalls(api: Inspector["api"], sessionId: string): Promise<readonly ComparedCall[]> {
  const events: PublicEvent[] = [];
  let after: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}/events`;
    const loaded = await api.get<{ readonly events: readonly PublicEvent[]; readonly next: string | null }>(path, {
      limit: pageSize,
      after,
    });
    events.push(...loaded.events);
    if (loaded.next === null) break;
    after = loaded.next;
  }
  return listCalls(events);
}
