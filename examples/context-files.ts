/**
 * An agent that follows the AGENTS.md of a folder, and has its skills. A run keeps the texts it started with. The next run
 * tells the model what has changed, in a message after the request, so that the system prompt stays in the provider's cache.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, createMemoryStore } from "pawl";
import { createScriptedModel } from "pawl/testing";
import { agentsFile, skills } from "pawl/tools";

const root = mkdtempSync(join(tmpdir(), "pawl-context-files-"));
mkdirSync(join(root, ".agents/skills/release"), { recursive: true });
writeFileSync(join(root, "AGENTS.md"), "Write tests first.\n");
writeFileSync(
  join(root, ".agents/skills/release/SKILL.md"),
  "---\nname: release\ndescription: How to release a version.\n---\nTag it, then publish it.\n",
);

const model = createScriptedModel(({ runId, modelCallIndex }) =>
  runId === "first" && modelCallIndex === 1
    ? { calls: [{ name: "read_skill", input: { name: "release" } }] }
    : { text: "Released." },
);
const store = createMemoryStore();
const agent = createAgent({
  model,
  store,
  systemPrompt: "You work on a project.",
  context: {
    // The folder is the user's own project, so its texts are used. They still grant nothing.
    sources: [
      agentsFile({ root, trust: "project" }),
      skills({ folders: [join(root, ".agents/skills")], trust: "project" }),
    ],
  },
});

await agent.run("Release version 2.", { sessionId: "s", runId: "first" });
const [before, after] = model.requests;
assert.match(before?.systemPrompt ?? "", /Write tests first\./);
assert.match(before?.systemPrompt ?? "", /- release: How to release a version\./);
assert.doesNotMatch(before?.systemPrompt ?? "", /Tag it/, "The skill itself is read only when it is needed.");
assert.match(JSON.stringify(after?.messages), /Tag it, then publish it/);

writeFileSync(join(root, "AGENTS.md"), "Write tests first. Ask before you publish.\n");
const stream = agent.runStream("Release version 3.", { sessionId: "s", runId: "second" });
const changes = [];
for await (const item of stream) if (item.type === "sources_changed") changes.push(...item.changes);
assert.deepEqual(changes, [{ name: "AGENTS.md", path: join(root, "AGENTS.md"), change: "changed" }]);
const last = model.requests.at(-1);
assert.equal(last?.systemPrompt, before?.systemPrompt, "The prompt stays as it was.");
assert.match(JSON.stringify(last?.messages.at(-1)), /Ask before you publish/);

rmSync(root, { recursive: true });
console.log(`The run was told of a change in ${changes.length} file.`);
