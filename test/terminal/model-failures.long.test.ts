/**
 * How failures of model calls are told: a stop by the person, a wait that the provider asks for, how to go on, and a model
 * server of this machine that is away for a while.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorld } from "../cli/pawl.js";
import type { ScriptedReply } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { startConversation } from "./conversation.js";
import { openPawl } from "./pseudo-terminal.js";

const silent: ScriptedReply = {
  type: "raw",
  status: 200,
  headers: { "content-type": "text/event-stream" },
  body: "",
  hang: true,
};

test("one's own Esc is told as stopped, and not as a failed model call", verifies("CHAT-1#keys"), async () => {
  const { person } = await startConversation(createWorld(), () => silent);
  person.type("work\r");
  await person.sees("esc stops");
  person.type("\x1b");
  await person.sees("Stopped. Everything that ran is recorded.");
  expect((await person.history()).join("\n")).not.toMatch(/failed|cancelled/);
});

const limited: ScriptedReply = {
  type: "raw",
  status: 429,
  headers: { "content-type": "application/json", "retry-after": "3600" },
  body: '{"error":{"message":"Too many requests"}}',
};

test("a provider that asks to wait an hour is quoted, and the person is told how to go on", async () => {
  const { person, env } = await startConversation(createWorld(), () => limited);
  person.type("work\r");
  const screen = await person.sees("To continue: send a message");
  expect(screen.replace(/\s+/g, " ")).toContain("The provider asks to wait 1 h. No further attempt.");
  const world = createWorld();
  const { stderr } = await world.pawl(["run", "work", "--model", "openai-compatible/test", "--session", "s"], { env });
  expect(stderr).toContain("The provider asks to wait 1 h. No further attempt.");
  expect(stderr).toContain('To continue: pawl run --session s "Go on"');
});

/** A model server at a port that stays the same. */
function serverAt(port: number): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    const chunk = (choice: object) =>
      `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "test", choices: [{ index: 0, ...choice }] })}\n\n`;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      `${chunk({ delta: { content: "Here." } })}${chunk({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`,
    );
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

const close = (server: Server) =>
  new Promise<void>((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });

describe("a model server of this machine that goes away", () => {
  test("is waited for if it has answered before", verifies("RTRY-2"), async () => {
    const first = await serverAt(0);
    const { port } = first.address() as AddressInfo;
    const person = openPawl(createWorld(), ["--model", "openai-compatible/test"], {
      rows: 40,
      env: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    });
    await person.sees("ready");
    person.type("one\r");
    await person.sees(/Here\.[\s\S]*ready/);
    await close(first);
    person.type("two\r");
    await person.sees(/attempt 3\)/);
    const second = await serverAt(port);
    onTestFinished(() => close(second));
    await person.sees(/Here\.[\s\S]*Here\.[\s\S]*ready/);
  });
});
