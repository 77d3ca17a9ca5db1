/**
 * The measured figures as markdown. A row that could not be measured has its reason below the table.
 */
import { table } from "../report.mjs";
import { contenders } from "./contenders.mjs";

const labels = new Map(contenders.map(({ name, label }) => [name, label]));
const engines = new Map(contenders.map(({ name, engines }) => [name, engines]));

export const labelOf = (name) => labels.get(name);

export function pageOf({ node, machine, versions, results }) {
  const sections = Object.entries(results).map(([name, result]) => sectionOf[name](result, Number.parseInt(node, 10)));
  const measured = versions.map(({ name, version }) => `${name} ${version}`).join(", ");
  return `## Node ${node}\n\n${machine}. Measured beside: ${measured}.\n\n${sections.join("\n\n")}\n`;
}

const sectionOf = {
  W1: (rows, node) =>
    section(
      "W1: a step, streamed and consumed",
      rows,
      node,
      ["", "µs a step", "× floor", "µs of CPU", "promises", "KB allocated"],
      ({ us, times, cpuUs, promises, kilobytes }) => [
        us.toFixed(1),
        ratio(times),
        cpuUs.toFixed(1),
        whole(promises),
        kilobytes?.toFixed(1) ?? "–",
      ],
    ),
  W2: ({ deltas, rows, lengths }, node) =>
    [
      section(
        `W2: ${deltas.toLocaleString("en")} deltas in one call`,
        rows,
        node,
        ["", "µs a delta", "× floor", "µs of CPU"],
        ({ us, times, cpuUs }) => [us.toFixed(2), ratio(times), cpuUs.toFixed(2)],
      ),
      table(
        ["µs a delta, by the length of the answer", ...lengths.map((one) => one.deltas.toLocaleString("en"))],
        lengths[0].rows.map(({ name }, index) => [
          labelOf(name),
          ...lengths.map(({ rows: each }) => each[index].us?.toFixed(2) ?? "–"),
        ]),
      ),
    ].join("\n\n"),
  W3: ({ points, rows, capMs }, node) =>
    section(
      `W3: one run of ${points.at(-1).toLocaleString("en")} steps, at most ${capMs / 1000} s`,
      rows,
      node,
      ["", ...points.map((point) => `µs at ${point.toLocaleString("en")}`), `last over 100`, ""],
      ({ points: costs, growth, capped }) => [
        ...costs.map((us) => us?.toFixed(1) ?? "–"),
        growth?.toFixed(2) ?? "–",
        capped === undefined ? "" : `came to step ${capped.toLocaleString("en")}`,
      ],
    ),
  W4: ({ runs, tool, person }, node) => {
    const cells = ({ kilobytes, resident }) => [kilobytes.toFixed(1), resident.toFixed(1)];
    const heads = ["", "KB of heap a run", "KB of the process a run"];
    const count = runs.toLocaleString("en");
    return [
      section(`W4: ${count} runs that wait in a tool`, tool, node, heads, cells),
      section(`W4: ${count} runs that wait for a person`, person, node, heads, cells),
    ].join("\n\n");
  },
  W5: ({ failure, steps, atOnce, ...modes }, node) =>
    failure === undefined
      ? Object.entries(modes)
          .flatMap(([mode, { shape, rows, sessions }]) => [
            section(
              `W5: a durable run, synchronous ${mode.toUpperCase()}, ${steps} steps`,
              rows,
              node,
              ["", "µs a step", "× floor + bare SQLite", "bytes written a step", "last 50 over first 50"],
              ({ us, times, bytes, growth }) => [
                us.toFixed(0),
                ratio(times),
                bytes === null ? "–" : Math.round(bytes).toLocaleString("en"),
                growth?.toFixed(2) ?? "–",
              ],
            ),
            `A step of Pawl makes ${shape.commitsPerStep.toFixed(2)} commits here, of ${shape.eventsLength + shape.stateLength} characters on average, in a ${shape.journal === "wal" ? "write-ahead log" : "rollback journal"}; the bare SQLite does the same.`,
            section(
              `W5: ${atOnce} sessions at once, synchronous ${mode.toUpperCase()}`,
              sessions,
              node,
              ["", "steps a second"],
              ({ perSecond }) => [Math.round(perSecond).toLocaleString("en")],
            ),
          ])
          .join("\n\n")
      : `### W5\n\nCould not be measured: ${failure}`,
  W6: (rows, node) =>
    section(
      "W6: cold start and install",
      rows,
      node,
      ["", "ms to import, over a bare Node", "packages", "MB"],
      ({ importMs, packages, bytes }) => [importMs.toFixed(0), String(packages), (bytes / 1e6).toFixed(1)],
    ),
};

function section(title, rows, node, heads, cells) {
  const measured = rows.filter(({ failure }) => failure === undefined);
  const marked = (name) => (engines.get(name) > node ? `${labelOf(name)} ¹` : labelOf(name));
  const failed = rows
    .filter(({ failure }) => failure !== undefined)
    .map(({ name, failure }) => `${labelOf(name)} could not be run: ${failure}`);
  const outside = measured.some(({ name }) => engines.get(name) > node)
    ? [`¹ Asks for a newer Node than this one; it ran all the same.`]
    : [];
  const lines = table(
    heads,
    measured.map((row) => [marked(row.name), ...cells(row)]),
  );
  return [`### ${title}`, lines, ...outside, ...failed].join("\n\n");
}

function ratio(times) {
  return times === undefined ? "–" : times.toFixed(times < 10 ? 2 : 0);
}

function whole(value) {
  return value === undefined ? "–" : Math.round(value).toLocaleString("en");
}
