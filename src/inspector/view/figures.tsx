/**
 * Tables of what was used. What is unknown is called so, and is never 0.
 */
import type { ComponentChildren } from "preact";
import type { Usage } from "../../index.js";
import { cost, whole } from "../state/format.js";

export function known(figure: number | undefined, written: (figure: number) => string): ComponentChildren {
  return figure === undefined ? <span class="unknown">unknown</span> : written(figure);
}

/** @param count what the second column counts */
export function Figures({
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

export function FigureRow({
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
      <td class="num">{count === null ? "" : whole(count)}</td>
      <td class="num">{known(inputTokens, whole)}</td>
      <td class="num">{known(cacheReadTokens, whole)}</td>
      <td class="num">{known(outputTokens, whole)}</td>
      <td class="num">{known(costUsd, (usd) => cost(usd, partial))}</td>
    </tr>
  );
}
