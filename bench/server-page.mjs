/**
 * The section of docs/performance.md that the server's bench writes: each figure beside its aim and, if it is missed, what
 * its profile says.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { machine, table } from "./report.mjs";

const page = new URL("../docs/performance.md", import.meta.url);
const heading = "## The server";

/** Puts the text in the place of the section, or behind all others if there is none yet. */
export function writeSection(text) {
  const before = readFileSync(page, "utf8");
  const start = before.indexOf(`${heading}\n`);
  const kept = start === -1 ? `${before.trimEnd()}\n\n` : before.slice(0, start);
  const next = start === -1 ? -1 : before.indexOf("\n## ", start + 1);
  writeFileSync(page, `${kept}${heading}\n\n${text.trim()}\n${next === -1 ? "" : before.slice(next)}`);
}

const figure = (value) => (value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString("en"));

const elsewhere = "[above](#a-run-that-is-watched-over-http)";

/** What is known of the figures that have been missed: `node --cpu-prof` and `perf` of them. */
const profiles = {
  "fan-out":
    "According to `perf`, most of it is writing to each socket, in Node and the system; the server's own functions take a few per cent. The frame is created once, and all sockets get the same bytes.",
  pause:
    "A frame is written to all watchers at once: 1,000 writes to sockets. The pause grows with the number of watchers, and with other work on the processors.",
  idle: "No watcher has a timer, and no session is polled. What remains is the heartbeat, one comment every 15 s to each socket.",
  memory:
    "About 5 kB are Node's socket and response. The rest is the watcher, its hub and the follower of the session's log.",
  reconnect: "The first frame waits for the state of the session, which is read from the row nearest to its end.",
  pages: "A page is read from the row nearest to its start. The time goes into the store's rows and into JSON.",
  watched: `Two requests, and a worker that loads the session from the store: ${elsewhere}.`,
  latency:
    "The text waits for the pause of the hub (1 ms for one watcher), and for the redaction if it may be the start of a secret.",
};

/** Each row: what, its aim, the value in the aim's unit, and how it is shown. */
function rowsOf({ places, fanOut, idle, watched, latency, latencySlow, latencyPeer }) {
  const most = Math.max(...places.map(({ count }) => count));
  const least = Math.min(...places.map(({ count }) => count));
  const at = (work, count) => places.find((row) => row.work.startsWith(work) && row.count === count)?.ms ?? Number.NaN;
  const pages = places.filter(({ work, count }) => work.startsWith("page") && count === most);
  const reconnect = at("reconnect", most);
  const ratio = ({ direct, watched: overHttp }) => overHttp / direct;
  const watchedRow = (what, given) => ({
    what: `a run of ${what}, watched over HTTP: CPU compared with \`runStream\` in the process`,
    aim: [1.5, "≤ 1.5 ×"],
    value: ratio(given),
    shown: `${figure(ratio(given))} × (${figure(given.watched)} and ${figure(given.direct)} ms, ${figure(given.reads.watched)} and ${figure(given.reads.direct)} reads; \`node:http\` alone: ${figure(given.bare)} ms)`,
    profile: "watched",
  });
  const lateRow = ({ everyMs, ofPeer, p50, p95 }) => ({
    what: `a delta, from the model to a client of ${ofPeer ? "another process" : "the holder"}, a word every ${everyMs} ms, p50`,
    aim: ofPeer ? [5, "≤ 5 ms"] : [2, "≤ 2 ms"],
    value: p50,
    shown: `${figure(p50)} ms (p95 ${figure(p95)})`,
    profile: "latency",
  });
  return [
    {
      what: `reconnect at the end of ${most.toLocaleString("en")} steps, first event`,
      aim: [50, "≤ 50 ms"],
      value: reconnect,
      shown: `${figure(reconnect)} ms`,
      profile: "reconnect",
    },
    {
      what: `the same, compared with ${least} steps`,
      aim: [5, "≤ 5 ×"],
      value: reconnect / at("reconnect", least),
      shown: `${figure(reconnect / at("reconnect", least))} ×`,
      profile: "reconnect",
    },
    {
      what: `the slowest page of 100 in the middle of ${most.toLocaleString("en")} steps`,
      aim: [20, "≤ 20 ms"],
      value: Math.max(...pages.map(({ ms }) => ms)),
      shown: `${figure(Math.max(...pages.map(({ ms }) => ms)))} ms`,
      profile: "pages",
    },
    {
      what: `${fanOut.watchers.toLocaleString("en")} watchers of one session: CPU per frame and watcher`,
      aim: [12, "≤ 12 µs"],
      value: fanOut.us,
      shown: `${figure(fanOut.us)} µs`,
      profile: "fan-out",
    },
    {
      what: "the longest pause of the event loop meanwhile",
      aim: [100, "≤ 100 ms"],
      value: fanOut.pauseMs,
      shown: `${figure(fanOut.pauseMs)} ms`,
      profile: "pause",
    },
    {
      what: `${idle.count.toLocaleString("en")} idle watchers, each of its own session`,
      aim: [1, "≤ 1 % of a core"],
      value: idle.share * 100,
      shown: `${(idle.share * 100).toFixed(1)} %`,
      profile: "idle",
    },
    {
      what: "memory per watcher",
      aim: [20, "≤ 20 kB"],
      value: idle.bytes / 1_000,
      shown: `${figure(idle.bytes / 1_000)} kB`,
      profile: "memory",
    },
    watchedRow("20 words", watched.short),
    watchedRow(`${watched.words.toLocaleString("en")} words`, watched.long),
    watchedRow("10 steps with a tool, in SQLite", watched.steps),
    lateRow(latency),
    lateRow(latencySlow),
    lateRow(latencyPeer),
  ];
}

export function textOf(results) {
  const rows = rowsOf(results);
  const isMissed = ({ aim: [most], value }) => !(value <= most);
  const costs = table(
    ["figure", "goal", "measured", ""],
    rows.map((row) => [row.what, row.aim[1], row.shown, isMissed(row) ? "missed" : "met"]),
  );
  const steps = (count) => `${count.toLocaleString("en")} steps`;
  const placesTable = table(
    ["work", "history", "median, ms", "p95, ms"],
    results.places
      .toSorted((a, b) => a.work.localeCompare(b.work) || a.count - b.count)
      .map(({ work, count, ms, p95 }) => [work, steps(count), figure(ms), figure(p95)]),
  );
  const missed = [...new Set(rows.filter(isMissed).map(({ profile }) => profile))];
  const why = missed.map((name) => `- **Missed: ${name}.** ${profiles[name]}`).join("\n");
  return `\`npm run bench -- server --write\` on ${machine()}. The clients of the streams run in another process, so the
figures are those of the server. CPU is the minimum of three rounds, after 400 runs for warming up.

${costs}
${why === "" ? "" : `\n${why}\n`}
${placesTable}
`;
}
