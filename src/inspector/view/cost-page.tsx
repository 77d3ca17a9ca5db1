/**
 * The usage of a session: in total, by run, by model, by child session and by step.
 */
import type { Usage } from "../../index.js";
import { sumRunUsage, usageOfRun } from "../state/costs.js";
import { formatCost, formatCount, toOneLine } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import { EmptyState, LoadFailure, RouteLink } from "./common.js";
import { CostSteps } from "./cost-steps.js";
import { useInspector, useKeys } from "./hooks.js";
import { SessionHeader } from "./session-page.js";
import { formatKnown, UsageRow, UsageTable } from "./usage-table.js";
import { useChildren, useCosts } from "./use-costs.js";

export function CostPage({ session }: { readonly session: SessionState }) {
  const inspector = useInspector();
  const { costs, isWhole, problem, load } = useCosts(session);
  const children = useChildren(session);
  useKeys({
    Escape: () => inspector.navigate({ screen: "session", sessionId: session.id, tab: "step" }),
    l: () => inspector.navigate({ screen: "log", sessionId: session.id }),
    a: () => inspector.navigate({ screen: "approvals" }),
  });
  const run = session.now.status === "ready" ? session.now.value.run : null;
  const isEmpty = isWhole && costs.runs.length === 0 && problem === null;
  return (
    <main class="session costs">
      <SessionHeader session={session} screen="cost" />
      {problem !== null && <LoadFailure message={problem} retry={load} />}
      {isEmpty && (
        <EmptyState title="No usage yet">
          <p>The first figures appear here with the end of the first step.</p>
        </EmptyState>
      )}
      {costs.runs.length > 0 && (
        <div class="panes">
          <section class="cost-sums" aria-label="Sums">
            <Total usage={sumRunUsage(costs, run)} />
            {!isWhole && <p class="loading">Loading steps…</p>}
            <UsageTable title="By run" first="Run" count="steps">
              {costs.runs.map((one) => (
                <UsageRow usage={usageOfRun(one, run)} count={one.steps} key={one.runId}>
                  <span class="cut" dir="auto" title={one.text}>
                    {toOneLine(one.text, 80) || one.runId.slice(0, 8)}
                  </span>
                </UsageRow>
              ))}
            </UsageTable>
            <UsageTable title="By model" first="Model" count="attempts">
              {costs.models.map((one) => (
                <UsageRow usage={one.usage} count={one.attempts} key={one.model}>
                  <span class="cut mono">{one.model}</span>
                </UsageRow>
              ))}
              {costs.compactions !== null && (
                <UsageRow usage={costs.compactions.usage} count={costs.compactions.count}>
                  <span class="dim">compactions</span>
                </UsageRow>
              )}
            </UsageTable>
            {children.length > 0 && (
              <UsageTable title="By child session" first="Child" count="steps">
                {children.map(({ sessionId, info, lastRun }) => (
                  <UsageRow usage={lastRun?.usage ?? {}} count={lastRun?.steps ?? null} key={sessionId}>
                    <RouteLink to={{ screen: "cost", sessionId }} class="cut">
                      {info?.agent ?? sessionId} <span class="dim">{toOneLine(info?.title ?? "", 60)}</span>
                    </RouteLink>
                  </UsageRow>
                ))}
              </UsageTable>
            )}
            <p class="dim">
              A run includes its compactions and child sessions. Costs are based on list prices. Usage that a provider
              did not report is unknown; ≥ marks a sum with an unknown part.
            </p>
          </section>
          <CostSteps steps={costs.steps} sessionId={session.id} />
        </div>
      )}
    </main>
  );
}

function Total({ usage }: { readonly usage: Usage }) {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens, costUsd, partial } = usage;
  const totals = [
    ["cost", formatKnown(costUsd, (usd) => formatCost(usd, partial))],
    ["in", formatKnown(inputTokens, formatCount)],
    ["read from a cache", formatKnown(cacheReadTokens, formatCount)],
    ["written to a cache", formatKnown(cacheWriteTokens, formatCount)],
    ["out", formatKnown(outputTokens, formatCount)],
    ["of which reasoning", formatKnown(reasoningTokens, formatCount)],
  ] as const;
  return (
    <dl class="totals">
      {totals.map(([name, figure]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">{figure}</dd>
        </div>
      ))}
    </dl>
  );
}
