/**
 * `pawl mcp` in a process of its own, and the client of MCP's package, unmodified, with the protocols of 2025 and 2026.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { connectMcpServer } from "../../src/tools/mcp/index.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, pawlProgram, type World } from "./pawl.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';
const notes = ({ root }: World) => readFileSync(join(root, "notes.txt"), "utf8");

type Answer = { readonly action: "accept" | "decline" | "cancel"; readonly content?: Record<string, string> };
type Mode = "auto" | "legacy";

async function clientOf(world: World, mode: Mode, answer?: (form: unknown) => Answer, args: readonly string[] = []) {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "0" }, { capabilities, versionNegotiation: { mode } });
  if (answer !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [pawlProgram, "mcp", "--model", "demo", "--root", world.root, ...args],
    env: world.environment({}),
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

const called = (prompt: string) => ({ name: "pawl", arguments: { prompt } });

describe.each(["auto", "legacy"] as const)("pawl mcp, protocol negotiation %s", (mode) => {
  test("is a tool that runs to its end, with progress", verifies("PROT-4#stdio"), async () => {
    const world = createWorld(files);
    const client = await clientOf(world, mode);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: "pawl", inputSchema: { required: ["prompt"] } }]);
    const told: (string | undefined)[] = [];
    const onprogress = ({ message }: { readonly message?: string | undefined }) => void told.push(message);
    const result = await client.callTool(called("List the files"), { onprogress });
    expect(result).toMatchObject({
      isError: false,
      content: [{ type: "text", text: expect.stringContaining("notes.txt") }],
      _meta: { "pawl/reason": "stop" },
    });
    expect(told.join("\n")).toContain("list_files");
    // The session goes on, if the client names it.
    const sessionId = result._meta?.["pawl/sessionId"];
    await client.callTool({ ...called("And again"), _meta: { "pawl/sessionId": sessionId } });
    const listed = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
    expect(listed).toMatchObject([{ sessionId }]);
  });

  test("asks, and takes a yes, another input, and a no", verifies("PROT-4#stdio"), async () => {
    const world = createWorld(files);
    const forms: unknown[] = [];
    const editedInput = JSON.stringify({ path: "notes.txt", oldText: "colour", newText: "hue" });
    const answers: Answer[] = [
      { action: "accept", content: { decision: "deny", note: "Not now." } },
      { action: "accept", content: { decision: "allow", editedInput } },
    ];
    const client = await clientOf(world, mode, (form) => {
      forms.push(form);
      return answers.shift() ?? { action: "cancel" };
    });
    await client.callTool(called(replace));
    expect(notes(world)).toBe("colour\n");
    expect(await client.callTool(called(replace))).toMatchObject({ isError: false });
    expect(notes(world)).toBe("hue\n");
    expect(forms).toHaveLength(2);
    expect(forms[0]).toMatchObject({ message: expect.stringContaining("edit_file") });
  });

  test("says where to answer, if the person closes the form or cannot be asked", verifies("PROT-4#stdio"), async () => {
    const world = createWorld(files);
    const waits = {
      isError: true,
      content: [{ type: "text", text: expect.stringContaining("pawl resume") }],
      _meta: { "pawl/reason": "awaiting_human" },
    };
    const silent = await clientOf(world, mode);
    expect(await silent.callTool(called(replace))).toMatchObject(waits);
    const closing = await clientOf(world, mode, () => ({ action: "cancel" }));
    expect(await closing.callTool(called(replace))).toMatchObject(waits);
    expect(notes(world)).toBe("colour\n");
  });

  test("aborts the run when the call is cancelled", verifies("PROT-4#stdio"), async () => {
    const world = createWorld(files);
    const gate = createGate(world.root);
    const client = await clientOf(world, mode, undefined, ["--yes", "--allow-shell"]);
    const stop = new AbortController();
    let begun = () => {};
    const whenBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const onprogress = ({ message = "" }: { readonly message?: string | undefined }) => {
      if (message.includes("gate")) begun();
    };
    const result = client.callTool(called(`run: ${gate.command}`), { onprogress, signal: stop.signal });
    result.catch(() => {});
    await whenBegun;
    stop.abort();
    await expect(result).rejects.toThrow();
    await expect
      .poll(async () => parseJsonLines((await world.pawl(["sessions", "--json"])).stdout), { timeout: 20_000 })
      .toMatchObject([{ status: "aborted" }]);
  });
});

test(
  "a run that another agent asked for as a task goes on in the next pawl mcp, with the answer",
  verifies("PROT-6#tasks", "PROT-7#tasks"),
  async () => {
    const world = createWorld(files);
    const store = createMemoryStore();
    const start = async () => {
      const { tools, close } = await connectMcpServer({
        name: "s",
        trust: "all",
        protocol: "2026-07-28",
        transport: {
          type: "stdio",
          command: process.execPath,
          args: [pawlProgram, "mcp", "--model", "demo", "--root", world.root],
          env: world.environment({}),
        },
      });
      onTestFinished(close);
      const model = createScriptedModel(({ messages }) =>
        messages.some(({ role }) => role === "tool")
          ? { text: "Done." }
          : { calls: [{ name: "s_pawl", input: { prompt: replace } }] },
      );
      return { caller: createAgent({ name: "caller", model, tools: [...tools], store }), close };
    };
    const first = await start();
    const asking = await first.caller.run("Go", { sessionId: "c" });
    const [approval] = asking.status === "awaiting_human" ? asking.approvals : [];
    expect(approval?.question).toContain("edit_file");
    await first.caller.shutdown();
    await first.close();
    expect(notes(world)).toBe("colour\n");
    const { caller } = await start();
    const { callKey = "", questionId = "" } = approval ?? {};
    await caller.session("c").answer(callKey, { type: "reply", value: { decision: "allow" } }, { questionId });
    expect(await caller.session("c").resume()).toMatchObject({ status: "completed" });
    expect(notes(world)).toBe("color\n");
    expect(parseJsonLines((await world.pawl(["sessions", "--json"])).stdout)).toMatchObject([{ status: "completed" }]);
  },
);
