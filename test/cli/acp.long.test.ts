/**
 * `pawl acp` in a process of its own, and the client of ACP's package, unmodified.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { describe, expect, test } from "vitest";
import { startProviderServer } from "../models/provider-server.js";
import { collectText, connectClient, type Person } from "../protocols/acp-client.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type RunOptions, type World } from "./pawl.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';

async function editorOf(world: World, args: readonly string[], person: Person = {}, options: RunOptions = {}) {
  const running = world.start(["acp", ...args], options);
  const { stdin, stdout } = running.child;
  if (stdin === null || stdout === null) throw new Error("The process has no streams.");
  const stream = ndJsonStream(Writable.toWeb(stdin as Writable) as WritableStream<Uint8Array>, bytesOf(stdout));
  return { ...(await connectClient(stream, person)), running };
}

/** The output of the process, which is read as text. */
function bytesOf(stdout: NodeJS.ReadableStream): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      stdout.on("data", (text: string) => controller.enqueue(encoder.encode(text)));
      stdout.on("close", () => controller.close());
    },
  });
}

const notes = ({ root }: World) => readFileSync(join(root, "notes.txt"), "utf8");

describe("pawl acp", () => {
  test("works in a folder, asks, and ends with the editor", verifies("PROT-3"), async () => {
    const world = createWorld(files);
    const editor = await editorOf(world, ["--model", "demo"], { answer: () => "allow" });
    const { sessionId } = await editor.request("session/new", { cwd: world.root, mcpServers: [] });
    expect(await editor.prompt(sessionId, replace)).toMatchObject({ stopReason: "end_turn" });
    expect(notes(world)).toBe("color\n");
    expect(editor.permissionRequests).toMatchObject([
      {
        toolCall: {
          kind: "edit",
          locations: [{ path: join(world.root, "notes.txt") }],
          content: [{ type: "diff", oldText: "colour", newText: "color" }],
        },
        options: [
          { kind: "allow_once" },
          { kind: "reject_once" },
          { kind: "allow_always", name: "Always allow edit_file for notes.txt, in this session" },
          { kind: "allow_always", name: "Always allow edit_file for notes.txt, in this folder" },
          { kind: "reject_always", name: "Never allow edit_file for notes.txt, in this session" },
        ],
      },
    ]);
    expect(collectText(editor.updates, "agent_message_chunk")).toContain("notes.txt");
    const { sessions } = await editor.request("session/list", { cwd: world.root });
    expect(sessions).toMatchObject([{ sessionId, cwd: world.root, title: replace }]);
    editor.running.child.stdin?.end();
    expect(await editor.running.ended).toMatchObject({ code: 0 });
    const listed = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
    expect(listed).toMatchObject([{ sessionId, status: "completed" }]);
  });

  test(
    "offers the rules that the terminal offers, and what is always allowed is no more than such a rule says",
    verifies("PROT-3", "CHAT-2#rules"),
    async () => {
      const world = createWorld(files);
      const args = ["--model", "demo", "--allow-shell"];
      const wanted = ["in this session"];
      const editor = await editorOf(world, args, {
        answer: ({ options }) =>
          options.find(({ name }) =>
            name.startsWith("Always") ? name.endsWith(wanted[0] ?? "") : name.startsWith(wanted[0] ?? ""),
          )?.optionId ?? "deny",
      });
      const open = { cwd: world.root, mcpServers: [] };
      const { sessionId } = await editor.request("session/new", open);
      await editor.prompt(sessionId, "run: touch a");
      expect(editor.permissionRequests[0]?.options.map(({ name }) => name)).toEqual([
        "Approve",
        "Deny",
        'Always allow shell "touch" with any arguments, in this session',
        'Always allow shell "touch" with any arguments, in this folder',
        'Always allow shell "touch a", exactly this, in this session',
        'Always allow shell "touch a", exactly this, in this folder',
        'Never allow shell "touch" with any arguments, in this session',
      ]);
      await editor.prompt(sessionId, "run: touch b");
      expect(editor.permissionRequests).toHaveLength(1);
      wanted[0] = "nothing of this";
      await editor.prompt(sessionId, "run: rm a");
      expect(editor.permissionRequests).toHaveLength(2);
      expect(existsSync(join(world.root, "b"))).toBe(true);
      expect(existsSync(join(world.root, "a"))).toBe(true);

      // What is never allowed is denied without a question.
      wanted[0] = "Never";
      const third = await editor.request("session/new", open);
      await editor.prompt(third.sessionId, "run: touch d");
      expect(editor.permissionRequests).toHaveLength(3);
      await editor.prompt(third.sessionId, "run: touch e");
      expect(editor.permissionRequests).toHaveLength(3);
      expect(existsSync(join(world.root, "d")) || existsSync(join(world.root, "e"))).toBe(false);

      // A rule of a session is for that session, and a rule of the folder is one that the terminal lists.
      wanted[0] = "in this folder";
      const other = await editor.request("session/new", open);
      await editor.prompt(other.sessionId, "run: touch c");
      expect(editor.permissionRequests).toHaveLength(4);
      editor.running.child.stdin?.end();
      await editor.running.ended;
      expect((await world.pawl(["permissions"])).stdout).toContain("allow  shell(touch *)  (yours, for this folder;");
    },
  );

  test("goes on after kill -9 in the middle of a prompt, in a new process", verifies("PROT-3"), async () => {
    const world = createWorld(files);
    const gate = createGate(world.root);
    const args = ["--model", "demo", "--allow-shell", "--yes"];
    const first = await editorOf(world, args);
    const { sessionId } = await first.request("session/new", { cwd: world.root, mcpServers: [] });
    const broken = first.prompt(sessionId, `run: ${gate.command}`);
    broken.catch(() => {});
    await gate.begun(first.running);
    first.running.kill("SIGKILL");
    await expect(broken).rejects.toThrow();

    const person: Person = { answer: ({ options }) => options[1]?.optionId ?? null };
    const second = await editorOf(world, args, person);
    await second.request("session/load", { cwd: world.root, sessionId, mcpServers: [] });
    expect(second.updates).toMatchObject([
      { sessionUpdate: "user_message_chunk" },
      { sessionUpdate: "agent_message_chunk" },
      { sessionUpdate: "tool_call" },
      { sessionUpdate: "tool_call_update", status: "in_progress" },
    ]);
    const told = second.updates.length;
    expect(await second.prompt(sessionId, "List the files")).toMatchObject({ stopReason: "end_turn" });
    const said = second.updates.slice(told);
    // The first prompt ends, then the second one is answered.
    expect(said.filter(({ sessionUpdate }) => sessionUpdate === "tool_call_update").length).toBeGreaterThan(1);
    expect(collectText(said, "agent_message_chunk")).toContain("notes.txt");
    const events = parseJsonLines((await world.pawl(["sessions", "show", sessionId, "--json"])).stdout);
    expect(events.filter(({ type }) => type === "final")).toMatchObject([
      { result: { status: "completed" } },
      { result: { status: "completed" } },
    ]);
  });

  test("refuses, cancels, and takes a permission from another process", verifies("PROT-3"), async () => {
    const world = createWorld(files);
    const refusing = await editorOf(world, ["--model", "demo"], { answer: () => "deny" });
    const open = { cwd: world.root, mcpServers: [] };
    const refused = (await refusing.request("session/new", open)).sessionId;
    expect(await refusing.prompt(refused, replace)).toMatchObject({ stopReason: "end_turn" });
    expect(notes(world)).toBe("colour\n");

    const cancelling = await editorOf(world, ["--model", "demo"], { answer: () => null });
    const cancelled = (await cancelling.request("session/new", open)).sessionId;
    expect(await cancelling.prompt(cancelled, replace)).toMatchObject({ stopReason: "cancelled" });

    const answer: Person["answer"] = async ({ sessionId }) => {
      await world.pawl(["approve", sessionId]);
      await world.pawl(["worker", "--once"], { env: { PAWL_MODEL: "demo" } });
      return new Promise<null>(() => {});
    };
    const elsewhere = await editorOf(world, ["--model", "demo"], { answer });
    const { sessionId } = await elsewhere.request("session/new", open);
    expect(await elsewhere.prompt(sessionId, replace)).toMatchObject({ stopReason: "end_turn" });
    expect(notes(world)).toBe("color\n");
  });

  test("cancels a model call, with a provider's server", verifies("PROT-3"), async () => {
    const provider = await startProviderServer("openai-chat", [
      { type: "answer", text: "Much to say", ending: "hang" },
      { type: "answer", text: "Done." },
    ]);
    const world = createWorld(files);
    const env = { OPENAI_API_KEY: "key", VLLM_BASE_URL: provider.baseURL };
    const editor = await editorOf(world, ["--model", "vllm/some"], {}, { env });
    const { sessionId } = await editor.request("session/new", { cwd: world.root, mcpServers: [] });
    const prompted = editor.prompt(sessionId, "Tell me.");
    await editor.waitForUpdate(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
    await editor.cancel(sessionId);
    expect(await prompted).toMatchObject({ stopReason: "cancelled" });
    expect(await editor.prompt(sessionId, "Once more.")).toMatchObject({ stopReason: "end_turn" });
    expect(collectText(editor.updates, "agent_message_chunk")).toContain("Done.");
  });

  test("refuses a folder that does not exist, and writes nothing but the protocol", async () => {
    const world = createWorld(files);
    const editor = await editorOf(world, ["--model", "demo"]);
    const missing = join(world.base, "missing");
    await expect(editor.request("session/new", { cwd: missing, mcpServers: [] })).rejects.toThrow(/no folder/);
    editor.running.kill("SIGTERM");
    const { code, stdout } = await editor.running.ended;
    expect(code).toBe(0);
    expect(parseJsonLines(stdout).every(({ jsonrpc }) => jsonrpc === "2.0")).toBe(true);
    expect(existsSync(missing)).toBe(false);
  });
});
