/**
 * What a session used: in all, by run, by model, by child session and by step.
 */
import type { Usage } from "../../index.js";
import { totalOf, usageOfRun } from "../state/costs.js";
import { cost, oneLine, whole } from "../state/format.js";
import type { SessionState } from "../state/session-state.js";
import { CostSteps } from "./cost-steps.js";
import { FigureRow, Figures, known } from "./figures.js";
import { useInspector, useKeys } from "./hooks.js";
import { Empty, Failed, RouteLink } from "./parts.js";
import { SessionHead } from "./session-page.js";
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
      <SessionHead session={session} screen="cost" />
      {problem !== null && <Failed message={problem} retry={load} />}
      {isEmpty && (
        <Empty title="Nothing was used yet">
          <p>The first figures appear here with the end of the first step.</p>
        </Empty>
      )}
      {costs.runs.length > 0 && (
        <div class="panes">
          <section class="cost-sums" aria-label="Sums">
            <Total usage={totalOf(costs, run)} />
            {!isWhole && <p class="loading">Loading steps…</p>}
            <Figures title="By run" first="Run" count="steps">
              {costs.runs.map((one) => (
                <FigureRow usage={usageOfRun(one, run)} count={one.steps} key={one.runId}>
                  <span class="cut" dir="auto" title={one.text}>
                    {oneLine(one.text, 80) || one.runId.slice(0, 8)}
                  </span>
                </FigureRow>
              ))}
            </Figures>
            <Figures title="By model" first="Model" count="attempts">
              {costs.models.map((one) => (
                <FigureRow usage={one.usage} count={one.attempts} key={one.model}>
                  <span class="cut mono">{one.model}</span>
                </FigureRow>
              ))}
              {costs.compactions !== null && (
                <FigureRow usage={costs.compactions.usage} count={costs.compactions.count}>
                  <span class="dim">compactions</span>
                </FigureRow>
              )}
            </Figures>
            {children.length > 0 && (
              <Figures title="By child session" first="Child" count="steps">
                {children.map(({ sessionId, info, lastRun }) => (
                  <FigureRow usage={lastRun?.usage ?? {}} count={lastRun?.steps ?? null} key={sessionId}>
                    <RouteLink to={{ screen: "cost", sessionId }} class="cut">
                      {info?.agent ?? sessionId} <span class="dim">{oneLine(info?.title ?? "", 60)}</span>
                    </RouteLink>
                  </FigureRow>
                ))}
              </Figures>
            )}
            <p class="dim">
              A run counts its compactions and child sessions, too. Costs go by list prices. What no provider reported
              is unknown. With ≥ a part of the sum is unknown.
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
  const figures = [
    ["cost", known(costUsd, (usd) => cost(usd, partial))],
    ["in", known(inputTokens, whole)],
    ["read from a cache", known(cacheReadTokens, whole)],
    ["written to a cache", known(cacheWriteTokens, whole)],
    ["out", known(outputTokens, whole)],
    ["of it reasoning", known(reasoningTokens, whole)],
  ] as const;
  return (
    <dl class="totals">
      {figures.map(([name, figure]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="num">{figure}</dd>
        </div>
      ))}
    </dl>
  );
}
