/**
 * A process of the bench `economy`: begins a session on a SQLite file, and is killed by the bench in the middle of it.
 */
import { createAgent } from "../../dist/index.js";
import { openSqliteStore } from "../../dist/stores/sqlite/index.js";
import { packages, systemPrompt, toolsOf } from "./sessions.mjs";

const [baseURL, file, version] = process.argv.slice(2);
const agent = createAgent({
  model: packages[version](baseURL),
  systemPrompt,
  tools: toolsOf(),
  limits: { onRepeatedCall: "ignore" },
  store: await openSqliteStore({ path: file }),
});
await agent.run("Do all of it.", { sessionId: "s" });
