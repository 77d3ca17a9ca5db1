/**
 * What sessions cost with a provider's prompt cache: the real provider packages, against a server that bills prompts as Anthropic
 * documents. No figure depends on the time that anything takes: clocks stand still until a session moves them.
 *
 *     npm run bench -- economy            60 steps, both packages, both ways of counting positions
 *     npm run bench -- economy --quick    20 steps
 *
 * Ends with 1 if a target is missed.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAgent, defineTool } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { beginsWith, billed, startBillingServer } from "./economy/billing-server.mjs";
import { begin, packages, systemPrompt, toolsOf, working } from "./economy/sessions.mjs";
import { inFolder } from "./folder.mjs";
import { table } from "./report.mjs";

const minute = 60_000;
const dollarsOfInput = 2 / 1_000_000;
const isSummary = (body) => JSON.stringify(body.messages.at(-1)).includes("about to be shortened");
const summary = { text: "## Keep\n- all of it\n\n## Summary\nFiles were read and written." };

/** Each gives its ledger, and what it has to show besides. */
const sessions = {
  plain: async ({ steps, ...place }) => {
    const { agent, server } = await begin({ ...place, reply: working(steps) });
    await agent.run("Do all of it.");
    return { server, targets: { reads: true, breaks: 0, ...(steps < 60 ? {} : { later: 0.15 }) } };
  },
  compaction: async ({ steps, ...place }) => {
    const work = working(steps);
    const reply = (index, body) => (isSummary(body) ? summary : work(index));
    const { agent, server } = await begin({ ...place, reply, compaction: { contextWindow: steps * 1_000 } });
    await agent.run("Do all of it.");
    return { server, targets: { compaction: 0.9 } };
  },
  "approval of 20 min": async ({ steps, ...place }) => {
    const work = working(steps);
    const guarded = defineTool({
      name: "deploy",
      description: "Deploys.",
      input: { type: "object" },
      needsApproval: true,
      execute: () => "Deployed.",
    });
    const reply = (index) => (index === steps / 2 ? { calls: [{ name: "deploy", input: {} }] } : work(index));
    const { agent, clock, server } = await begin({ ...place, reply, tools: [...toolsOf(), guarded] });
    const waiting = await agent.run("Do all of it.");
    await clock.advance(20 * minute);
    const session = agent.session(waiting.sessionId);
    for (const { callKey } of waiting.approvals) await session.answer(callKey, { type: "approve" });
    await session.resume();
    return { server, targets: { breaks: 0 } };
  },
  "26 calls each 5th step": async ({ steps, ...place }) => {
    const reply = working(Math.ceil(steps / 2), (step) => (step % 5 === 4 ? 26 : 1));
    const { agent, server } = await begin({ ...place, reply });
    await agent.run("Do all of it.");
    return { server, targets: { reads: true, breaks: 0 } };
  },
  "kill -9 and resume": ({ steps, ...place }) => inFolder((folder) => killed(folder, steps, place)),
  fork: async ({ steps, ...place }) => {
    const { agent, server } = await begin({ ...place, reply: working(steps) });
    const { sessionId } = await agent.run("Do all of it.");
    const before = server.ledger.at(-1);
    const forked = await agent.session(sessionId).fork();
    const at = server.ledger.length;
    await agent.run("Once more.", { sessionId: forked.id });
    return { server, targets: {}, share: server.ledger[at].read / before.total, least: 0.99 };
  },
  "second session": async ({ steps: _, ...place }) => {
    const { agent, server } = await begin({ ...place, reply: () => ({ text: "Yes." }) });
    await agent.run("Is it done?");
    await agent.run("Is it good?");
    const [, second] = server.ledger;
    return { server, targets: {}, share: second.read / second.total, least: 0.9, isMixed: true };
  },
  child: async ({ steps, ...place }) => {
    const half = Math.ceil(steps / 4);
    const isChild = (body) => JSON.stringify(body.messages[0]).includes("Look closely");
    const [work, parent] = [working(half), working(half)];
    let [ofChild, ofParent] = [0, 0];
    const reply = (_, body) => {
      if (isChild(body)) return work(ofChild++);
      ofParent += 1;
      return ofParent === 3
        ? { calls: [{ name: "researcher", input: { task: "Look closely." } }] }
        : parent(ofParent - 1);
    };
    const { agent, server, store } = await begin({ ...place, reply });
    const researcher = agent.asTool({ name: "researcher", description: "Researches." });
    const boss = createAgent({
      name: "boss",
      store,
      model: place.create(server.baseURL),
      systemPrompt,
      tools: [...toolsOf(), researcher],
      limits: { onRepeatedCall: "ignore" },
    });
    await boss.run("Do all of it.");
    return { server, targets: {}, isMixed: true };
  },
  "last summary": async ({ steps, ...place }) => {
    const work = working(steps);
    const reply = (index) => (index === steps - 5 ? { text: "That was most of it." } : work(index));
    const limits = { maxSteps: steps - 5, onRepeatedCall: "ignore" };
    const { agent, server } = await begin({ ...place, reply, limits });
    await agent.run("Do all of it.");
    return { server, targets: { reads: true, breaks: 0 } };
  },
  "cut output": async ({ steps, ...place }) => {
    const outputs = (name, path) => `${name} of ${path} ${"x ".repeat(path.includes("-5-") ? 60_000 : 1_500)}`;
    const { agent, server } = await begin({ ...place, reply: working(steps / 2), tools: toolsOf(outputs) });
    await agent.run("Do all of it.");
    return { server, targets: { reads: true, breaks: 0 } };
  },
  picture: async ({ steps, ...place }) => {
    const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const outputs = (name, path) =>
      path.includes("-5-")
        ? { type: "content", parts: [{ type: "file", mediaType: "image/png", data: pixel }] }
        : `${name} of ${path} ${"x ".repeat(1_500)}`;
    const { agent, server } = await begin({ ...place, reply: working(steps / 2), tools: toolsOf(outputs) });
    await agent.run("Do all of it.");
    return { server, targets: { breaks: 0 } };
  },
  "changed AGENTS.md": async ({ steps, ...place }) => {
    let text = "Use tabs.";
    const load = () => [{ name: "agents", path: "/project/AGENTS.md", text, trust: "project" }];
    const context = { sources: [{ name: "agents", load }] };
    const { agent, server } = await begin({ ...place, reply: working(steps / 2), context });
    const { sessionId } = await agent.run("Do all of it.");
    text = "Use spaces.";
    await agent.run("Do it again.", { sessionId });
    return { server, targets: { reads: true, breaks: 0 } };
  },
};

async function killed(folder, steps, { create, version, positions }) {
  const file = join(folder, "sessions.db");
  const at = Math.ceil(steps / 2);
  const work = working(steps);
  let child = null;
  const server = await startBillingServer({
    positions,
    reply: async (index) => {
      if (child === null || index !== at) return work(index < at ? index : index - 1);
      const dying = child;
      child = null;
      dying.kill("SIGKILL");
      await once(dying, "exit");
      return { text: "Nobody hears this." };
    },
  });
  const script = fileURLToPath(new URL("economy/killed-process.mjs", import.meta.url));
  child = spawn(process.execPath, [script, server.baseURL, file, version], { stdio: "inherit" });
  await once(child, "exit");
  const store = await openSqliteStore({ path: file });
  const agent = createAgent({
    model: create(server.baseURL),
    systemPrompt,
    tools: toolsOf(),
    limits: { onRepeatedCall: "ignore" },
    store,
  });
  const before = server.ledger.length;
  await agent.session("s").resume();
  const share = server.ledger[before].read / server.ledger[before - 1].total;
  await store.close();
  return { server, targets: { breaks: 0 }, share, least: 1 };
}

export async function run({ quick }) {
  const steps = quick ? 20 : 60;
  const missed = [];
  const rows = [];
  for (const [version, create] of Object.entries(packages))
    for (const positions of ["runs", "blocks"])
      for (const [name, play] of Object.entries(sessions)) {
        const played = await play({ steps, create, version, positions });
        await played.server.close();
        const figures = figuresOf(played);
        const problems = problemsOf(played, figures);
        const where = `${name}, ${version}, ${positions}`;
        missed.push(...problems.map((problem) => `${where}: ${problem}`));
        rows.push([where, ...cellsOf(figures, played)]);
      }
  console.log(
    table(
      [
        "session",
        "requests",
        "read",
        "written",
        "in full",
        "input $",
        "of uncached",
        "from step 10",
        "breaks",
        "shared",
      ],
      rows,
    ),
  );
  console.log(missed.length === 0 ? "\nAll targets are met." : `\nMissed:\n${missed.join("\n")}`);
  if (missed.length > 0) process.exitCode = 1;
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
    allRead: pairs.every(([before, bill]) => bill.read === before.total),
    summaries: bills.flatMap((bill, index) => (isSummary(bill.body) ? [bill.read / bills[index - 1].total] : [])),
  };
}

function problemsOf({ targets, share, least }, figures) {
  const problems = [];
  if (figures.refused > 0) problems.push(`${figures.refused} requests were refused`);
  if (targets.later !== undefined && figures.later > targets.later)
    problems.push(`${percent(figures.later)} from step 10`);
  if (targets.breaks !== undefined && figures.breaks > targets.breaks) problems.push(`${figures.breaks} breaks`);
  if (targets.reads && !figures.allRead) problems.push("a request did not read all of the request before");
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
