/**
 * What sessions cost with a provider's prompt cache: the real provider packages, against servers that bill prompts as Anthropic
 * and OpenAI document. No figure of these depends on the time that anything takes: clocks stand still until a session moves
 * them.
 *
 *     npm run bench -- economy            60 steps, all packages, both ways of counting Claude's positions
 *     npm run bench -- economy --quick    20 steps
 *
 * Ends with 1 if a target is missed.
 */
import { createAgent } from "../dist/index.js";
import { createTestClock } from "../dist/testing/index.js";
import { beginsWith, billed } from "./economy/billing-server.mjs";
import { measureManyTools, ways } from "./economy/many-tools.mjs";
import { measureMarks } from "./economy/marks.mjs";
import { startOpenAiServer } from "./economy/openai-server.mjs";
import { plays } from "./economy/plays.mjs";
import { countingsOf, isSummary, packages, readable, systemPrompt, toolsOf, working } from "./economy/sessions.mjs";
import { table } from "./report.mjs";

const dollarsOfInput = 2 / 1_000_000;

export async function run({ quick }) {
  const steps = quick ? 20 : 60;
  const played = await playAll(steps);
  const tools = await manyToolsRows();
  const fleet = await fleetRow();
  const marks = await Promise.all([await measureMarks(10), await measureMarks(1_000)]);
  const missed = [...played.missed, ...tools.missed];
  const targets = targetRows({ ...played, tools, fleet, marks });
  missed.push(...targets.flatMap(([what, target, , met]) => (met === "no" ? [`${what}: ${target}`] : [])));
  console.log(`\n${table(["", "target", "measured", "met"], targets)}`);
  console.log(missed.length === 0 ? "\nAll targets are met." : `\nMissed:\n${missed.join("\n")}`);
  if (missed.length > 0) process.exitCode = 1;
}

async function playAll(steps) {
  const missed = [];
  const all = [];
  for (const [version, create] of Object.entries(packages))
    for (const positions of countingsOf(version))
      for (const [name, play] of Object.entries(plays)) {
        const played = await play({ steps, create, version, positions });
        await played.server.close();
        const figures = figuresOf(played);
        const where = `${name}, ${version}, ${positions}`;
        missed.push(...problemsOf(played, figures).map((problem) => `${where}: ${problem}`));
        all.push({ name, where, figures, ...played });
      }
  const heads = [
    "requests",
    "read",
    "written",
    "in full",
    "input $",
    "of uncached",
    "from step 10",
    "breaks",
    "shared",
  ];
  const rows = all.map(({ where, figures, ...played }) => [where, ...cellsOf(figures, played)]);
  console.log(table(["session", ...heads], rows));
  return { missed, all, steps };
}

/** 400 tools of ten servers, eight tasks. */
async function manyToolsRows() {
  const missed = [];
  const rows = [];
  const dollars = new Map();
  for (const version of Object.keys(packages))
    for (const way of ways) {
      const figures = await measureManyTools(version, way);
      const where = `400 tools ${way}, ${version}`;
      dollars.set(where, figures.dollars);
      if (figures.refused > 0) missed.push(`${where}: ${figures.refused} requests were refused`);
      if (figures.breaks > 0) missed.push(`${where}: ${figures.breaks} breaks`);
      const { requests, first, total, readShare, breaks, kilobytes } = figures;
      const input = [first, total].map((value) => value.toLocaleString("en-US"));
      rows.push([
        where,
        requests,
        ...input,
        percent(readShare),
        breaks,
        figures.dollars.toFixed(3),
        kilobytes.toFixed(0),
      ]);
    }
  const heads = ["requests", "first request", "input tokens", "read", "breaks", "input $", "kB sent"];
  console.log(`\n${table(["tools", ...heads], rows)}`);
  const cost = (way) => Object.keys(packages).map((version) => dollars.get(`400 tools ${way}, ${version}`));
  const shareOf = (way) => Math.max(...cost(way).map((one, index) => one / cost(ways[0])[index]));
  return { missed, native: shareOf(ways[1]), portable: shareOf(ways[2]) };
}

/** Twelve sessions of ten steps at once, on a model whose machines have a cache each. */
async function fleetRow() {
  const ratios = {};
  for (const promptCache of ["off", "auto"]) {
    const { now } = createTestClock();
    const work = working(10);
    const reply = (_, { input }) => work(input.filter(({ type }) => type === "function_call").length);
    const server = await startOpenAiServer({ reply, now, isBefore56: true });
    const model = packages["GPT v3"](server.baseURL, "gpt-5.4");
    const limits = { onRepeatedCall: "ignore" };
    const agent = createAgent({ model, systemPrompt, tools: toolsOf(), limits, promptCache });
    await Promise.all(Array.from({ length: 12 }, (_, index) => agent.run(`Do part ${index} of it.`)));
    await server.close();
    ratios[promptCache] = figuresOf({ server }).ratio;
  }
  return ratios;
}

/** The figures to reach. */
function targetRows({ all, steps, tools, fleet, marks }) {
  const of = (name) => all.filter((one) => one.name === name);
  const [least, most] = [(values) => Math.min(...values), (values) => Math.max(...values)];
  const shares = (name) => least(of(name).map(({ share }) => share));
  const row = (what, target, value, isMet, show = percent) => [what, target, show(value), isMet ? "yes" : "no"];
  const atLeast = (what, value, limit) => row(what, `≥ ${percent(limit)}`, value, value >= limit);
  const later = most(of("plain").map(({ figures }) => figures.later));
  const growing = all.filter(({ targets }) => targets.reads === true);
  const unbroken = all.filter(({ targets }) => targets.breaks === 0);
  const breaks = most(unbroken.map(({ figures }) => figures.breaks));
  const refused = all.reduce((sum, { figures }) => sum + figures.refused, 0);
  const fast = most(marks.map(({ ratio }) => ratio));
  return [
    ...(steps < 60 ? [] : [row("60 steps, from step 10 on, of uncached", "≤ 15.0 %", later, later <= 0.15)]),
    atLeast("read of a request, of what the one before sent", least(growing.map(({ figures }) => figures.allShare)), 1),
    atLeast(
      "a compaction's own call from the cache",
      least(of("compaction").flatMap(({ figures }) => figures.summaries)),
      0.9,
    ),
    atLeast("first request after a kill", shares("kill -9 and resume"), 0.999),
    atLeast("fork at its end", shares("fork"), 0.99),
    atLeast("fork 20 steps back", shares("fork 20 steps back"), 0.99),
    atLeast("second session reads tools and prompt", shares("second session"), 0.9),
    row("breaks of the prefix", "0", breaks, breaks === 0, String),
    row("refused requests", "0", refused, refused === 0, String),
    row("400 tools loaded by the provider, of all offered", "≤ 50.0 %", tools.native, tools.native <= 0.5),
    row("400 tools through call_tool, of all offered", "≤ 50.0 %", tools.portable, tools.portable <= 0.5),
    row(
      "gpt-5.4, 12 sessions at once, with a key (of uncached)",
      `< ${percent(fleet.off)} without`,
      fleet.auto,
      fleet.auto < fleet.off,
    ),
    row(
      `marks (${marks.map(({ marking }) => marking.toFixed(2)).join(" and ")} µs), of writing 10 kB of JSON`,
      "≤ 5.0 %",
      fast,
      fast <= 0.05,
    ),
  ];
}

function figuresOf({ server }) {
  const bills = server.ledger.filter(({ refused }) => refused === undefined);
  const sum = (key) => bills.reduce((total, bill) => total + bill[key], 0);
  const ratio = (some) =>
    some.reduce((cost, bill) => cost + billed(bill), 0) / some.reduce((all, { total }) => all + total, 0);
  const steps = bills.filter(({ body }) => !isSummary(body));
  const pairs = steps.slice(1).map((bill, index) => [steps[index], bill]);
  return {
    bills,
    refused: server.ledger.length - bills.length,
    read: sum("read"),
    written: sum("written5m") + sum("written1h"),
    full: sum("full"),
    dollars: bills.reduce((cost, bill) => cost + billed(bill), 0) * dollarsOfInput,
    ratio: ratio(bills),
    later: ratio(bills.slice(10).length > 0 ? bills.slice(10) : bills),
    breaks: pairs.filter(([before, bill]) => !beginsWith(bill, before)).length,
    allShare: pairs.reduce((least, [before, bill]) => Math.min(least, bill.read / readable(before)), 1),
    summaries: bills.flatMap((bill, index) => (isSummary(bill.body) ? [bill.read / bills[index - 1].total] : [])),
  };
}

function problemsOf({ targets, share, least }, figures) {
  const problems = [];
  if (figures.refused > 0) problems.push(`${figures.refused} requests were refused`);
  if (targets.later !== undefined && figures.later > targets.later)
    problems.push(`${percent(figures.later)} from step 10`);
  if (targets.breaks !== undefined && figures.breaks > targets.breaks) problems.push(`${figures.breaks} breaks`);
  if (targets.reads && figures.allShare < 1) problems.push("a request did not read all of the request before");
  if (share !== undefined && share < least) problems.push(`${percent(share)} were shared`);
  if (targets.compaction !== undefined) {
    if (figures.summaries.length === 0) problems.push("nothing was summed up");
    if (figures.summaries.some((one) => one < targets.compaction))
      problems.push("a compaction was not read from the cache");
  }
  return problems;
}

/** Requests of several sessions do not begin with each other. */
function cellsOf(figures, { share, isMixed }) {
  const whole = (value) => value.toLocaleString("en-US");
  return [
    figures.bills.length,
    whole(figures.read),
    whole(figures.written),
    whole(figures.full),
    figures.dollars.toFixed(3),
    percent(figures.ratio),
    percent(figures.later),
    isMixed ? "" : figures.breaks,
    share === undefined ? "" : percent(share),
  ];
}

function percent(value) {
  return `${(value * 100).toFixed(1)} %`;
}
