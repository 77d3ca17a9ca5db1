/**
 * What each step used, on one line, with a bar that compares it with the dearest one.
 */
import { useMemo, useState } from "preact/hooks";
import { type StepCost, weightOf } from "../state/costs.js";
import { cost, whole } from "../state/format.js";
import { known } from "./figures.js";
import { useInspector, useKeys } from "./hooks.js";
import { WindowedList } from "./windowed-list.js";

/** As in the style sheet. */
const rowHeight = 28;

export function CostSteps({ steps, sessionId }: { readonly steps: readonly StepCost[]; readonly sessionId: string }) {
  const inspector = useInspector();
  const [isDearestFirst, setIsDearestFirst] = useState(false);
  const [at, setAt] = useState(-1);
  const byCost = steps.some(({ usage }) => usage.costUsd !== undefined);
  const most = steps.reduce((max, { usage }) => Math.max(max, weightOf(usage, byCost)), 0);
  const shown = useMemo(
    () => (isDearestFirst ? [...steps].sort((a, b) => weightOf(b.usage, byCost) - weightOf(a.usage, byCost)) : steps),
    [steps, isDearestFirst, byCost],
  );
  const open = (index: number) => {
    const step = shown[index];
    if (step !== undefined) inspector.navigate({ screen: "session", sessionId, step: step.key, tab: "step" });
  };
  useKeys({
    j: () => setAt(Math.min(shown.length - 1, at + 1)),
    ArrowDown: () => setAt(Math.min(shown.length - 1, at + 1)),
    k: () => setAt(Math.max(0, at - 1)),
    ArrowUp: () => setAt(Math.max(0, at - 1)),
    Enter: () => open(at),
  });
  return (
    <section class="cost-steps" aria-label="By step">
      <header>
        <h3 class="label">By step</h3>
        <button
          type="button"
          class="chip"
          aria-pressed={isDearestFirst}
          onClick={() => setIsDearestFirst(!isDearestFirst)}
        >
          {byCost ? "Dearest first" : "Most tokens first"}
        </button>
      </header>
      <WindowedList items={shown} rowHeight={rowHeight} label="By step" selected={at} idOf={idOf}>
        {(step, index) => (
          <div
            key={step.key}
            id={idOf(step)}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            class={index === at ? "line cost selected" : "line cost"}
            onClick={() => open(index)}
          >
            <StepCells step={step} share={most === 0 ? 0 : weightOf(step.usage, byCost) / most} />
          </div>
        )}
      </WindowedList>
    </section>
  );
}

function idOf({ key }: StepCost): string {
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
        {known(inputTokens, whole)}
      </span>
      <span class="num right" title="Tokens out">
        {known(outputTokens, whole)}
      </span>
      <span class="num right">{known(costUsd, (usd) => cost(usd, partial))}</span>
    </>
  );
}
