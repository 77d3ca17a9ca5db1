/**
 * Tables of usage. Unknown values are shown as unknown, never as 0.
 */
import type { ComponentChildren } from "preact";
import type { Usage } from "../../index.js";
import { formatCost, formatCount } from "../state/format.js";

export function formatKnown(figure: number | undefined, format: (figure: number) => string): ComponentChildren {
  return figure === undefined ? <span class="unknown">unknown</span> : format(figure);
}

/** @param count what the second column counts */
export function UsageTable({
  title,
  first,
  count,
  children,
}: {
  readonly title: string;
  readonly first: string;
  readonly count: string;
  readonly children: ComponentChildren;
}) {
  return (
    <table class="figures">
      <caption class="label">{title}</caption>
      <thead>
        <tr>
          <th scope="col">{first}</th>
          <th scope="col">{count}</th>
          <th scope="col">in</th>
          <th scope="col" title="Tokens read from the provider's cache">
            cached
          </th>
          <th scope="col">out</th>
          <th scope="col">cost</th>
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

export function UsageRow({
  usage: { inputTokens, cacheReadTokens, outputTokens, costUsd, partial },
  count,
  children,
}: {
  readonly usage: Usage;
  readonly count: number | null;
  readonly children: ComponentChildren;
}) {
  return (
    <tr>
      <th scope="row">{children}</th>
      <td class="num">{count === null ? "" : formatCount(count)}</td>
      <td class="num">{formatKnown(inputTokens, formatCount)}</td>
      <td class="num">{formatKnown(cacheReadTokens, formatCount)}</td>
      <td class="num">{formatKnown(outputTokens, formatCount)}</td>
      <td class="num">{formatKnown(costUsd, (usd) => formatCost(usd, partial))}</td>
    </tr>
  );
}
