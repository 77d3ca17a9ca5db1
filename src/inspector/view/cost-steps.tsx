/**
 * The usage of each step, on one line, with a bar that compares the step with the most expensive one.
 */
import { useMemo, useState } from "preact/hooks";
import { type StepCost, weightOf } from "../state/costs.js";
import { formatCost, formatCount } from "../state/format.js";
import { useInspector, useKeys } from "./hooks.js";
import { formatKnown } from "./usage-table.js";
import { WindowedList } from "./windowed-list.js";

/** The same value as in the style sheet. */
const rowHeight = 28;

export function CostSteps({ steps, sessionId }: { readonly steps: readonly StepCost[]; readonly sessionId: string }) {
  const inspector = useInspector();
  const [isMostExpensiveFirst, setIsMostExpensiveFirst] = useState(false);
  const [selectedIndex, setSelectedIndex] = useState(-1);
  const isByCost = steps.some(({ usage }) => usage.costUsd !== undefined);
  const maxWeight = steps.reduce((max, { usage }) => Math.max(max, weightOf(usage, isByCost)), 0);
  const sortedSteps = useMemo(
    () =>
      isMostExpensiveFirst
        ? [...steps].sort((a, b) => weightOf(b.usage, isByCost) - weightOf(a.usage, isByCost))
        : steps,
    [steps, isMostExpensiveFirst, isByCost],
  );
  const open = (index: number) => {
    const step = sortedSteps[index];
    if (step !== undefined) inspector.navigate({ screen: "session", sessionId, step: step.key, tab: "step" });
  };
  useKeys({
    j: () => setSelectedIndex(Math.min(sortedSteps.length - 1, selectedIndex + 1)),
    ArrowDown: () => setSelectedIndex(Math.min(sortedSteps.length - 1, selectedIndex + 1)),
    k: () => setSelectedIndex(Math.max(0, selectedIndex - 1)),
    ArrowUp: () => setSelectedIndex(Math.max(0, selectedIndex - 1)),
    Enter: () => open(selectedIndex),
  });
  return (
    <section class="cost-steps" aria-label="By step">
      <header>
        <h3 class="label">By step</h3>
        <button
          type="button"
          class="chip"
          aria-pressed={isMostExpensiveFirst}
          onClick={() => setIsMostExpensiveFirst(!isMostExpensiveFirst)}
        >
          {isByCost ? "Most expensive first" : "Most tokens first"}
        </button>
      </header>
      <WindowedList items={sortedSteps} rowHeight={rowHeight} label="By step" selected={selectedIndex} toId={toRowId}>
        {(step, index) => (
          <div
            key={step.key}
            id={toRowId(step)}
            role="option"
            tabIndex={-1}
            aria-selected={index === selectedIndex}
            class={index === selectedIndex ? "line cost selected" : "line cost"}
            onClick={() => open(index)}
          >
            <StepCells step={step} share={maxWeight === 0 ? 0 : weightOf(step.usage, isByCost) / maxWeight} />
          </div>
        )}
      </WindowedList>
    </section>
  );
}

function toRowId({ key }: StepCost): string {
  return `cost-${key}`;
}

function StepCells({ step: { index, models, usage }, share }: { readonly step: StepCost; readonly share: number }) {
  const { inputTokens, outputTokens, costUsd, partial } = usage;
  return (
    <>
      <span class="num dim index">{index}</span>
      <span class="cut mono dim">{models.join(", ")}</span>
      <span class="share" aria-hidden="true">
        <span style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      <span class="num right" title="Tokens in">
        {formatKnown(inputTokens, formatCount)}
      </span>
      <span class="num right" title="Tokens out">
        {formatKnown(outputTokens, formatCount)}
      </span>
      <span class="num right">{formatKnown(costUsd, (usd) => formatCost(usd, partial))}</span>
    </>
  );
}
