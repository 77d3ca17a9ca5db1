/**
 * What evals find: ten faults (bench/evals/faults.md) in 100 recorded sessions of a travel agency, by replay, by steps, by whole plays, and with
 * a model that varies. It also counts what happened outside, the model calls that were paid, and the alarms without a fault.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  costs,
  createCase,
  evaluate,
  inRecord,
  sameAnswer,
  sameCalls,
  sameEnd,
  sameHooks,
  sameSteps,
  toExitCode,
} from "../dist/evals/index.js";
import { connectMcpServer } from "../dist/tools/mcp/index.js";
import { createAgency, createStandIn, newStore, record, requests } from "./evals/travel.mjs";
import { machine, table } from "./report.mjs";

const faults = [
  "none",
  "handoff-gone",
  "billing-rule",
  "question-gone",
  "mcp-renamed",
  "guard-gone",
  "limit",
  "date-gone",
  "forgets",
  "twice",
  "zone",
];

/** A rule of the author. */
const confirms = {
  name: "confirms",
  must: true,
  judge: ({ calls, text, departure }) => {
    const at = calls.findIndex(({ tool, outcome }) => (tool === "refund" || tool === "charge") && outcome === "ok");
    // Nothing is to be confirmed of a charge that the traveller declined, nor in a trial that ended before.
    if (at < 0 || departure !== null || text.includes("was not made")) return null;
    return calls.slice(at).some(({ tool }) => tool === "send_confirmation");
  },
};

const judges = [sameEnd(), inRecord(), sameCalls(), sameAnswer(), sameHooks(), costs({ atMost: 1.3 })];

export async function run({ quick, json }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-evals-"));
  const log = join(folder, "calendar.log");
  writeFileSync(log, "");
  const connect = (mode) =>
    connectMcpServer({
      name: "calendar",
      transport: {
        type: "stdio",
        command: process.execPath,
        args: [fileURLToPath(new URL("evals/calendar-server.mjs", import.meta.url)), log, mode],
      },
      trust: "hints",
    });
  const servers = { usual: await connect("usual"), renamed: await connect("renamed") };
  try {
    await measure({ quick, json, log, servers });
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.close()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure({ quick, json, log, servers }) {
  const wanted = quick ? requests.slice(0, 30) : requests;
  const store = newStore();
  const recorded = [];
  const toolsFor = (fault) => (fault === "mcp-renamed" ? servers.renamed : servers.usual).tools;
  const agency = createAgency(createStandIn(), { store, effects: recorded, calendar: toolsFor("none") });
  for (const request of wanted) await record(agency, request);
  const calendarCalls = () => readFileSync(log, "utf8").split("\n").length - 1;
  const callsThen = calendarCalls();
  const cases = [];
  for (const { sessionId } of wanted) cases.push(await createCase(store, sessionId, { name: sessionId }));
  const effects = [];
  let asked = 0;
  const play = async (fault, model, more = {}) => {
    const id = fault === "twice" ? { id: "small", twice: 0.4 } : {};
    const agent = createAgency(createStandIn({ ...model, ...id }), { effects, fault, calendar: toolsFor(fault) });
    const report = await evaluate({ name: "travel", agent, cases, judges, ...more });
    asked += report.asked;
    return report;
  };
  const noisy = { noise: 0.08, salt: "a" };
  const base = await play("none", {});
  const baseNoisy = {};
  for (const repeat of [1, 3]) baseNoisy[repeat] = await play("none", noisy, { repeat, judges: [...judges, confirms] });
  const rows = [];
  for (const fault of faults) {
    const stored = createAgency(createStandIn(fault === "twice" ? { id: "small", twice: 0.4 } : {}), {
      store,
      effects,
      fault,
      calendar: toolsFor(fault),
    });
    const replayed = await countDifferences(stored, wanted, {});
    const replayedLoosely = await countDifferences(stored, wanted, { prompt: "recorded" });
    const begun = performance.now();
    const whole = await play(fault, {}, { baseline: base });
    const ms = Math.round(performance.now() - begun);
    const steps = await play(fault, {}, { play: "steps", judges: [sameSteps()] });
    const varied = {};
    for (const repeat of [1, 3])
      varied[repeat] = await play(
        fault,
        { ...noisy, salt: "b" },
        { repeat, judges: [...judges, confirms], baseline: baseNoisy[repeat] },
      );
    const found = (report) => {
      const { worse, broken } = report.variants.agent;
      return toExitCode(report) === 5 ? [...new Set([...worse, ...broken])].join(", ") : "–";
    };
    rows.push([
      fault,
      replayed,
      replayedLoosely,
      countFailed(steps),
      `${countFailed(whole)} ${found(whole)}`,
      found(varied[1]),
      found(varied[3]),
      whole.asked,
      ms,
    ]);
  }
  const real = await playRealCharge(cases, toolsFor);
  const alarms = await countAlarms(play, noisy, quick ? 3 : 15);
  const result = {
    sessions: wanted.length,
    recordedEffects: recorded.length + callsThen,
    effects: effects.length + calendarCalls() - callsThen,
    modelCalls: asked,
    real,
    alarms,
    rows,
  };
  if (json) return console.log(JSON.stringify(result));
  console.log(machine());
  console.log(
    `${result.sessions} recorded sessions did ${result.recordedEffects} things outside. All plays and replays: ${result.effects}. Model calls: ${asked}.\n`,
  );
  console.log(
    table(
      [
        "fault",
        "replay",
        "replay, prompt as recorded",
        "steps",
        "run: failed trials, worse by",
        "varied: worse by",
        "varied, 3 repetitions",
        "model calls",
        "ms",
      ],
      rows,
    ),
  );
  console.log(
    `\nquestion-gone with tools: { charge: "real" }: ${real.failed} failed trials, ${real.charges} charges by the stand-in; without the fault ${real.failedBefore} failed.`,
  );
  console.log(
    `\nFalse alarms of a varied model without a fault: ${alarms.found} of ${alarms.of} (${alarms.strict} with --strict).`,
  );
}

async function countDifferences(agent, wanted, options) {
  let count = 0;
  for (const { sessionId } of wanted) {
    // An agent that no longer hands over to the agent of the session refuses it.
    const difference = await agent
      .session(sessionId)
      .replay(options)
      .then((replay) => replay.difference)
      .catch(({ code }) => ({ code }));
    if (difference !== null) count += 1;
  }
  return count;
}

/** A fault within a tool shows only if the tool runs. Here it charges nobody. */
async function playRealCharge(cases, toolsFor) {
  const play = async (fault) => {
    const effects = [];
    const agent = createAgency(createStandIn(), { effects, fault, calendar: toolsFor("none") });
    const report = await evaluate({
      name: "real",
      agent,
      cases,
      judges: [...judges, asksPeople],
      tools: { charge: "real" },
    });
    return { failed: countFailed(report), charges: effects.length };
  };
  const { failed: failedBefore } = await play("none");
  return { ...(await play("question-gone")), failedBefore };
}

/** A rule: nobody is charged more than 1,000 euros without a question. The log of a trial has the questions. */
const asksPeople = {
  name: "asksPeople",
  must: true,
  judge: async ({ calls, store, sessionId }) => {
    if (!calls.some(({ tool, input, outcome }) => tool === "charge" && input.cents > 100_000 && outcome === "ok"))
      return null;
    const entries = await store.read(sessionId, 0, 1_000);
    return entries.some(({ event }) => event.type === "tool_asked");
  },
};

function countFailed({ trials }) {
  return trials.filter(({ passed }) => !passed).length;
}

async function countAlarms(play, noisy, of) {
  const counts = { found: 0, strict: 0, of };
  for (let run = 0; run < of; run += 1) {
    const before = await play("none", { ...noisy, salt: `x${run}` });
    const now = await play("none", { ...noisy, salt: `y${run}` }, { baseline: before });
    if (toExitCode(now) === 5) counts.found += 1;
    if (toExitCode(now, { strict: true }) === 5) counts.strict += 1;
  }
  return counts;
}
