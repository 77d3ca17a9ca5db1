/**
 * Renders the sessions that work or wait as a table. On a narrow screen, each session takes two lines, with its work on the second.
 */
import { basename } from "node:path";
import { formatNumber } from "../../view/format-number.js";
import type { RunningSession } from "../agent/running-sessions.js";
import { shortId } from "../files/session-store.js";
import { formatAge, sanitize, toOneLine, truncate, widthOf } from "../terminal/text.js";
import { formatDollars } from "./format-closing-line.js";

type Options = {
  readonly columns: number;
  readonly now: number;
  /** Whether each line says which folder its session works in. */
  readonly hasFolders: boolean;
};

/** On narrower screens, each session takes two lines. */
const tableColumns = 70;
const maxDoingWidth = 28;
const maxFolderWidth = 20;

export function renderRunningSessions(
  sessions: readonly RunningSession[],
  { columns, now, hasFolders }: Options,
): readonly string[] {
  const ids = sessions.map(({ sessionId }) => sessionId);
  const isNarrow = columns < tableColumns;
  const rows = sessions.map((session) => {
    const { sessionId, depth, title, root, startedAt } = session;
    const doing = truncate(formatDoing(session), maxDoingWidth);
    const facts = [
      `${"  ".repeat(Math.min(depth, 4))}${sanitize(shortId(sessionId, ids))}`,
      ...(isNarrow ? [] : [doing]),
      startedAt === null ? "" : formatAge(now - startedAt),
      formatUsage(session),
      ...(hasFolders ? [root === null ? "" : truncate(toOneLine(basename(root) || root), maxFolderWidth)] : []),
    ];
    const below = [doing, toOneLine(title)].filter((text) => text !== "").join(" · ");
    return { facts, title: toOneLine(title), below: `${"  ".repeat(Math.min(depth, 4) + 1)}${below}` };
  });
  const widths = (rows[0]?.facts ?? []).map((_, at) => Math.max(...rows.map(({ facts }) => widthOf(facts[at] ?? ""))));
  return rows.flatMap(({ facts, title, below }) => {
    const padded = facts.map((fact, at) => fact + " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(fact))));
    const line = padded.join("  ");
    if (isNarrow) return [truncate(line.trimEnd(), columns), truncate(below, columns)];
    return [truncate(`${line}  ${title}`, columns).trimEnd()];
  });
}

function formatDoing({ progress, doing }: RunningSession): string {
  const work = toOneLine(doing);
  switch (progress) {
    case "running":
      return work === "" ? "works" : work;
    case "waits_for_person":
      return work === "" ? "waits for you" : `waits for you: ${work}`;
    case "answered":
      return "answered";
    case "waits":
      return work === "" ? "waits" : `waits: ${work}`;
    case "interrupted":
      return "interrupted";
  }
}

function formatUsage({ costUsd, tokens }: RunningSession): string {
  if (costUsd !== null) return formatDollars(costUsd);
  return tokens === 0 ? "" : `${formatNumber(tokens)} tokens`;
}
