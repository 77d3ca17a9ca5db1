/**
 * The variables that SessionStart hooks set, in a process with many sessions.
 */
import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSessionVariables } from "../../../src/cli/hooks/session-variables.js";
import { verifies } from "../../verifies.js";

test("a session keeps its variables while a thousand others start", verifies("CHAT-6#events"), async () => {
  const variables = createSessionVariables();
  const collect = (sessionId: string) =>
    variables.collect(sessionId, async (path) => appendFileSync(path, `export ID=${sessionId}\n`));
  await collect("first");
  for (let count = 0; count < 1_000; count += 1) await collect(`other-${count}`);
  expect(variables.find("first")).toEqual({ ID: "first" });
});
