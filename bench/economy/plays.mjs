/**
 * The sessions that the bench `economy` plays. Each gives its server, and what it has to show.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAgent, defineTool } from "../../dist/index.js";
import { openSqliteStore } from "../../dist/stores/sqlite/index.js";
import { inFolder } from "../folder.mjs";
import { begin, isSummary, messagesOf, readable, startServer, systemPrompt, toolsOf, working } from "./sessions.mjs";

const minute = 60_000;
const summary = { text: "## Keep\n- all of it\n\n## Summary\nFiles were read and written." };

/** By name. `share` is the part of an earlier request that the first request of another process or session read. */
export const plays = {
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
    return { server, targets: {}, share: server.ledger[at].read / readable(before), least: 0.99 };
  },
  "fork 20 steps back": async ({ steps, ...place }) => {
    const { agent, server } = await begin({ ...place, reply: working(steps) });
    const { sessionId } = await agent.run("Do all of it.");
    const step = Math.max(steps - 20, steps / 2);
    const results = [];
    for await (const { type, seq } of agent.session(sessionId).events({ follow: false }))
      if (type === "tool_result") results.push(seq);
    const at = server.ledger.length;
    const forked = await agent.session(sessionId).fork({ at: results[step - 1] });
    await agent.run("Once more.", { sessionId: forked.id });
    const share = server.ledger[at].read / readable(server.ledger[step]);
    return { server, targets: {}, share, least: 0.99, isMixed: true };
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
    const isChild = (body) => JSON.stringify(messagesOf(body).slice(0, 2)).includes("Look closely");
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
  const server = await startServer(version)({
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
  const script = fileURLToPath(new URL("killed-process.mjs", import.meta.url));
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
  const share = server.ledger[before].read / readable(server.ledger[before - 1]);
  await store.close();
  return { server, targets: { breaks: 0 }, share, least: 1 };
}
