/**
 * Messages to a run at work, from its own terminal and from another one.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type World } from "./pawl.js";

async function eventsIn({ pawl }: World, sessionId = "s") {
  return parseJsonLines((await pawl(["sessions", "export", sessionId])).stdout).map(({ event }) => event);
}

const said = (text: string) => ({
  type: "steered",
  source: "user",
  input: [{ role: "user", parts: [{ type: "text", text }] }],
});

describe("pawl steer", () => {
  test("says something to a run of another process", verifies("CLI-4#part-2"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [{ name: "shell", input: { command: gate.command } }] },
      { type: "answer", text: "With tabs." },
    ]);
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test", "--session", "s", "--yes", "--allow-shell", "--json"];
    const running = world.start(["run", "work", ...args], { env, input: "" });
    await gate.begun(running);
    const steered = await world.pawl(["steer", "s", "Use", "tabs"]);
    expect(steered).toMatchObject({ code: 0, stdout: "Sent to s. The model gets it with its next call.\n" });
    await running.said('"type":"steered"');
    gate.open();
    expect(await running.ended).toMatchObject({ code: 0 });
    await server.close();
    expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("Use tabs");
    expect(await eventsIn(world)).toContainEqual(expect.objectContaining(said("Use tabs")));
  });

  test("waits with a run that waits, and takes its words from standard input", verifies("CLI-4#part-2"), async () => {
    const world = createWorld({ "notes.txt": "colour\n" });
    await world.pawl(["run", 'Replace "colour" with "color" in notes.txt', "--session", "s", "--park"]);
    const { code, stdout } = await world.pawl(["steer", "s", "--json"], { input: "Keep it\nBritish\n" });
    expect(code).toBe(0);
    expect(parseJsonLines(stdout)).toEqual([{ sessionId: "s", steered: "Keep it\nBritish" }]);
    await world.pawl(["approve", "s", "--resume"]);
    expect(await eventsIn(world)).toContainEqual(expect.objectContaining(said("Keep it\nBritish")));
  });

  test("skips what a person is asked about, and the run goes on without it", verifies("LOOP-8"), async () => {
    const world = createWorld({ "notes.txt": "colour\n" });
    await world.pawl(["run", 'Replace "colour" with "color" in notes.txt', "--session", "s", "--park"]);
    const steered = await world.pawl(["steer", "s", "--skip-unstarted", "Keep", "it"]);
    expect(steered).toMatchObject({ code: 0, stdout: expect.stringContaining("To continue: pawl resume s") });
    expect(await world.pawl(["resume", "s"])).toMatchObject({ code: 0 });
    const events = await eventsIn(world);
    expect(events).toContainEqual(expect.objectContaining({ ...said("Keep it"), skip: "unstarted" }));
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_finished", outcome: "skipped" }));
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("colour\n");
  });

  test("has nothing to steer if no run is under way", verifies("CLI-3"), async () => {
    const world = createWorld();
    await world.pawl(["run", "List the files", "--session", "s"]);
    const ended = await world.pawl(["steer", "s", "Faster"]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("there is nothing to steer") });
  });
});

describe("typing while a run is at work", () => {
  async function atWork(world: World) {
    const gate = createGate(world.root);
    const args = ["--session", "s", "--yes", "--allow-shell"];
    const running = world.startOnTerminal(["run", `run: ${gate.command}`, ...args]);
    await gate.begun(running);
    return { running, gate };
  }

  test("sends each line to the run, and holds output back meanwhile", verifies("CLI-2"), async () => {
    const world = createWorld();
    const { running, gate } = await atWork(world);
    running.type("Use ta");
    await running.said(/Message > .*Use ta/);
    running.type("bs\r");
    await running.said("The model gets this with its next call.");
    gate.open();
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(await eventsIn(world)).toContainEqual(expect.objectContaining(said("Use tabs")));
  });

  test("an empty line sends nothing, and pasted lines are one message", verifies("CLI-2"), async () => {
    const world = createWorld();
    const { running, gate } = await atWork(world);
    running.type(" ");
    await running.said("Message > ");
    running.type("\r");
    running.type("one\r");
    await running.said("The model gets this");
    running.type("two\rthree\r");
    await running.said(/The model gets this[\s\S]*The model gets this/);
    gate.open();
    expect(await running.ended).toMatchObject({ code: 0 });
    const steered = (await eventsIn(world)).filter(({ type }) => type === "steered");
    expect(steered).toMatchObject([said("one"), said("two\nthree")]);
  });

  test("Ctrl-C ends the run, on a line that was begun too", verifies("CLI-3"), async () => {
    const world = createWorld();
    const { running } = await atWork(world);
    running.type("\u0003");
    expect(await running.ended).toMatchObject({ code: 130 });

    const again = createWorld();
    const { running: typing } = await atWork(again);
    typing.type("Use");
    await typing.said("Message > ");
    typing.type("\u0003");
    const { code, stdout } = await typing.ended;
    expect(code).toBe(130);
    expect(stdout).toContain("aborted");
    expect((await eventsIn(again)).some(({ type }) => type === "steered")).toBe(false);
  });

  test("what was typed before a question is no answer to it", verifies("CLI-2", "SEC-6#bound"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const shell = (command: string) => ({ name: "shell", input: { command } });
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [shell(gate.command)] },
      { type: "answer", calls: [shell("echo x > made")] },
      { type: "answer", text: "Done." },
    ]);
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test", "--session", "s", "--allow-shell"];
    const running = world.startOnTerminal(["run", "work", ...args], { env });
    await running.said("[y]es");
    running.type("y\r");
    await gate.begun(running);
    // A line begun before the question appears is finished and sent first.
    running.type("y");
    await running.said(/Message > .*y/);
    gate.open();
    running.type("es, go on\r");
    await running.said(/\[y\]es[\s\S]*\[y\]es/);
    expect(existsSync(join(world.root, "made"))).toBe(false);
    running.type("y\r");
    expect(await running.ended).toMatchObject({ code: 0 });
    await server.close();
    expect(readFileSync(join(world.root, "made"), "utf8")).toBe("x\n");
    expect(await eventsIn(world)).toContainEqual(expect.objectContaining(said("yes, go on")));
  });
});
